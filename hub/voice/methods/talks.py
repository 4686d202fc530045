"""`talk.open` and `GET /talk`: a talk over a WebSocket of its own, which a ticket opens, and the files that hold it.

The dashboard asks for a ticket with its cookie, a phone's page over its own socket; so both talk with the rights that
they have there. Over the socket come samples (binary) and what was pressed (JSON); back go what `Talk` tells, each
recording as a binary frame after the `said` that it belongs to.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.errors import HubError, LimitExceeded, NotFound, Unauthorized
from hub.core.languages import preferred_language
from hub.core.schema import All, Invalid, Length, Optional, Range, Required, Schema, boolean, number, string
from hub.core.surfaces import WRITE, Caller, HttpCall, Method, MethodCall, Open, Route
from hub.gateway.access.guarded_socket import Socket
from hub.sessions.keys import SessionKey, main_key
from hub.voice.talk import Talk, TalkParts

OWNER = "gateway"
TICKET_LIFE_S = 30.0
TICKETS_LIMIT = 16
TALKS_LIMIT = 16
FIRST_FRAME_LIMIT_S = 10.0
FRAME_LIMIT_BYTES = 65_536
HEARTBEAT_S = 20.0
SEND_LIMIT_S = 20.0
QUEUE_LIMIT = 512
CLOSE_REFUSED = 4_003
CLOSE_SLOW = 1_013

_FOLDER = Path(__file__).parents[1] / "talk_page"
_FILES = {"talk.js": "text/javascript", "microphone.js": "text/javascript", "talk.css": "text/css"}
_OPEN = Schema(
    {
        Optional("sessionKey", default=""): All(string, Length(max=2_048)),
        Optional("language", default="", description="Of the page."): All(string, Length(max=35)),
    }
)
_PLACE = {Required("n"): All(int, Range(min=0)), Required("part"): All(number, Range(min=0, max=1))}
_FRAMES = {
    "hold": Schema({Required("t"): "hold"}),
    "release": Schema({Required("t"): "release"}),
    "free": Schema({Required("t"): "free", Required("on"): boolean}),
    "played": Schema({Required("t"): "played", Required("n"): All(int, Range(min=0))}),
    "stop": Schema({Required("t"): "stop", **_PLACE}),
    "heard": Schema({Required("t"): "heard", **_PLACE}),
}


class _Ticket(Struct, frozen=True):
    caller: Caller
    session_key: str
    until: float


class Talks:
    """Opens talks.

    Args:
        agents: Know the default one, whose main conversation is meant where none is named.
        all_valid: Whether credentials are still valid.
        hears, speaks: Whether anything is set up that does.
    """

    def __init__(
        self,
        parts: TalkParts,
        agents: Agents,
        clock: Clock,
        *,
        all_valid: Callable[[frozenset[str]], bool],
        hears: Callable[[], bool],
        speaks: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._hears, self._speaks = hears, speaks
        self._agents = agents
        self._clock = clock
        self._all_valid = all_valid
        self._tickets: dict[str, _Ticket] = {}
        self._count = 0

    def methods(self) -> list[Method]:
        """Return the method."""
        return [Method("talk.open", self._open, OWNER, _OPEN, WRITE)]

    def routes(self) -> list[Route]:
        """Return the routes: the socket, and the page's files, which show nothing of the home."""
        return [
            Route("GET", "/talk", self._serve, OWNER, Open.SELF, websocket=True),
            Route("GET", "/talk/{file}", _serve_file, OWNER, Open.PUBLIC),
        ]

    async def _open(self, call: MethodCall) -> Mapping[str, Any]:
        default, asked = self._agents.default().id, call.params["sessionKey"]
        key = SessionKey.parse(asked, default_agent=default) if asked else SessionKey.parse(main_key(default))
        self._agents.get(key.agent)
        now = self._clock.monotonic()
        self._tickets = {name: each for name, each in self._tickets.items() if each.until > now}
        if len(self._tickets) >= TICKETS_LIMIT:
            raise LimitExceeded("too many talks are being opened; try again", retry_after_s=TICKET_LIFE_S)
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = _Ticket(call.caller, str(key), now + TICKET_LIFE_S)
        language = preferred_language(call.params["language"], tuple(_texts()), "en")
        return {
            "ticket": ticket,
            "hears": self._hears(),
            "speaks": self._speaks(),
            "texts": _texts()[language],
        }

    async def _serve(self, call: HttpCall) -> web.StreamResponse:
        socket = web.WebSocketResponse(compress=False, max_msg_size=FRAME_LIMIT_BYTES, heartbeat=HEARTBEAT_S)
        guarded = call.request.protocol
        if isinstance(guarded, Socket):
            guarded.begin_handshake()
        await socket.prepare(call.request)
        try:
            ticket = await self._ticket_of(socket)
            if isinstance(guarded, Socket):
                guarded.trust(ticket.caller.credentials)
            if self._count >= TALKS_LIMIT:
                raise LimitExceeded(f"{TALKS_LIMIT} talks are open already; end one", retry_after_s=TICKET_LIFE_S)
        except (HubError, TimeoutError) as error:
            told = error.message if isinstance(error, HubError) else "no ticket came"
            await socket.close(code=CLOSE_REFUSED, message=told.encode()[:120])
            return socket
        self._count += 1
        try:
            await self._hold(socket, ticket)
        finally:
            self._count -= 1
            await socket.close()
        return socket

    async def _ticket_of(self, socket: web.WebSocketResponse) -> _Ticket:
        async with asyncio.timeout(FIRST_FRAME_LIMIT_S):
            message = await socket.receive()
        shown = message.data if message.type is web.WSMsgType.TEXT else ""
        ticket = self._tickets.pop(shown, None)
        if ticket is None or ticket.until < self._clock.monotonic():
            raise Unauthorized("this ticket is not valid any more; open the talk again")
        if not self._all_valid(frozenset({ticket.caller.credential_id, *ticket.caller.came_from})):
            raise Unauthorized("you are signed out; sign in again")
        return ticket

    async def _hold(self, socket: web.WebSocketResponse, ticket: _Ticket) -> None:
        outlet = _Outlet(socket)
        sending = self._parts.tasks.spawn(outlet.send_all(), name="send to a talk")
        talk = Talk(ticket.session_key, ticket.caller.authority, self._parts, outlet.put)
        try:
            async for message in socket:
                if message.type is web.WSMsgType.BINARY:
                    talk.feed(message.data)
                elif not _take(talk, message.data):
                    break
        finally:
            sending.cancel()
            await talk.close()


class _Outlet:
    """What is to be sent, in order; who does not keep up is let go."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._queue: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    def put(self, told: Mapping[str, Any], sound: bytes | None) -> None:
        """Send what is told, and the recording that belongs to it."""
        if self._queue.qsize() > QUEUE_LIMIT:
            return
        self._queue.put_nowait(orjson.dumps({**told, **({"sound": True} if sound is not None else {})}).decode())
        if sound is not None:
            self._queue.put_nowait(sound)
        if self._queue.qsize() > QUEUE_LIMIT:
            self._queue.put_nowait(None)

    async def send_all(self) -> None:
        """Send until the socket closes."""
        try:
            while (frame := await self._queue.get()) is not None:
                async with asyncio.timeout(SEND_LIMIT_S):
                    await (self._socket.send_str(frame) if isinstance(frame, str) else self._socket.send_bytes(frame))
        except (ConnectionError, TimeoutError):
            pass
        await self._socket.close(code=CLOSE_SLOW, message=b"the talk could not be sent")


def _take(talk: Talk, text: str) -> bool:
    """Do what a frame says; return whether it was one."""
    try:
        frame = orjson.loads(text)
        frame = _FRAMES[frame["t"]](frame)
    except (ValueError, LookupError, TypeError, Invalid):
        return False
    match frame["t"]:
        case "hold":
            talk.hold()
        case "release":
            talk.release()
        case "free":
            talk.free_hands(on=frame["on"])
        case "played":
            talk.played(frame["n"])
        case "stop":
            talk.stop(frame["n"], frame["part"])
        case "heard":
            talk.heard(frame["n"], frame["part"])
    return True


async def _serve_file(call: HttpCall) -> web.StreamResponse:
    name = call.params["file"]
    if name not in _FILES:
        raise NotFound("there is no such file")
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    text = await asyncio.to_thread((_FOLDER / name).read_text, encoding="utf-8")
    return web.Response(text=text, content_type=_FILES[name], headers=headers)


@lru_cache(maxsize=1)
def _texts() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads((_FOLDER / "texts.json").read_text(encoding="utf-8"))
    return texts
