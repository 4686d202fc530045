"""The connection to the broker, made again whenever it breaks; messages at QoS 1 and 2 are sent until they are there.

Messages are handled where paho reads them, so that one is acknowledged only after it was handled, and the broker waits
while the hub is busy: nothing queues up here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.clock import ALWAYS, Clock, Lease
from hub.core.errors import LimitExceeded, TimedOut
from integrations.devices.mqtt.topics import Subscriptions

if TYPE_CHECKING:
    from aiomqtt import Client, Message, Will

_log = logging.getLogger(__name__)

BACKOFF_FIRST_S = 1.0
BACKOFF_LIMIT_S = 10.0
OUTBOX_LIMIT = 1_000
"""Messages that wait to be acknowledged; more are refused."""
PUBLISH_LIMIT_S = 30.0
SUBSCRIBED_AT_ONCE = 200
LOOKED_AT_ONCE = 200
CONNECT_LIMIT_S = 10.0
AT_ONCE = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
"""Small packets go out at once; without it the second of two waits for an acknowledgement of up to 40 ms."""
AT_LEAST_ONCE = 1
FAILED = 0x80
"""Answers to a subscription from here on are refusals."""

OnMessage = Callable[[str, bytes, int, bool], None]


class BrokerAddress(Struct, frozen=True):
    """The broker's address, and the hub's credentials there.

    Attributes:
        keep_alive_s: After one and a half of it a dead connection is given up.
        will: Topic and payload that the broker publishes, retained, when the hub disappears.
        new: Whether the broker has nothing that it kept for an earlier process.
    """

    host: str
    port: int
    client_id: str
    username: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None
    keep_alive_s: int = 60
    will: tuple[str, str] | None = None
    new: bool = False


class MqttConnection:
    """Keeps a connection.

    Args:
        address: The broker's address.
        on_message: Called with topic, payload, QoS and whether it was retained.
        on_change: Called with whether there is a connection, and why not.
        lease: Waited for before each message is published.
    """

    def __init__(
        self,
        address: BrokerAddress,
        clock: Clock,
        on_message: OnMessage,
        on_change: Callable[[bool, str], None],
        lease: Lease = ALWAYS,
    ) -> None:
        self._address = address
        self._clock = clock
        self._on_message = on_message
        self._on_change = on_change
        self._lease = lease
        self._client: Client | None = None
        self._up = asyncio.Event()
        self._down = asyncio.Event()
        self._down.set()
        self._look = asyncio.Event()
        self._waiting = 0
        self._begun = address.new
        self._qos: dict[str, int] = {}
        self.subscriptions = Subscriptions()

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._client is not None

    @property
    def is_up(self) -> bool:
        """Whether there is a connection on which all filters are subscribed; what others publish now comes."""
        return self._up.is_set()

    def subscribe(self, topic_filter: str, qos: int = AT_LEAST_ONCE) -> None:
        """Subscribe to a filter; its retained messages come again even if others have subscribed."""
        if qos > AT_LEAST_ONCE:
            self._qos[topic_filter] = qos
        self.subscriptions.add(topic_filter)
        self._look.set()

    def unsubscribe(self, topic_filter: str) -> None:
        """Want the messages of a filter no longer."""
        self.subscriptions.discard(topic_filter)
        if not self.subscriptions.is_wanted(topic_filter):
            self._qos.pop(topic_filter, None)
        self._look.set()

    async def publish(
        self, topic: str, payload: bytes, *, qos: int = 0, retain: bool = False, timeout_s: float = PUBLISH_LIMIT_S
    ) -> None:
        """Publish a message; at QoS 1 and 2 it is at the broker when this returns, however often the connection breaks.

        Raises:
            TimedOut: There was no connection, or no acknowledgement, in time.
            LimitExceeded: Too many messages wait.
        """
        await self._lease.held()
        if not qos and self._client is not None and _written(self._client, topic, payload, retain=retain):
            return
        if self._waiting >= OUTBOX_LIMIT:
            raise LimitExceeded(f"{OUTBOX_LIMIT} MQTT messages wait for the broker already")
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._published(topic, payload, qos, retain):
                    pass
        except TimeoutError:
            reason = "did not acknowledge the message" if self.connected else "is not connected"
            raise TimedOut(f"the MQTT broker {reason} within {timeout_s:g} s; it was on {topic}") from None
        finally:
            self._waiting -= 1

    async def _published(self, topic: str, payload: bytes, qos: int, retain: bool) -> bool:
        from aiomqtt import MqttError

        await self._up.wait()
        await self._lease.held()
        client = self._client
        if client is None:
            return False
        sending = asyncio.ensure_future(client.publish(topic, payload, qos, retain, timeout=math.inf))
        lost = asyncio.ensure_future(self._down.wait())
        try:
            await asyncio.wait({sending, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                return False
            sending.result()
        except MqttError:
            await lost  # it is given up where it is read
            return False
        finally:
            sending.cancel()
            lost.cancel()
        return True

    async def run(self) -> None:
        """Keep the connection until cancelled."""
        from aiomqtt import MqttError

        pause_s = BACKOFF_FIRST_S
        while True:
            began = self._clock.monotonic()
            reason = "the broker closed the connection"
            try:
                await self._connect_once()
            except* (MqttError, OSError, TimeoutError) as errors:
                first = _first(errors)
                reason = str(first) or type(first).__name__
            self._on_change(False, reason)
            if self._clock.monotonic() - began > pause_s:
                pause_s = BACKOFF_FIRST_S
            # Jitter spreads reconnects; it guards nothing.
            await self._clock.sleep(pause_s * (1 + 0.25 * random.random()))  # noqa: S311
            pause_s = min(pause_s * 2, BACKOFF_LIMIT_S)

    async def _connect_once(self) -> None:
        if not self._begun:  # what the broker kept for an earlier process nobody waits for
            async with self._made(self._address, clean=True):
                self._begun = True
        client = self._made(self._address)
        try:
            async with client, asyncio.TaskGroup() as tasks:
                _write_here(client)
                self._client = client
                await self._leave(client, self.subscriptions.begin_again())
                await self._change_subscriptions(client)
                self._up.set()
                self._down.clear()
                self._on_change(True, "")
                tasks.create_task(self._follow(client), name="follow subscriptions")
                tasks.create_task(_until_lost(client), name="watch the connection")
        finally:
            self._client = None
            self._up.clear()
            self._down.set()

    def _made(self, address: BrokerAddress, *, clean: bool = False) -> Client:
        import aiomqtt

        on_message = self._on_message

        class Handled(asyncio.Queue[Any]):
            """A queue that handles its items; nothing is taken from it."""

            def put_nowait(self, item: Message) -> None:
                on_message(item.topic.value, bytes(item.payload), item.qos, item.retain)

        will: Will | None = None
        if address.will is not None and not clean:
            will = aiomqtt.Will(address.will[0], address.will[1], qos=1, retain=True)
        client = aiomqtt.Client(
            address.host,
            address.port,
            username=address.username,
            password=address.password,
            identifier=address.client_id,
            clean_session=clean,
            queue_type=Handled,
            tls_context=address.tls,
            # A silent connection is asked after one such span and given up after two.
            socket_options=AT_ONCE,
            keepalive=max(1, int(address.keep_alive_s * 0.7)),
            timeout=CONNECT_LIMIT_S,
            will=will,
            max_queued_outgoing_messages=OUTBOX_LIMIT,
        )
        client.pending_calls_threshold = OUTBOX_LIMIT
        return client

    async def _follow(self, client: Client) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            await self._change_subscriptions(client)

    async def _change_subscriptions(self, client: Client) -> None:
        while self.subscriptions.pending:
            subscribe, unsubscribe, again = self.subscriptions.changes(LOOKED_AT_ONCE)
            await self._subscribe(client, [*subscribe, *again])
            passing = [each for each in again if each not in self.subscriptions.active]
            await self._leave(client, [*unsubscribe, *passing])

    async def _leave(self, client: Client, filters: list[str]) -> None:
        for place in range(0, len(filters), SUBSCRIBED_AT_ONCE):
            await client.unsubscribe(filters[place : place + SUBSCRIBED_AT_ONCE])

    async def _subscribe(self, client: Client, filters: list[str]) -> None:
        for place in range(0, len(filters), SUBSCRIBED_AT_ONCE):
            batch = filters[place : place + SUBSCRIBED_AT_ONCE]
            codes = await client.subscribe([(each, self._qos.get(each, AT_LEAST_ONCE)) for each in batch])
            for each, code in zip(batch, codes, strict=False):
                if (code if isinstance(code, int) else int(getattr(code, "value", 0))) >= FAILED:
                    _log.warning("the MQTT broker does not let the hub read %s", each)


def _write_here(client: Client) -> None:
    """Let paho write in the thread of the event loop, without a detour through another thread."""
    loop, paho = asyncio.get_running_loop(), client._client

    def writable(_: Any, __: Any, place: Any) -> None:
        loop.add_writer(place.fileno(), write, place.fileno())

    def write(place: int) -> None:
        try:
            paho.loop_write()
        except Exception:
            loop.remove_writer(place)  # the connection is given up where it is read
            raise

    paho.on_socket_register_write = writable


def _written(client: Client, topic: str, payload: bytes, *, retain: bool) -> bool:
    """Write a message at QoS 0, which nobody acknowledges, to the socket; False when that is full or lost."""
    paho = client._client
    if paho.want_write():  # what was left before, by a subscription for instance, only waits for the loop
        paho.loop_write()
    return not (paho.want_write() or paho.publish(topic, payload, 0, retain).rc or paho.loop_write())


async def _until_lost(client: Client) -> None:
    """Wait until the connection is lost.

    Raises:
        MqttError: The connection was lost.
    """
    async for _ in client.messages:
        pass


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
