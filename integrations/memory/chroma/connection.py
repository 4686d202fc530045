"""The connection to a Chroma server, which all indexes of this process share.

One that does not answer is found out by one of them, for all.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import urllib.parse
from typing import NoReturn

from hub.memory.engine_contract import EngineUnavailable

HEARTBEAT = "/api/v2/heartbeat"
REST_S = 30.0
"""How long a server is not asked again that did not answer in time."""
PROBE_S = 1.0
"""How long it may take after that to show that it is back."""
SLOW_S = 5.0
"""What fails after so long is late too, as a name that cannot be looked up; what fails sooner holds up nobody."""
MAX_ANSWER_BYTES = 256 << 20
BLOCK_BYTES = 1 << 20

_known: dict[tuple[str, str | None], ServerConnection] = {}
_knowing = threading.Lock()


class ServerConnection:
    """A server, with a connection for each thread that asks it.

    Args:
        url: Its address.
        token: The expected bearer token.

    Raises:
        EngineUnavailable: That is no address.

    Attributes:
        shown: The address, as messages name it.
    """

    def __init__(self, url: str, token: str | None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EngineUnavailable(
                "chroma.url is not an address of a Chroma server; one looks like http://127.0.0.1:8000."
            )
        self._host, self._port, self._tls = parts.hostname, parts.port, parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self.shown = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "") + self._path
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._own = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._users = 0
        self._late: str | None = None
        self._rests_until = 0.0

    def use(self) -> None:
        """Count one more user."""
        with _knowing:
            self._users += 1

    def leave(self) -> None:
        """Count one less; after the last one the connections are closed."""
        with _knowing:
            self._users -= 1
            left = () if self._users else tuple(self._open)
            self._open.difference_update(left)
        for each in left:
            each.close()

    def exchange(self, method: str, path: str, content: bytes | None, limit_s: float) -> tuple[int, bytes]:
        """Send a request and return status and body; retried once if a kept connection was closed.

        Raises:
            EngineUnavailable: There is no answer within `limit_s`, or there was none lately.
        """
        if self._late is not None:
            if time.monotonic() < self._rests_until:
                raise EngineUnavailable(self._late)
            self._answered("GET", HEARTBEAT, None, PROBE_S)
            self._late = None
        return self._answered(method, path, content, limit_s)

    def _answered(self, method: str, path: str, content: bytes | None, limit_s: float) -> tuple[int, bytes]:
        began = time.monotonic()
        kept = getattr(self._own, "connection", None) in self._open
        try:
            try:
                return self._sent(method, path, content, limit_s)
            except ConnectionError:
                if not kept:
                    raise
                self._drop()
                return self._sent(method, path, content, limit_s)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._drop()
            self._away(error, limit_s, time.monotonic() - began)

    def _sent(self, method: str, path: str, content: bytes | None, limit_s: float) -> tuple[int, bytes]:
        until = time.monotonic() + limit_s
        connection = self._connected(limit_s)
        connection.request(method, self._path + path, body=content, headers=self._headers)
        response = connection.getresponse()
        blocks, size = [], 0
        while block := response.read1(BLOCK_BYTES):
            blocks.append(block)
            size += len(block)
            if size > MAX_ANSWER_BYTES:
                raise ValueError("its answer is too long")
            if time.monotonic() > until:
                raise TimeoutError("its answer takes too long")
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        # Otherwise the connection would wait for more of it.
        response.close()
        return response.status, b"".join(blocks)

    def _connected(self, limit_s: float) -> http.client.HTTPConnection:
        """Return the connection of this thread."""
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None or connection not in self._open:
            connection = (
                http.client.HTTPSConnection(self._host, self._port, context=ssl.create_default_context())
                if self._tls
                else http.client.HTTPConnection(self._host, self._port)
            )
            self._own.connection = connection
            self._open.add(connection)
        connection.timeout = limit_s
        if connection.sock is not None:
            connection.sock.settimeout(limit_s)
        return connection

    def _drop(self) -> None:
        if (connection := getattr(self._own, "connection", None)) is not None:
            self._open.discard(connection)
            self._own.connection = None
            connection.close()

    def _away(self, error: Exception, limit_s: float, took_s: float) -> NoReturn:
        why = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            why = f"within {limit_s:g} s: {why}"
        text = f"The Chroma server at {self.shown} does not answer ({why}). Start it, or correct chroma.url."
        if isinstance(error, TimeoutError) or took_s > SLOW_S:
            self._late, self._rests_until = text, time.monotonic() + REST_S
        raise EngineUnavailable(text) from error


def connection_to(url: str, token: str | None) -> ServerConnection:
    """Return the connection to a server, for one more user.

    Raises:
        EngineUnavailable: That is no address.
    """
    with _knowing:
        if (found := _known.get((url, token))) is None:
            found = _known[url, token] = ServerConnection(url, token)
    found.use()
    return found
