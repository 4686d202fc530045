"""A lasting connection to a hub, here or elsewhere: method calls, and pushed events."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from hub import __version__
from hub.cli.client import EVERYWHERE, SOCKET, wait_for_hub
from hub.cli.exits import CommandFailed, Exit
from hub.cli.remote import RemoteHome, other_certificate
from hub.core.ids import new_id
from hub.security.hub_token import hub_token
from hub.security.unverified_tls import unverified_tls

if TYPE_CHECKING:
    import aiohttp

CONNECT_LIMIT_S = 15.0
CALL_LIMIT_S = 60.0
EVENTS_LIMIT = 10_000
"""Events that wait to be looked at; the hub is left when there are more."""
HEARTBEAT_S = 20.0
SCOPES = ("operator.read", "operator.write", "operator.approvals", "operator.questions")


class HubLink:
    """A client of the hub's protocol over a WebSocket.

    Args:
        home: The home directory of the hub, or a `RemoteHome`.

    Attributes:
        events: Name and payload of what the hub pushes; None when the connection has ended.
    """

    def __init__(self, home: Path | RemoteHome) -> None:
        self.events: asyncio.Queue[tuple[str, Mapping[str, Any]] | None] = asyncio.Queue(EVENTS_LIMIT)
        self._home = home
        self._session: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect.

        Raises:
            CommandFailed: The hub cannot be reached, or refuses us.
        """
        import aiohttp

        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                url, token, options, path = await asyncio.to_thread(way, self._home, "/ws")
                connector = aiohttp.UnixConnector(str(path)) if path is not None else None
                self._session = aiohttp.ClientSession(connector=connector, trust_env=False)
                self._socket = await self._session.ws_connect(url, heartbeat=HEARTBEAT_S, max_msg_size=0, **options)
                await self._socket.receive_json()  # the challenge, which only a device answers
                self._reading = asyncio.create_task(self._read(self._socket), name="read from the hub")
                await self.call("connect", **_hello(token))
        except (OSError, TimeoutError, aiohttp.ClientError, TypeError, ValueError) as error:
            await self.close()
            reason = str(error) or type(error).__name__
            if isinstance(error, aiohttp.ServerFingerprintMismatch):
                reason = other_certificate(error.got)
            raise CommandFailed(f"The hub at {self._home} cannot be reached: {reason}.", Exit.NOT_REACHABLE) from error

    async def call(self, method: str, **params: Any) -> Any:
        """Call a method and return its payload.

        Raises:
            CommandFailed: The hub refuses, does not answer, or is gone.
        """
        if self._socket is None:
            raise CommandFailed("The hub has stopped.", Exit.NOT_REACHABLE)
        id = new_id()
        answer = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            request = {"type": "req", "id": id, "method": method, "params": params}
            await self._socket.send_str(orjson.dumps(request).decode())
            async with asyncio.timeout(CALL_LIMIT_S):
                frame = await answer
        except (OSError, TimeoutError) as error:
            raise CommandFailed(f"The hub did not answer {method}.", Exit.NOT_REACHABLE) from error
        finally:
            self._waiting.pop(id, None)
        if not frame.get("ok"):
            failed = frame.get("error") or {}
            code = Exit.NOT_AUTHORISED if failed.get("code") in ("UNAUTHORIZED", "FORBIDDEN") else Exit.FINDINGS
            raise CommandFailed(f"{failed.get('code', 'ERROR')}: {failed.get('message', 'no reason given')}", code)
        return frame.get("payload")

    async def close(self) -> None:
        """Disconnect."""
        if self._reading is not None:
            self._reading.cancel()
        for each in (self._socket, self._session):
            if each is not None:
                await each.close()
        self._socket = self._session = self._reading = None

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        try:
            async for message in socket:
                frame = orjson.loads(message.data)
                if frame.get("type") == "event":
                    self.events.put_nowait((frame["event"], frame.get("payload") or {}))
                elif (answer := self._waiting.get(frame.get("id"))) is not None and not answer.done():
                    answer.set_result(frame)
        except (ValueError, asyncio.QueueFull):
            await socket.close()
        finally:
            gone = {"ok": False, "error": {"code": "UNAVAILABLE", "message": "the hub has closed the connection"}}
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_result(gone)
            if self.events.full():
                self.events.get_nowait()
            self.events.put_nowait(None)


def way(home: Path | RemoteHome, path: str) -> tuple[str, str | None, dict[str, Any], Path | None]:
    """Return the address of a path of the hub, the token, further options, and the Unix socket, if any.

    Looks at files.
    """
    if isinstance(home, RemoteHome):
        return f"{home}{path}", home.token.reveal(), _pinned(home), None
    running = wait_for_hub(home)
    if (home / SOCKET).is_socket():
        return f"ws://localhost{path}", None, {}, home / SOCKET
    host = EVERYWHERE.get(running.host) or str(running.host)
    options = {"ssl": unverified_tls()} if running.tls else {}
    url = f"{'wss' if running.tls else 'ws'}://{host}:{running.port}{path}"
    return url, hub_token(home).reveal(), options, None


def _pinned(home: RemoteHome) -> dict[str, Any]:
    if home.fingerprint is None:
        return {}
    import aiohttp

    return {"ssl": aiohttp.Fingerprint(home.fingerprint)}


def _hello(token: str | None) -> dict[str, Any]:
    client = {"id": "homarus-tui", "version": __version__, "platform": platform.system().lower(), "mode": "ui"}
    said: dict[str, Any] = {"minProtocol": 4, "maxProtocol": 4, "client": client, "role": "operator"}
    return said | {"scopes": list(SCOPES), **({"auth": {"token": token}} if token else {})}
