"""Home Assistant's WebSocket API: signing in, commands and their results, and events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson

from hub.core.errors import HubError, InvalidRequest, TimedOut, Unauthorized, Unavailable

PATH = "/api/websocket"
ANSWER_LIMIT_S = 20.0
HEARTBEAT_S = 30.0
MESSAGE_LIMIT_BYTES = 32 * 1024 * 1024

Heard = Callable[[Mapping[str, Any]], None]


class HomeAssistantSocket:
    """One connection that has signed in.

    Args:
        socket: The WebSocket.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._last_id = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._heard: dict[int, Heard] = {}

    async def ask(self, type: str, *, heard: Heard | None = None, **data: Any) -> Any:
        """Send a command and return its result.

        Args:
            heard: Called with each event of a subscription.

        Raises:
            InvalidRequest: It was refused.
            Unavailable: The connection broke.
            TimedOut: There was no answer within 20 s.
        """
        self._last_id += 1
        id = self._last_id
        answer = self._answers[id] = asyncio.get_running_loop().create_future()
        if heard is not None:
            self._heard[id] = heard
        try:
            await self._socket.send_str(orjson.dumps({"id": id, "type": type, **data}).decode())
            async with asyncio.timeout(ANSWER_LIMIT_S):
                return await answer
        except TimeoutError as error:
            raise TimedOut(f"Home Assistant did not answer {type} within {ANSWER_LIMIT_S:g} s") from error
        except (ConnectionError, aiohttp.ClientError) as error:
            raise Unavailable("the connection to Home Assistant broke") from error
        finally:
            self._answers.pop(id, None)

    async def listen(self) -> None:
        """Receive messages until the connection ends."""
        try:
            async for message in self._socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._take(orjson.loads(message.data))
        finally:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(Unavailable("the connection to Home Assistant broke"))

    def _take(self, message: Any) -> None:
        # Several messages come as a list when features are agreed; none are.
        if not isinstance(message, dict):
            return
        id = message.get("id")
        if message.get("type") == "event" and id in self._heard:
            self._heard[id](message.get("event") or {})
        answer = self._answers.get(id) if isinstance(id, int) else None
        if message.get("type") != "result" or answer is None or answer.done():
            return
        if message.get("success"):
            answer.set_result(message.get("result"))
            return
        error = message.get("error") or {}
        told = f"Home Assistant refused it: {str(error.get('message'))[:300]}"
        answer.set_exception(InvalidRequest(told, outside=True))


@asynccontextmanager
async def connect_and_sign_in(url: str, token: str) -> AsyncIterator[HomeAssistantSocket]:
    """Connect and sign in.

    Raises:
        Unauthorized: The token is not valid.
        HubError: The server is not a Home Assistant, or redirects.
        OSError, aiohttp.ClientError: It cannot be reached.
    """
    stay = aiohttp.TraceConfig()
    stay.on_request_redirect.append(_refuse)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_LIMIT_S)
    kept: dict[str, Any] = {"cookie_jar": aiohttp.DummyCookieJar(), "trace_configs": [stay], "timeout": timeout}
    async with (
        aiohttp.ClientSession(**kept) as session,
        session.ws_connect(url + PATH, heartbeat=HEARTBEAT_S, max_msg_size=MESSAGE_LIMIT_BYTES) as socket,
    ):
        async with asyncio.timeout(ANSWER_LIMIT_S):
            await _expect(socket, "auth_required")
            await socket.send_str(orjson.dumps({"type": "auth", "access_token": token}).decode())
            await _expect(socket, "auth_ok")
        yield HomeAssistantSocket(socket)


async def _refuse(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
    raise HubError("it redirects; configure the address that it redirects to")


async def _expect(socket: aiohttp.ClientWebSocketResponse, type: str) -> None:
    message = await socket.receive()
    if message.type is not aiohttp.WSMsgType.TEXT:
        raise Unavailable("the connection ended while signing in")
    try:
        told = orjson.loads(message.data)
        found = told.get("type")
    except (ValueError, AttributeError) as error:
        raise HubError("the server does not answer like Home Assistant; check url") from error
    if found == "auth_invalid":
        raise Unauthorized("the token is not valid")
    if found != type:
        raise HubError("the server does not answer like Home Assistant; check url")
