"""One WebSocket client: its handshake, its requests and what is pushed to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Literal

from aiohttp import web
from msgspec import Struct

from hub.config.history import APP, changed_by
from hub.core.context import Authority
from hub.core.errors import Aborted, HubError, InvalidRequest, LimitExceeded
from hub.core.surfaces import FRAME_LIMIT_BYTES, Caller
from hub.core.tasks import TaskOwner
from hub.gateway.access.guarded_socket import Socket
from hub.gateway.calls.dispatch import Dispatcher
from hub.gateway.connection.outlet import Outlet
from hub.gateway.connection.protocol import (
    CLOSE_POLICY,
    CLOSE_TOO_LARGE,
    Cancel,
    Request,
    decode,
    encode_error,
    encode_result,
)

_log = logging.getLogger(__name__)

ENVELOPE_BYTES = 4_096
"""The allowance for a frame beyond its parameters."""
IN_FLIGHT_LIMIT = 256
"""Requests of one client under way at once."""
FAIR_AFTER = 128
"""Frames handled in a row before others get their turn."""
STRICT = "strict-params"
"""What a client names among its `caps` if keys that a method does not know are to be errors."""
UI_MODES = frozenset({"ui", "webchat"})
"""In these a person watches: deltas are then coalesced."""
CLOSE_LIMIT_S = 2.0


class ClientInfo(Struct, frozen=True):
    """A client's description of itself; it grants nothing."""

    id: str = ""
    version: str = ""
    platform: str = ""
    mode: str = ""
    display_name: str | None = None
    device_family: str | None = None
    model_identifier: str | None = None
    instance_id: str | None = None
    role: str = "operator"
    caps: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    permissions: Mapping[str, bool] = {}
    path_env: str | None = None
    device_id: str | None = None


class Connection:
    """A client after its handshake.

    Args:
        id: The id of the connection.
        ws: The upgraded response.
        socket: Its TCP connection.
        outlet: Sends its frames.
        dispatcher: Calls methods.
        tasks: Owner of the tasks that answer.
        all_valid: Whether credentials are still valid; asked at each request.
    """

    def __init__(
        self,
        id: str,
        ws: web.WebSocketResponse[Literal[False]],
        socket: Socket,
        outlet: Outlet,
        *,
        dispatcher: Dispatcher,
        tasks: TaskOwner,
        all_valid: Callable[[Iterable[str]], bool],
    ) -> None:
        self.id = id
        self.ws = ws
        self.outlet = outlet
        self.client = ClientInfo()
        self.caller: Caller | None = None
        self.connected_ms = 0
        self.host = ""
        """What it reaches the hub by."""
        self.topics: set[str] = set()
        """What it subscribed to: `sessions`, `session:<key>`."""
        self.socket = socket
        self._dispatcher = dispatcher
        self._tasks = tasks
        self._all_valid = all_valid
        self._in_flight: dict[str, asyncio.Task[None]] = {}
        self._closing: asyncio.Task[None] | None = None

    @property
    def authority(self) -> Authority:
        """The rights of the client."""
        if self.caller is None:
            raise PermissionError("this connection has not completed the handshake")
        return self.caller.authority

    async def serve(self) -> None:
        """Answer frames until the client leaves or is closed; pending read-only requests are then cancelled."""
        handled = 0
        try:
            while self._closing is None:
                message = await self.ws.receive()
                if message.type not in (web.WSMsgType.TEXT, web.WSMsgType.BINARY):
                    return
                self._frame(message.data)
                handled += 1
                if handled % FAIR_AFTER == 0:
                    await asyncio.sleep(0)
            await self.closed()
        finally:
            for task in list(self._in_flight.values()):
                task.cancel()

    def close(self, code: int, reason: str) -> None:
        """Close the connection: politely, and by force when the client does not answer."""
        if self._closing is None:
            self.outlet.close()
            self._closing = self._tasks.spawn(self._close(code, reason), name=f"close connection {self.id}")

    async def closed(self) -> None:
        """Wait until the connection that is being closed is closed."""
        if self._closing is not None:
            await asyncio.shield(self._closing)

    def send(self, payload: bytes) -> None:
        """Send an encoded answer."""
        self.outlet.send(payload)

    @property
    def frame_limit(self) -> int:
        """The size of the largest frame that this client may send."""
        if self.caller is None:
            return FRAME_LIMIT_BYTES
        return self._dispatcher.frame_limit(self.caller, self.client.role) + ENVELOPE_BYTES

    def _frame(self, data: bytes) -> None:
        if len(data) > FRAME_LIMIT_BYTES and len(data) > self.frame_limit:
            self.close(CLOSE_TOO_LARGE, f"a frame of {len(data)} bytes; this client may send {self.frame_limit}")
            return
        try:
            frame = decode(data)
        except InvalidRequest as error:
            id = error.details.pop("id", None)
            if id is None:
                _log.info("closed %s: %s", self.id, error.message)
                self.close(CLOSE_POLICY, error.message[:100])
                return
            self.outlet.send(encode_error(id, error))
            return
        if type(frame) is Request:
            self._request(frame)
        elif type(frame) is Cancel:
            task = self._in_flight.get(frame.id)
            if task is not None:
                task.cancel()

    def _request(self, frame: Request) -> None:
        caller = self.caller
        if caller is None:
            return
        if not self._all_valid((caller.credential_id, *caller.came_from)):
            self.close(CLOSE_POLICY, "credential ended")
            return
        id = frame.id
        try:
            if id in self._in_flight:
                raise InvalidRequest(f"id: a request {id[:64]!r} is still under way")
            if len(self._in_flight) >= IN_FLIGHT_LIMIT:
                raise LimitExceeded(f"{IN_FLIGHT_LIMIT} requests are under way already", retry_after_s=1)
            method, call = self._dispatcher.prepare(
                frame.method,
                frame.params,
                caller,
                role=self.client.role,
                connection_id=self.id,
                later=self._later(id),
                tolerate=None if STRICT in self.client.caps else self.client.id,
            )
            if method.quick:
                self.outlet.send(encode_result(id, _at_once(method.handler(call))))
                return
            work = self._dispatcher.run(method, call)
        except HubError as error:
            self.outlet.send(encode_error(id, error))
            return
        except Exception as error:  # a mistake of ours in a quick method must not close the client's connection
            self.outlet.send(encode_error(id, _unexpected(frame.method, error)))
            return
        task = self._tasks.spawn(self._answer(id, frame.method, work), name=f"method {frame.method}")
        self._in_flight[id] = task
        task.add_done_callback(lambda done: self._answered(id, work, cancelled=done.cancelled()))

    def _answered(self, id: str, work: Coroutine[Any, Any, Any], *, cancelled: bool) -> None:
        self._in_flight.pop(id, None)
        if cancelled:
            work.close()  # it may not have begun
            self.outlet.send(encode_error(id, Aborted("the request was cancelled")))

    async def _answer(self, id: str, method: str, work: Coroutine[Any, Any, Any]) -> None:
        try:
            with changed_by(APP):
                payload = encode_result(id, await work)
        except HubError as error:
            payload = encode_error(id, error)
        except Exception as error:  # the client gets an answer to every request
            payload = encode_error(id, _unexpected(method, error))
        self.outlet.send(payload)

    def _later(self, id: str) -> Callable[[Mapping[str, Any]], Coroutine[Any, Any, None]]:
        async def respond(payload: Mapping[str, Any]) -> None:
            first = self._in_flight.get(id)
            if first is not None:
                await asyncio.wait([first])  # the first answer goes out before the second
            self.outlet.send(encode_result(id, payload))

        return respond

    async def _close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await self.ws.close(code=code, message=reason.encode()[:120])
        except (TimeoutError, ConnectionError, RuntimeError) as error:
            _log.debug("connection %s did not close politely: %r", self.id, error)
        self.socket.abort()


def _at_once(work: Any) -> Any:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a quick method waited for something")


def _unexpected(method: str, error: Exception) -> HubError:
    _log.exception("method %s failed", method, exc_info=error)
    return HubError(f"{method} failed: {type(error).__name__}; the hub's log has more")
