"""Calls to the running hub over plain HTTP from the standard library, since importing more would dominate the time.

They go over the hub's Unix socket, which needs no token; where it cannot be reached, over TCP with the hub token.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

from hub.cli.exits import CommandFailed, Exit
from hub.cli.options import command_on
from hub.cli.remote import RemoteHome, check_pin
from hub.security.hub_token import hub_token
from hub.security.unverified_tls import unverified_tls
from hub.storage.instance_lock import Running, read_running

SOCKET = Path(".storage/run/hub.sock")
CALL_LIMIT_S = 60.0
START_LIMIT_S = 15.0
"""How long a hub that has only just begun may take until it says where it listens."""
ANSWER_LIMIT_BYTES = 256 * 1024 * 1024
LOOK_AGAIN_S = 0.05
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1", None: "127.0.0.1"}  # noqa: S104  read, not bound
_EXITS = {
    "UNAUTHORIZED": Exit.NOT_AUTHORISED,
    "FORBIDDEN": Exit.NOT_AUTHORISED,
    "INVALID_REQUEST": Exit.USAGE,
    "CONFIG_INVALID": Exit.INVALID_CONFIGURATION,
}


class CallFailed(CommandFailed):
    """The hub answered with an error."""

    def __init__(self, error: Mapping[str, Any], status: int) -> None:
        self.error: dict[str, Any] = dict(error)
        self.status = status
        super().__init__(
            f"{error.get('code', 'ERROR')}: {error.get('message', 'no reason given')}",
            _exit_of(error, status),
            {key: self.error[key] for key in ("code", "details") if key in self.error},
        )


def _exit_of(error: Mapping[str, Any], status: int) -> Exit:
    details = error.get("details")
    if isinstance(details, Mapping) and details.get("reason") == "recovery":
        return Exit.INVALID_CONFIGURATION
    if status in (401, 403):
        return Exit.NOT_AUTHORISED
    return _EXITS.get(str(error.get("code")), Exit.FINDINGS)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Connect.

        Raises:
            OSError: There is no such socket, or nobody listens on it.
        """
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _PinnedConnection(http.client.HTTPSConnection):
    """HTTPS to a hub that shows one certificate, whoever signed it; nothing is sent to another."""

    def __init__(self, hub: RemoteHome, fingerprint: bytes, timeout_s: float) -> None:
        context = unverified_tls()
        super().__init__(hub.host, hub.port, timeout=timeout_s, context=context)
        self._fingerprint = fingerprint

    def connect(self) -> None:
        """Connect.

        Raises:
            OSError: It cannot be reached, or shows another certificate.
        """
        super().connect()
        check_pin(cast(ssl.SSLSocket, self.sock).getpeercert(binary_form=True), self._fingerprint)


class HubClient:
    """A client of the hub that runs on a home directory, or elsewhere.

    Args:
        home: The home directory; or a `RemoteHome`.

    Raises:
        CommandFailed: No hub runs there, and the message says how to start one; or it has been starting for too long.
    """

    def __init__(self, home: Path | RemoteHome) -> None:
        self._home = home
        self._running = None if isinstance(home, RemoteHome) else wait_for_hub(home)

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = CALL_LIMIT_S) -> Any:
        """Call a gateway method and return its payload.

        Raises:
            CallFailed: The hub answered with an error.
            CommandFailed: It did not answer, or the method is of an integration that is not in use.
        """
        response = self._post("/api/rpc", {"method": method, "params": dict(params or {})}, {}, timeout_s)
        try:
            text = response.read(ANSWER_LIMIT_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error, timeout_s) from error
        finally:
            response.close()
            self._connection.close()
        answer = self._json(text)
        if response.status != 200 or not answer.get("ok", True):
            failed = answer.get("error", {})
            if failed.get("message") == f"unknown method: {method}":
                self._refuse_unused(method.partition(".")[0])
            raise CallFailed(failed, response.status)
        return answer.get("payload")

    def _refuse_unused(self, domain: str) -> None:
        from hub.integration.catalog import find

        found = find(None if isinstance(self._home, RemoteHome) else self._home).get(domain)
        if found is not None and found.manifest is not None:
            name, page = found.manifest.name, found.manifest.documentation
            advice = f"write {domain}: into configuration.yaml ({page})"
            raise CommandFailed(f"{name} is not in use here: {advice}", Exit.USAGE)

    def stream(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], *, timeout_s: float
    ) -> Generator[dict[str, Any], None, None]:
        """Post a request that is answered with server-sent events and yield their data.

        Closing the iterator closes the connection, which stops what was asked for.
        """
        response = self._post(path, body, headers, timeout_s)
        try:
            if response.status != 200:
                raise CallFailed(self._json(response.read()).get("error", {}), response.status)
            for line in response:
                if line.startswith(b"data: ") and line[6:].strip() != b"[DONE]":
                    yield self._json(line[6:])
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error, timeout_s) from error
        finally:
            response.close()
            self._connection.close()

    def _post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], timeout_s: float
    ) -> http.client.HTTPResponse:
        try:
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError as error:
            raise CommandFailed(
                "The input is not UTF-8 text; check the terminal's encoding.",
                Exit.USAGE,
            ) from error
        except ValueError as error:
            raise CommandFailed("A number is not finite (nan, inf), and cannot be sent.", Exit.USAGE) from error
        try:
            self._connection, credential = self._connected(timeout_s)
            prefix = self._home.prefix if isinstance(self._home, RemoteHome) else ""
            self._connection.request(
                "POST", prefix + path, data, {"Content-Type": "application/json", **credential, **headers}
            )
            return self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error, timeout_s) from error

    def _connected(self, timeout_s: float) -> tuple[http.client.HTTPConnection, dict[str, str]]:
        """Return a connection and the headers that authenticate on it."""
        if isinstance(self._home, RemoteHome) or self._running is None:
            return _remote_connection(cast(RemoteHome, self._home), timeout_s)
        local = _UnixConnection(self._home / SOCKET, timeout_s)
        try:
            local.connect()
        except OSError:
            local.close()
        else:
            return local, {}
        host = EVERYWHERE.get(self._running.host) or str(self._running.host)
        credential = {"Authorization": f"Bearer {hub_token(self._home).reveal()}"}
        if not self._running.tls:
            return http.client.HTTPConnection(host, self._running.port, timeout=timeout_s), credential
        context = unverified_tls()
        return http.client.HTTPSConnection(host, self._running.port, timeout=timeout_s, context=context), credential

    def _unreachable(self, error: Exception, timeout_s: float) -> CommandFailed:
        if isinstance(error, TimeoutError):
            return CommandFailed(f"The hub did not answer within {timeout_s:g} s.", Exit.NOT_REACHABLE)
        if isinstance(self._home, RemoteHome) or self._running is None:
            return CommandFailed(
                f"The hub at {self._home} cannot be reached: {str(error) or type(error).__name__}.", Exit.NOT_REACHABLE
            )
        return CommandFailed(
            f"The hub on {self._home} (process {self._running.pid}) cannot be reached at {self._running.address}: "
            f"{str(error) or type(error).__name__}. Is it still there? {command_on(self._home, 'homarus doctor')}",
            Exit.NOT_REACHABLE,
        )

    def _json(self, text: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {"error": {"code": "BAD_ANSWER", "message": text[:200].decode(errors="replace")}}
        return answer if isinstance(answer, dict) else {"payload": answer}


def _remote_connection(hub: RemoteHome, timeout_s: float) -> tuple[http.client.HTTPConnection, dict[str, str]]:
    credential = {"Authorization": f"Bearer {hub.token.reveal()}"}
    if hub.fingerprint is not None:
        return _PinnedConnection(hub, hub.fingerprint, timeout_s), credential
    kind = http.client.HTTPSConnection if hub.tls else http.client.HTTPConnection
    return kind(hub.host, hub.port, timeout=timeout_s), credential


def wait_for_hub(home: Path) -> Running:
    """Return the running hub of `home`, waiting while it starts."""
    deadline = time.monotonic() + START_LIMIT_S
    while (running := read_running(home)) is not None:
        if running.port is not None:
            return running
        if time.monotonic() > deadline:
            raise CommandFailed(
                f"The hub on {home} (process {running.pid}) has been starting for a while and does not listen yet. "
                "Its log says why: homarus logs.",
                Exit.NOT_REACHABLE,
            )
        time.sleep(LOOK_AGAIN_S)
    raise CommandFailed(
        f"No hub runs on {home}. Start one with: {command_on(home, 'homarus start')}", Exit.NOT_REACHABLE
    )
