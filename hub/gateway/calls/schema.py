"""Configuration of the gateway: `http:`."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from hub.config.sections import Section
from hub.core.lazy_pattern import LazyPattern
from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    integer,
    own_secret,
    path,
    port,
    secret,
    string,
)

DEFAULT_HOST = "127.0.0.1"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  only where the configuration says `lan`
DEFAULT_PORT = 18789
TAILNET, AUTO = "tailnet", "auto"
TAILNET_WORDS = (TAILNET, AUTO)
AUTH_MODES = ("token", "password", "trusted_proxy", "none")
RESTART_KEYS = frozenset({"host", "port", "auth", "tls", "limits"})

_HOST_NAME = LazyPattern(r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?$")
_ORIGIN = LazyPattern(r"^https?://[A-Za-z0-9.:\[\]-]{1,260}$", re.IGNORECASE)
_HEADER = LazyPattern(r"^[A-Za-z0-9-]{1,64}$")


def bind_address(value: Any) -> str:
    """Accept an IP address to listen on, or a word: the address of `tailnet` and `auto` is found at the start."""
    if value in ("localhost", "loopback"):
        return DEFAULT_HOST
    if value == "lan":
        return EVERY_ADDRESS
    if value in TAILNET_WORDS:
        return str(value)
    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError:
        raise Invalid(
            "expected an IP address to listen on, or a word: loopback (127.0.0.1, this machine alone), lan (0.0.0.0), "
            "tailnet (its address in Tailscale), auto (the same, where there is Tailscale)"
        ) from None


def serves_network(section: Any) -> bool:
    """Whether an `http` section, checked or as written, serves the network: not this machine alone, nor a tailnet."""
    try:
        return not ipaddress.ip_address(bind_address(section["host"])).is_loopback
    except (LookupError, TypeError, ValueError, Invalid):
        return False


def host_name(value: Any) -> str:
    """Accept a host name or IP address as in an address bar, without scheme and port."""
    if isinstance(value, str):
        bare = value.strip("[]")
        if _HOST_NAME.match(bare):
            return bare.lower()
        try:
            return str(ipaddress.ip_address(bare))
        except ValueError:
            pass
    raise Invalid("expected a host name or an IP address without scheme and port, such as homarus.example.org")


def web_origin(value: Any) -> str:
    """Accept the origin of a web page: scheme, host and perhaps a port."""
    if isinstance(value, str) and _ORIGIN.match(value):
        return value.lower()
    raise Invalid("expected an origin without a path, such as https://chat.example.org or http://localhost:5173")


def network(value: Any) -> str:
    """Accept an IP address or a network such as 172.16.0.0/12."""
    try:
        return str(ipaddress.ip_network(value if isinstance(value, str) else "", strict=False))
    except ValueError:
        raise Invalid("expected an IP address or a network such as 172.16.0.0/12") from None


def header_name(value: Any) -> str:
    """Accept the name of an HTTP header."""
    if isinstance(value, str) and _HEADER.match(value):
        return value
    raise Invalid("expected the name of an HTTP header, such as X-Forwarded-User")


AUTH_SCHEMA = Schema(
    {
        Optional(
            "mode",
            default="token",
            description="How people and programs prove who they are: token (the hub token on this machine, scoped "
            "tokens elsewhere), password (the same, and a password), trusted_proxy (a proxy names the person), none "
            "(only on 127.0.0.1: whoever can reach the port is the owner).",
        ): In(list(AUTH_MODES)),
        Optional("password", description="For mode password; the text itself or an argon2id hash of it."): secret,
        Optional(
            "user_header",
            default="X-Forwarded-User",
            description="For mode trusted_proxy: the header with the person's id.",
        ): header_name,
        Optional(
            "proxy_secret",
            description="For mode trusted_proxy: what the proxy sends in X-Homarus-Proxy-Secret, so that nobody "
            "else on its machine can name a person.",
        ): own_secret(),
        Optional(
            "proxy_socket",
            description="For mode trusted_proxy, instead of the secret: the Unix socket on which the proxy connects; "
            "relative to the home. Only the hub's user and root may open it.",
        ): path,
        Optional("proxy_group", description="A group of the system that may open the socket of the proxy too."): All(
            string, Length(min=1, max=64)
        ),
    }
)

LIMITS_SCHEMA = Schema(
    {
        Optional("sockets", default=32, description="Connections that have not shown a credential yet, in all."): All(
            integer, Range(min=4, max=4096)
        ),
        Optional("sockets_per_address", default=8, description="The same, from one address."): All(
            integer, Range(min=2, max=4096)
        ),
        Optional("connections", default=1000, description="Connections in all."): All(
            integer, Range(min=16, max=100_000)
        ),
        Optional("connections_per_credential", default=64, description="Connections of one token or device."): All(
            integer, Range(min=2, max=100_000)
        ),
        Optional(
            "buffer_bytes",
            default=52_428_800,
            description="Output that may wait for one slow client before it is closed.",
        ): All(integer, Range(min=1_048_576, max=1_073_741_824)),
    }
)

HTTP_SCHEMA = Schema(
    {
        Optional(
            "host",
            default=DEFAULT_HOST,
            description="Address to listen on: an IP address; loopback, for this machine alone; lan, 0.0.0.0, which "
            "needs auth; tailnet, also this machine's address in Tailscale; auto, the same where there is one.",
        ): bind_address,
        Optional("port", default=DEFAULT_PORT, description="TCP port of everything; 0 lets the system choose."): port,
        Optional("auth", default=dict, description="How to sign in."): AUTH_SCHEMA,
        Optional("tls", description="Certificate and key files (PEM) to serve HTTPS."): {
            Required(
                "certificate", description="Certificate, with those that vouch for it; relative to the home."
            ): path,
            Required("key", description="Its private key; relative to the home."): path,
        },
        Optional("allowed_hosts", default=list, description="Further names by which browsers may reach the hub."): [
            host_name
        ],
        Optional(
            "cors_origins",
            default=list,
            description="Web pages of other origins that may call /v1 with a token of their own, such as "
            "https://chat.example.org.",
        ): [web_origin],
        Optional(
            "trusted_proxies", default=list, description="Proxies whose forwarded headers count, by address or network."
        ): [network],
        Optional("limits", default=dict, description="Bounds of the gateway."): LIMITS_SCHEMA,
    }
)

SECTIONS = (
    Section(
        "http",
        HTTP_SCHEMA,
        critical=True,
        default={},
        description="Where the hub listens and who may come in.",
        restart_keys=RESTART_KEYS,
    ),
)
