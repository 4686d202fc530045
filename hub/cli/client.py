"""Asking the running hub, over plain HTTP from the standard library: importing more would cost more than the answer."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hub.cli.exits import CommandFailed, Exit
from hub.security.hub_token import hub_token
from hub.storage.instance_lock import Running, read_running

CALL_LIMIT_S = 60.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  read, not bound
_AUTH_CODES = {"UNAUTHORIZED", "FORBIDDEN"}


class CallFailed(CommandFailed):
    """The hub answered with an error."""

    def __init__(self, error: Mapping[str, Any], status: int) -> None:
        self.error = dict(error)
        refused = status in (401, 403) or error.get("code") in _AUTH_CODES
        super().__init__(
            f"{error.get('code', 'ERROR')}: {error.get('message', 'no reason given')}",
            Exit.NOT_AUTHORISED if refused else Exit.FINDINGS,
        )


class HubClient:
    """Speaks to the hub that runs on a home directory.

    Args:
        home: The home directory.

    Raises:
        CommandFailed: No hub runs there; the message says how to start one.
    """

    def __init__(self, home: Path) -> None:
        running = read_running(home)
        if running is None:
            raise CommandFailed(
                f"No hub runs on {home}. Start one with: homarus start --config {home}", Exit.NOT_REACHABLE
            )
        self._home = home
        self._running: Running = running
        self._token = hub_token(home).reveal()

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = CALL_LIMIT_S) -> Any:
        """Call a gateway method and return its payload.

        Raises:
            CallFailed: The hub answered with an error.
            CommandFailed: It did not answer.
        """
        response = self._post("/api/rpc", {"method": method, "params": dict(params or {})}, {}, timeout_s)
        text = response.read()
        answer = self._json(text)
        if response.status != 200 or not answer.get("ok", True):
            raise CallFailed(answer.get("error", {}), response.status)
        return answer.get("payload")

    def stream(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], *, timeout_s: float
    ) -> Iterator[dict[str, Any]]:
        """Post a request that is answered with server-sent events and yield their data.

        Closing the iterator closes the connection, which stops what was asked for.
        """
        response = self._post(path, body, headers, timeout_s)
        try:
            if response.status != 200:
                raise CallFailed(self._json(response.read()).get("error", {}), response.status)
            for line in response:
                if line.startswith(b"data: ") and line[6:].strip() != b"[DONE]":
                    yield json.loads(line[6:])
        finally:
            response.close()
            self._connection.close()

    def _post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], timeout_s: float
    ) -> http.client.HTTPResponse:
        host = _EVERYWHERE.get(self._running.host, self._running.host)
        if self._running.tls:
            # The certificate is this machine's own and names it by its LAN name, not by its loopback address.
            context = ssl._create_unverified_context()  # noqa: S323
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, self._running.port, timeout=timeout_s, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(host, self._running.port, timeout=timeout_s)
        try:
            self._connection.request(
                "POST",
                path,
                json.dumps(body).encode(),
                {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **headers},
            )
            return self._connection.getresponse()
        except TimeoutError as error:
            raise CommandFailed(f"The hub did not answer within {timeout_s:g} s.", Exit.NOT_REACHABLE) from error
        except (OSError, http.client.HTTPException) as error:
            raise CommandFailed(
                f"The hub on {self._home} (process {self._running.pid}) cannot be reached at "
                f"{host}:{self._running.port}: {error}",
                Exit.NOT_REACHABLE,
            ) from error

    def _json(self, text: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {"error": {"code": "BAD_ANSWER", "message": text[:200].decode(errors="replace")}}
        return answer if isinstance(answer, dict) else {"payload": answer}
