"""The `http` section as typed values."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.secret import Secret
from hub.gateway.calls.schema import AUTO, DEFAULT_HOST, DEFAULT_PORT, HTTP_SCHEMA, TAILNET, TAILNET_WORDS
from hub.storage.homedir import Home, WorkerPlace

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class AuthMode(StrEnum):
    """How people and programs authenticate."""

    TOKEN = "token"  # noqa: S105  the name of a mode
    PASSWORD = "password"  # noqa: S105
    TRUSTED_PROXY = "trusted_proxy"
    NONE = "none"


class GatewayLimits(Struct, frozen=True):
    """Bounds; the last is bytes of output that may wait for one client, the others count connections."""

    sockets: int = 32
    sockets_per_address: int = 8
    connections: int = 1000
    connections_per_credential: int = 64
    buffer_bytes: int = 52_428_800


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """The `http` section.

    Attributes:
        host: IP address to listen on.
        tailnet: Whether it is the address in the tailnet, which encrypts by itself; False when that was asked for, and
            this machine has none: it is loopback then. None for any other address.
        port: TCP port; 0 lets the system choose.
        mode: How to sign in.
        password: The shared password (or its argon2id hash), for mode password.
        user_header: Where a trusted proxy names the person.
        proxy_secret: By which a trusted proxy shows that it is the proxy.
        proxy_socket: Where a trusted proxy connects instead, and the group of the system that may open it too.
        tls: Certificate and key files.
        allowed_hosts: Further Host names, lower case.
        cors_origins: Origins whose pages may call `/v1`.
        trusted_proxies: Networks whose forwarded headers count.
        limits: Bounds.
        socket_path: Where to listen for the hub's own user, beside TCP.
        in_worker: The home's place in a worker, whose front door listens on TCP instead.
    """

    host: str = DEFAULT_HOST
    tailnet: bool | None = None
    port: int = DEFAULT_PORT
    mode: AuthMode = AuthMode.TOKEN
    password: Secret | None = field(default=None, repr=False)
    user_header: str = "X-Forwarded-User"
    proxy_secret: Secret | None = None
    proxy_socket: tuple[Path, str | None] | None = None
    tls: tuple[Path, Path] | None = None
    allowed_hosts: frozenset[str] = frozenset()
    cors_origins: frozenset[str] = frozenset()
    trusted_proxies: tuple[Network, ...] = ()
    limits: GatewayLimits = field(default_factory=GatewayLimits)
    socket_path: Path | None = None
    in_worker: WorkerPlace | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def lacks_loopback(self) -> bool:
        """Whether the address is in the LAN, so that loopback is not served."""
        address = ipaddress.ip_address(self.host)
        return not (address.is_loopback or address.is_unspecified)

    @classmethod
    def from_config(
        cls,
        section: Mapping[str, Any] | None,
        directory: Path,
        *,
        host: str | None = None,
        port: int | None = None,
        in_worker: WorkerPlace | None = None,
    ) -> HttpSettings:
        """Read a validated `http` section; without one, the defaults.

        Args:
            section: The section as `HTTP_SCHEMA` gives it, or as written.
            directory: The base of relative file names.
            host, port: From the command line, over the section.
            in_worker: The home's place in a worker.
        """
        valid = HTTP_SCHEMA(dict(section or {}))
        wanted = host if host is not None else valid["host"]
        found: str | None = wanted
        if wanted in TAILNET_WORDS:
            from hub.gateway.access.tailscale import tailnet_address

            found = tailnet_address()
        tls, socket = valid.get("tls"), valid["auth"].get("proxy_socket")
        return cls(
            host=found or DEFAULT_HOST,
            tailnet=found is not None if wanted == TAILNET else (wanted == AUTO and found is not None) or None,
            port=port if port is not None else valid["port"],
            mode=AuthMode(valid["auth"]["mode"]),
            password=valid["auth"].get("password"),
            user_header=valid["auth"]["user_header"],
            proxy_secret=valid["auth"].get("proxy_secret"),
            proxy_socket=(directory / socket, valid["auth"].get("proxy_group")) if socket else None,
            tls=(directory / tls["certificate"], directory / tls["key"]) if tls else None,
            allowed_hosts=frozenset(valid["allowed_hosts"]),
            cors_origins=frozenset(valid["cors_origins"]),
            trusted_proxies=tuple(ipaddress.ip_network(each) for each in valid["trusted_proxies"]),
            limits=GatewayLimits(**valid["limits"]),
            socket_path=Home(directory).socket,
            in_worker=in_worker,
        )
