"""The live socket: one WebSocket per tab, with topics that report changes.

A topic is named `home` or `session:<key>`. A watcher gets its whole state at once, then the changes;
after a lost connection, or when a client could not keep up, it gets the whole state again: nothing is replayed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from hub.core.errors import HubError, Unavailable
from hub.core.schema import All, Invalid, Length, Required, Schema, string
from hub.core.surfaces import READ, Caller, HttpCall
from hub.core.tasks import TaskOwner
from hub.gateway.connection.presence import Presence

_log = logging.getLogger(__name__)

CLIENT_LIMIT = 64
QUEUE_LIMIT = 256
TOPIC_LIMIT = 8
FRAME_LIMIT_BYTES = 16_384
TICK_S = 20.0
SEND_LIMIT_S = 20.0
COALESCE_S = 0.5
STATE_TRIES = 5
"""How often the state of a topic is made again when something of the topic was sent while it was made."""
CLOSE_GOING_AWAY = 1001

Frame = Mapping[str, Any]
State = Callable[[str, str], Awaitable[Sequence[Frame]]]
"""Returns the frames that show a topic's whole state: (topic, language) → frames."""

WATCH = Schema(
    {Required("t"): "watch", Required("topics"): All([All(string, Length(max=300))], Length(max=TOPIC_LIMIT))}
)
USED = {"t": "used"}
"""A tab says that somebody uses it."""


@dataclass(eq=False, slots=True)
class _Client:
    socket: web.WebSocketResponse
    caller: Caller
    language: str
    topics: frozenset[str] = frozenset()
    queue: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(QUEUE_LIMIT))

    def put(self, frame: str) -> None:
        """Queue a frame; a client that cannot keep up loses its queue and gets the whole state instead (None)."""
        try:
            self.queue.put_nowait(frame)
        except asyncio.QueueFull:
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(None)


class LiveUpdates:
    """The open tabs and their topics.

    Args:
        tasks: Owner of the tasks that render and send.
        hello: Returns the first frames of a connection.
        language: Returns the language of the browser that asks.
        presence: Gets an entry for each browser with an open tab.
    """

    def __init__(
        self,
        tasks: TaskOwner,
        *,
        hello: Callable[[], Sequence[Frame]],
        language: Callable[[HttpCall], str],
        presence: Presence,
    ) -> None:
        self._tasks = tasks
        self._hello = hello
        self._language = language
        self._presence = presence
        self._states: dict[str, State] = {}
        self._scopes: dict[str, str] = {}
        self._clients: set[_Client] = set()
        self._watched: frozenset[str] = frozenset()
        self._dirty: dict[str, asyncio.TimerHandle] = {}
        self._sent: dict[str, int] = {}
        """How many frames each watched topic was sent."""

    @property
    def client_count(self) -> int:
        """How many tabs are connected."""
        return len(self._clients)

    def add_topic(self, kind: str, state: State, scope: str = READ) -> None:
        """Serve topics of a kind, the topic `kind` itself and `kind:<anything>`, to those who have the scope."""
        self._states[kind] = state
        self._scopes[kind] = scope

    def is_watched(self, topic: str) -> bool:
        """Whether any tab watches the topic."""
        return topic in self._watched

    def watches(self, kind: str) -> bool:
        """Whether any tab watches a topic of a kind."""
        return any(topic.partition(":")[0] == kind for topic in self._watched)

    def changed(self, topic: str) -> None:
        """Send the topic's whole state to those who watch it, soon; several changes become one."""
        if topic in self._dirty or not self.is_watched(topic):
            return

        def due() -> None:
            del self._dirty[topic]
            self._tasks.spawn(self._send_state(topic), name=f"live {topic}")

        self._dirty[topic] = asyncio.get_running_loop().call_later(COALESCE_S, due)

    def changed_all(self, kind: str) -> None:
        """Send the whole state of every topic of a kind to those who watch it, soon."""
        for topic in self._watched:
            if topic.partition(":")[0] == kind:
                self.changed(topic)

    def send(self, topic: str, make: Callable[[str], Frame | None]) -> None:
        """Send one frame to those who watch the topic; it is made and encoded once for each language."""
        if self.is_watched(topic):
            self._sent[topic] = self._sent.get(topic, 0) + 1
        encoded: dict[str, str | None] = {}
        for client in self._clients:
            if topic not in client.topics:
                continue
            if client.language not in encoded:
                frame = make(client.language)
                encoded[client.language] = None if frame is None else _encode(frame)
            text = encoded[client.language]
            if text is not None:
                client.put(text)

    async def serve(self, call: HttpCall) -> web.StreamResponse:
        """Answer `GET /live`: the ingress judged Origin and cookie before.

        Raises:
            Unavailable: Too many tabs are open.

        Cancelling it closes the socket.
        """
        if call.caller is None:
            raise PermissionError("the live socket needs a caller")
        if len(self._clients) >= CLIENT_LIMIT:
            raise Unavailable(f"{CLIENT_LIMIT} tabs are open already; close one", retry_after_s=30)
        socket = web.WebSocketResponse(compress=False, max_msg_size=FRAME_LIMIT_BYTES, heartbeat=TICK_S)
        await socket.prepare(call.request)
        client = _Client(socket, call.caller, self._language(call))
        self._clients.add(client)
        from web.core.browsers import seen_tab  # with the first tab

        key, tab, facts = seen_tab(call)
        self._presence.enter(key, tab, "operator", facts)
        for frame in self._hello():
            client.put(_encode(frame))
        sender = self._tasks.spawn(self._sender(client), name="live sender")
        try:
            await self._receive(client, tab)
        finally:
            self._presence.exit(key, tab)
            self._clients.discard(client)
            self._note_watched()
            sender.cancel()
            await socket.close()
        return socket

    async def close(self) -> None:
        """Close all sockets; the tabs reconnect by themselves when the hub is back."""
        for handle in self._dirty.values():
            handle.cancel()
        self._dirty.clear()
        for client in list(self._clients):
            await client.socket.close(code=CLOSE_GOING_AWAY, message=b"the hub stops")

    async def _receive(self, client: _Client, tab: str) -> None:
        async for message in client.socket:
            if message.type is not web.WSMsgType.TEXT:
                return
            try:
                data = orjson.loads(message.data)
                if data == USED:
                    self._presence.beacon({"lastInputSeconds": 0}, tab)
                    continue
                wanted = WATCH(data)["topics"]
            except (ValueError, Invalid):
                return
            client.topics = frozenset(topic for topic in wanted if self._may_watch(client.caller, topic))
            self._note_watched()
            for topic in client.topics:
                await self._state_to(client, topic)

    def _note_watched(self) -> None:
        self._watched = frozenset().union(*(client.topics for client in self._clients))
        self._sent = {topic: count for topic, count in self._sent.items() if topic in self._watched}

    def _may_watch(self, caller: Caller, topic: str) -> bool:
        scope = self._scopes.get(topic.partition(":")[0])
        return scope is not None and caller.authority.has(scope)

    async def _state_to(self, client: _Client, topic: str) -> None:
        for frame in await self._state(topic, client.language):
            client.put(_encode(frame))

    async def _send_state(self, topic: str) -> None:
        languages = {client.language for client in self._clients if topic in client.topics}
        for language in languages:
            texts = [_encode(frame) for frame in await self._state(topic, language)]
            for client in list(self._clients):
                if client.language == language and topic in client.topics:
                    for text in texts:
                        client.put(text)

    async def _state(self, topic: str, language: str) -> Sequence[Frame]:
        frames: Sequence[Frame] = ()
        try:
            for _ in range(STATE_TRIES):
                sent = self._sent.get(topic)
                frames = await self._states[topic.partition(":")[0]](topic, language)
                if self._sent.get(topic) == sent:  # else it may be older than what the tab has, and takes that away
                    break
            return frames
        except HubError as error:
            _log.info("live topic %s cannot be shown: %s", topic, error.message)
            return ()

    async def _sender(self, client: _Client) -> None:
        try:
            while not client.socket.closed:
                text = await self._next(client)
                if text is None:
                    for topic in client.topics:
                        await self._state_to(client, topic)
                    continue
                async with asyncio.timeout(SEND_LIMIT_S):
                    await client.socket.send_str(text)
        except (ConnectionError, TimeoutError):
            await client.socket.close(code=CLOSE_GOING_AWAY)

    async def _next(self, client: _Client) -> str | None:
        try:
            async with asyncio.timeout(TICK_S):
                return await client.queue.get()
        except TimeoutError:
            return _encode({"t": "tick"})


def _encode(frame: Frame) -> str:
    return orjson.dumps(frame, default=str).decode()
