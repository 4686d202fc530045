"""The listening sockets of the gateway: its address, loopback, the Unix sockets of the hub's user and of a proxy."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.gateway.access import unix_socket
from hub.gateway.access.guard import GuardedServer
from hub.gateway.access.guarded_socket import AUTH_LIMIT_S
from hub.gateway.access.start_check import StartRefused, tls_context
from hub.gateway.calls.schema import DEFAULT_HOST
from hub.gateway.calls.settings import HttpSettings

_log = logging.getLogger(__name__)

BACKLOG = 512


class Listeners:
    """The listening sockets of the gateway."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._servers: list[asyncio.Server] = []

    async def open(self, protocol: GuardedServer) -> tuple[str, int]:
        """Start listening; return the host and port at which this machine reaches the gateway.

        Raises:
            StartRefused: TLS cannot be used, or a port or socket cannot be had; nothing listens then.
        """
        try:
            return await self._open(protocol)
        except StartRefused:
            self.close()
            raise

    def close(self) -> None:
        """Stop listening."""
        for server in self._servers:
            server.close()
        self._servers.clear()

    async def _open(self, protocol: GuardedServer) -> tuple[str, int]:
        settings = self._settings
        if settings.in_worker is not None:
            await self._listen_locally(protocol)
            await self._listen_for_front(protocol, settings.in_worker.socket)
            return settings.host, settings.port
        tls = tls_context(settings)
        port = await self._listen(protocol, settings.host, settings.port, tls)
        address = settings.host, port
        if settings.lacks_loopback:
            # The hub token works on loopback only: the command line must find the hub there too.
            await self._listen(protocol, DEFAULT_HOST, port, tls)
            address = DEFAULT_HOST, port
        await self._listen_locally(protocol)
        await self._listen_for_proxy(protocol)
        return address

    async def _listen(self, protocol: GuardedServer, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        try:
            limit_s = AUTH_LIMIT_S if tls is not None else None
            server = await loop.create_server(
                protocol, host, port, ssl=tls, backlog=BACKLOG, ssl_handshake_timeout=limit_s
            )
        except OSError as error:
            raise StartRefused(
                f"cannot listen on {host} port {port}: {error.strerror or error}. "
                "Set `http: port:` or `http: host:` in configuration.yaml, or stop the program that listens there."
            ) from error
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def _listen_locally(self, protocol: GuardedServer) -> None:
        """Listen on the Unix socket; without one, the hub is reached over TCP alone."""
        if self._settings.socket_path is None:
            return
        try:
            made = unix_socket.listen(self._settings.socket_path)
        except OSError as error:
            _log.warning("no Unix socket at %s: %s", self._settings.socket_path, error.strerror or error)
            return
        if made is not None:
            server = await asyncio.get_running_loop().create_unix_server(protocol, sock=made, backlog=BACKLOG)
            self._servers.append(server)

    async def _listen_for_front(self, protocol: GuardedServer, path: Path) -> None:
        try:
            made = unix_socket.listen(path)
        except OSError as error:
            raise StartRefused(f"cannot listen on {path} for the front door: {error.strerror or error}") from error
        if made is None:
            raise StartRefused(f"{path} is too long for a socket; give the worker a shorter folder for its sockets")
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_unix_server(protocol.of_front, sock=made, backlog=BACKLOG))

    async def _listen_for_proxy(self, protocol: GuardedServer) -> None:
        if self._settings.proxy_socket is None:
            return
        path, group = self._settings.proxy_socket
        try:
            made = unix_socket.listen_for_proxy(path, group)
        except OSError as error:
            raise StartRefused(
                f"cannot listen on {path}: {error.strerror or error} (http.auth.proxy_socket)"
            ) from error
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_unix_server(protocol.of_proxy, sock=made, backlog=BACKLOG))


def tell_lacks_tailnet(settings: HttpSettings, repairs: Repairs, owner: str) -> None:
    """Raise or clear the repair about a machine that has no address in a tailnet."""
    if settings.tailnet is not False:
        repairs.clear(owner, "no_tailnet")
        return
    repairs.raise_(
        owner,
        "no_tailnet",
        phrase("Tailscale gave this machine no address"),
        phrase(
            "`http: host:` is tailnet, and the hub listens on this machine alone. Start Tailscale (`tailscale up`), "
            "and then the hub again. In a container without the network of its machine there is no such address."
        ),
        severity=Severity.WARNING,
        location={"path": "http.host"},
    )


def tell_plain_http(settings: HttpSettings, repairs: Repairs, owner: str) -> None:
    """Raise or clear the repair about plain HTTP beyond this machine."""
    if settings.loopback or settings.tls or settings.tailnet:
        repairs.clear(owner, "plain_http")
        return
    repairs.raise_(
        owner,
        "plain_http",
        phrase("The hub is served over plain HTTP"),
        phrase(
            "It listens on {host} without TLS, so anyone on the network can read tokens and chats. Set "
            "`{setting}`, or keep `{local}` and put a reverse proxy with TLS in front.",
            host=settings.host,
            setting="http: tls: {certificate: FILE, key: FILE}",
            local="http: host: 127.0.0.1",
        ),
        severity=Severity.WARNING,
        location={"path": "http.tls"},
    )
