"""The embedded broker: amqtt with credentials and rules for each client, bounds, and retained messages that stay.

Each credential has client ids of its own, and is judged before a session is looked for: nobody takes another's session.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import secrets
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from amqtt.adapters import StreamReaderAdapter, StreamWriterAdapter
from amqtt.broker import Broker, RetainedApplicationMessage
from amqtt.contexts import Action, BrokerConfig, ListenerConfig, ListenerType
from amqtt.errors import AMQTTError, MQTTError, NoDataError
from amqtt.mqtt.connack import NOT_AUTHORIZED, SERVER_UNAVAILABLE, ConnackPacket
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from msgspec import Struct

from hub.security.rate_limit import AttemptLimiter, TooManyAttempts
from integrations.devices.mqtt.topics import NODES, OWN, covers

for _name in ("amqtt", "transitions"):
    logging.getLogger(_name).setLevel(logging.ERROR)
_log = logging.getLogger(__name__)

PACKET_LIMIT_BYTES = 1_048_576
CONNECTIONS_LIMIT = 200
CONNECT_LIMIT_S = 10.0
"""Time for the first packet; who only opens connections does not hold them."""
SESSION_LIMIT_S = 86_400
SESSIONS_LIMIT = 100
"""Sessions of one credential that are kept while their clients are away."""
RETAINED_LIMIT = 20_000
RETAINED_LIMIT_BYTES = 67_108_864
"""Of all retained messages with their topics."""
QUEUED_LIMIT = 1_000
"""Messages kept for a client that is away."""
WAITING_LIMIT_BYTES = 8_388_608
"""What may wait for a client that reads slower than others write; then it is disconnected."""
MESSAGE_BYTES = 1_000
"""What a waiting message takes beside its payload."""
GUESSED_CHARS = 64
HUB = "homarus-hub"
ANONYMOUS = ""


class BrokerClient(Struct, frozen=True):
    """A client that may connect, and the topic filters that it may read and write; those of nodes must be named."""

    password: str
    subscribe: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()

    def may_publish(self, topic: str) -> bool:
        """Whether it may write a topic, or all topics of a filter."""
        return any(covers(each, topic) and _reaches(each, topic) for each in self.publish)

    def may_subscribe(self, topic_filter: str) -> bool:
        """Whether it may read all topics of a filter."""
        return any(covers(each, topic_filter) for each in self.subscribe)

    def may_read(self, topic: str) -> bool:
        """Whether a message on a topic that it has subscribed goes to it."""
        return not topic.startswith(f"{NODES}/") or any(_reaches(each, topic) for each in self.subscribe)


def _reaches(topic_filter: str, topic: str) -> bool:
    return not topic.startswith(f"{NODES}/") or topic_filter.startswith(f"{NODES}/")


class _Reader(StreamReaderAdapter):  # type: ignore[misc]  # it has no types
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(reader)
        self._abort = writer.transport.abort

    async def read(self, n: int = -1) -> bytes:
        if n > PACKET_LIMIT_BYTES:
            self._abort()  # what follows is read as the end
        return bytes(await super().read(n))


class _Handler(BrokerProtocolHandler):  # type: ignore[misc]  # it has no types
    """Sends messages to a client; amqtt has a task for each that waits, without a bound."""

    waiting_bytes = 0

    async def mqtt_publish(self, topic: str, data: bytes, *rest: Any, **more: Any) -> Any:
        if self.waiting_bytes > WAITING_LIMIT_BYTES:
            if self.writer.abort():
                _log.warning(
                    "the MQTT client %s does not read its messages; it is disconnected", self.session.client_id
                )
            return None
        size = len(data) + MESSAGE_BYTES
        self.waiting_bytes += size
        try:
            return await super().mqtt_publish(topic, data, *rest, **more)
        finally:
            self.waiting_bytes -= size


class _Writer(StreamWriterAdapter):  # type: ignore[misc]  # it has no types
    def abort(self) -> bool:
        """Drop the connection and what waits to be sent; return whether it was there."""
        is_open = not self._writer.is_closing()
        self._writer.transport.abort()
        return is_open


class _Broker(Broker):  # type: ignore[misc]  # it has no types
    """amqtt's broker with our rules in place of its plugins'."""

    def __init__(
        self,
        config: BrokerConfig,
        clients: Mapping[str, BrokerClient],
        attempts: AttemptLimiter,
        on_retained: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self.clients = clients
        self._attempts = attempts
        self._on_retained = on_retained
        self._writers: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self.kept_by: dict[str, str | None] = {}
        """Who wrote the retained messages."""
        self.retained_bytes = 0

    async def _initialize_client_session(self, reader: Any, writer: Any, address: str, port: int) -> tuple[Any, Any]:
        async with asyncio.timeout(CONNECT_LIMIT_S):
            handler, session = await _Handler.init_from_connect(reader, writer, self.plugins_manager)
        name = session.username or ANONYMOUS
        client = self.clients.get(name)
        will = session.will_topic if session.will_flag else None
        if not self._is_proved(name, client, session.password or "", address) or (
            will is not None and (client is None or not client.may_publish(will))
        ):
            await ConnackPacket.build(0, NOT_AUTHORIZED).to_stream(writer)
            await writer.close()
            raise MQTTError(f"{name or 'a client without a user name'} at {address} has no valid credential")
        session.client_id = f"{name}|{session.client_id}"
        known = self._sessions.get(session.client_id)
        kept = sum(id.startswith(f"{name}|") and not each.clean_session for id, (each, _) in self._sessions.items())
        if known is None and not session.clean_session and kept >= SESSIONS_LIMIT:
            await ConnackPacket.build(0, SERVER_UNAVAILABLE).to_stream(writer)
            await writer.close()
            raise MQTTError(f"{name or 'a client without a user name'} has {SESSIONS_LIMIT} sessions already")
        if session.clean_session:
            await self._delete_session(session.client_id)
        elif known is not None:
            for field in ("will_flag", "will_message", "will_topic", "will_qos", "will_retain", "keep_alive"):
                setattr(known[0], field, getattr(session, field))
            session = known[0]
        session.parent = int(known is not None and not session.clean_session)
        if session.keep_alive:
            session.keep_alive = int(session.keep_alive * 1.5)  # as the standard says
        return handler, session

    def _is_proved(self, name: str, client: BrokerClient | None, password: str, address: str) -> bool:
        """Whether a client's password is right; each guess is counted first, by user name.

        So a program with an old password keeps nobody else at its address out. The hub's own cannot be guessed.
        """
        guessed = f"mqtt {name if client is not None else '?'}".replace(":", "_")[:GUESSED_CHARS] + f":{address}"
        try:
            if name != HUB:
                self._attempts.check(guessed)
        except TooManyAttempts:
            return False
        try:
            if name != HUB:
                self._attempts.reserve(guessed)
        except TooManyAttempts as error:
            _log.warning("the MQTT client %.128s at %s is locked out: %s", name, address, error.message)
            return False
        if client is None or not hmac.compare_digest(client.password.encode(), password.encode()):
            _log.warning("the MQTT client %.128s at %s has no valid user name and password", name or "(none)", address)
            return False
        if name != HUB:
            self._attempts.succeed(guessed)
        return True

    async def _authenticate(self, session: Any, _: Any) -> bool:
        return True  # before, in _initialize_client_session

    async def _topic_filtering(self, session: Any, topic: str, action: Action) -> bool:
        client = self.clients.get(session.username or ANONYMOUS)
        if client is None:
            return False
        if action is Action.PUBLISH:
            return client.may_publish(topic)
        if action is Action.SUBSCRIBE:
            return client.may_subscribe(topic)
        return client.may_read(topic)  # the rest was judged when the session subscribed

    async def _publish_retained_messages_for_subscription(self, subscription: tuple[str, int], session: Any) -> None:
        topic_filter, qos = subscription
        mine = any(each == session for each, _ in self._subscriptions.get(topic_filter, ()))
        handler = self._get_handler(session)
        if not mine or handler is None:
            return
        client = self.clients[session.username or ANONYMOUS]
        for topic, kept in list(self._retained_messages.items()):
            if self._matches(topic, topic_filter) and client.may_read(topic):
                await handler.mqtt_publish(topic, kept.data, min(qos, kept.qos or 0), retain=True)

    def writer_of(self, topic: str, data: bytes) -> str | None:
        """Return the user name of whoever wrote exactly this message; None when it is not known any more."""
        name, seen = self._writers.get(topic, (None, 0))
        if name is not None and seen == hash(data):
            return name
        kept = self._retained_messages.get(topic)
        return self.kept_by.get(topic) if kept is not None and bytes(kept.data) == data else None

    async def _broadcast_message(
        self, session: Any, topic: str | None, data: bytes | None, force_qos: int | None = None
    ) -> None:
        if session is not None and topic is not None:
            self._writers.pop(topic, None)
            self._writers[topic] = (session.username or ANONYMOUS, hash(bytes(data or b"")))
            if len(self._writers) > RETAINED_LIMIT:
                self._writers.popitem(last=False)
        await super()._broadcast_message(session, topic, data, force_qos)

    async def _retain_broadcast_message(self, broadcast: dict[str, Any], qos: int, session: Any) -> None:
        if session.retained_messages.qsize() >= QUEUED_LIMIT:
            session.retained_messages.get_nowait()
        await super()._retain_broadcast_message(broadcast, qos, session)

    async def retain_message(self, source: Any, topic: str | None, data: bytes | None, qos: int | None = None) -> None:
        before = self._retained_messages.get(topic)
        size = self.retained_bytes + _size(topic, data) - (_size(topic, before.data) if before is not None else 0)
        is_full = len(self._retained_messages) >= RETAINED_LIMIT and before is None
        if data and (is_full or size > RETAINED_LIMIT_BYTES):
            _log.warning("the MQTT broker keeps too many messages already; %.300s is not kept", topic)
            return
        self.retained_bytes = size
        if topic is not None and data:
            self.kept_by[topic] = (source.username or ANONYMOUS) if source is not None else None
        elif topic is not None:
            self.kept_by.pop(topic, None)
        self._on_retained()
        await super().retain_message(source, topic, data, qos)


def _size(topic: str | None, data: bytes | None) -> int:
    return len((topic or "").encode()) + len(data) if data else 0


class EmbeddedBroker:
    """A broker in this process.

    Args:
        clients: The clients that may connect, by user name; more may be added later. `ANONYMOUS` needs no password.
        attempts: Counts guesses at passwords.
        tls: For its connections.
    """

    def __init__(
        self, clients: Mapping[str, BrokerClient], attempts: AttemptLimiter, tls: ssl.SSLContext | None = None
    ) -> None:
        self._attempts = attempts
        self.password = secrets.token_urlsafe(32)
        self.clients = {**clients, HUB: BrokerClient(self.password, *2 * (("#", f"{NODES}/#"),))}
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self.changed = False
        """Whether other messages are retained than when it was set to false."""
        self._broker: Any = None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._servers[0].sockets[0].getsockname()[1])

    @property
    def own_port(self) -> int:
        """The port on which the hub itself connects, on loopback and without TLS."""
        return int(self._servers[-1].sockets[0].getsockname()[1])

    async def start(self, host: str, port: int, retained: Iterable[Mapping[str, Any]] = ()) -> None:
        """Listen.

        Args:
            retained: The result of `retained_messages` in its last run.

        Raises:
            OSError: The port cannot be had.
        """
        listener = ListenerConfig(type=ListenerType.EXTERNAL, bind="external")
        config = BrokerConfig(listeners={"default": listener}, plugins={}, session_expiry_interval=SESSION_LIMIT_S)
        self._broker = _Broker(config, self.clients, self._attempts, self._note_change)
        await self._broker.start()
        for each in retained:
            data = base64.b64decode(each["payload"])
            kept = RetainedApplicationMessage(None, each["topic"], data, each["qos"])
            self._broker.retained_messages[each["topic"]] = kept
            by = each.get("by")
            self._broker.kept_by[each["topic"]] = by if by is not None else self._only_writer(each["topic"])
            self._broker.retained_bytes += _size(each["topic"], data)
        try:
            self._servers.append(await asyncio.start_server(self._take, host, port, ssl=self._tls))
            self._servers.append(await asyncio.start_server(self._take, "127.0.0.1", 0))
        except OSError:
            await self.stop()
            raise

    def retained_messages(self) -> list[dict[str, Any]]:
        """Return the retained messages, as plain data."""
        return [
            {
                "topic": topic,
                "payload": base64.b64encode(each.data).decode(),
                "qos": each.qos or 0,
                "by": self._broker.kept_by.get(topic),
            }
            for topic, each in self._broker.retained_messages.items()
        ]

    @property
    def unclaimed_topics(self) -> list[str]:
        """The topics of retained messages whose writer is unknown."""
        return [topic for topic, by in self._broker.kept_by.items() if by is None]

    def writer_of(self, topic: str, payload: bytes) -> str | None:
        """Return the user name of whoever wrote exactly this message; None when it is not known any more."""
        found: str | None = self._broker.writer_of(topic, payload)
        return found

    async def stop(self) -> None:
        """Close every connection."""
        for server in self._servers:
            server.close()
        await self._broker.shutdown()

    def _only_writer(self, topic: str) -> str | None:
        """Return the only client that may write a topic, which wrote what was kept before writers were noted."""
        found = [name for name, each in self.clients.items() if name != HUB and each.may_publish(topic)]
        return found[0] if len(found) == 1 else None

    def _note_change(self) -> None:
        self.changed = True

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken = self._broker._servers["default"]
        if taken.conn_count >= CONNECTIONS_LIMIT:
            writer.close()
            return
        taken.conn_count += 1
        try:
            with suppress(AMQTTError, MQTTError, NoDataError, OSError, TimeoutError):
                await self._broker.external_connected(_Reader(reader, writer), _Writer(writer), "default")
        finally:
            taken.conn_count -= 1
            writer.close()


def anonymous() -> BrokerClient:
    """Return what programs of this machine may do while no credentials are configured: all but the hub's own topics."""
    return _AllButOurs("", ("#",), ("#",))


class _AllButOurs(BrokerClient, frozen=True):
    def may_publish(self, topic: str) -> bool:
        return topic.partition("/")[0] != OWN
