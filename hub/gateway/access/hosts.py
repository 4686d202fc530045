"""Origin and destination of a request: Host, Origin, forwarded headers. Pure functions."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from functools import lru_cache

from hub.gateway.calls.settings import Network

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_FORWARDING = re.compile(
    r"^(?:x-forwarded|x-real|x-original|forwarded|via|cf-|tailscale-"
    r"|x-client-ip|x-cluster-client-ip|x-envoy-|true-client-ip|fly-|fastly-|cdn-loop)",
    re.IGNORECASE | re.MULTILINE,
)
"""What the headers begin with by which proxies show themselves."""
_FETCHED = re.compile(r"^sec-fetch-", re.IGNORECASE | re.MULTILINE)
FORWARDED_HOPS_LIMIT = 32

_HOST = re.compile(r"^(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,255}))(?::([0-9]{1,5}))?$")
_ORIGIN = re.compile(r"^(https?)://([^/?#@\s]{1,270})$")


@lru_cache(maxsize=256)
def split_host(value: str) -> tuple[str, int | None] | None:
    """Return name (lower case, no brackets, no final dot) and port of a Host header, or None when it is malformed."""
    match = _HOST.match(value)
    if match is None:
        return None
    name = (match[1] or match[2]).lower()
    if match[1] is not None:
        try:
            name = str(ipaddress.IPv6Address(name))
        except ValueError:
            return None
    port = int(match[3]) if match[3] else None
    if port is not None and port > 65_535:
        return None
    return name.removesuffix("."), port


def host_allowed(host: str, socket_address: str, names: frozenset[str]) -> bool:
    """Whether a Host header names this hub: loopback names, the accepted socket's own address, or one of `names`."""
    split = split_host(host)
    return split is not None and (split[0] in LOOPBACK_NAMES or split[0] == socket_address or split[0] in names)


def is_loopback_host(host: str) -> bool:
    """Whether a Host header is a loopback name or address."""
    split = split_host(host)
    return split is not None and (split[0] in LOOPBACK_NAMES or is_loopback(split[0]))


def same_origin(origin: str, scheme: str, host: str) -> bool:
    """Whether an Origin header is the one of the request itself."""
    match = _ORIGIN.match(origin)
    ours = split_host(host)
    if match is None or ours is None or match[1] != scheme:
        return False
    theirs = split_host(match[2])
    default = 443 if scheme == "https" else 80
    return theirs is not None and theirs[0] == ours[0] and (theirs[1] or default) == (ours[1] or default)


@lru_cache(maxsize=1024)
def plain_address(address: str) -> str:
    """Return an IP address in its plain form: no zone, IPv4-mapped as IPv4; anything else is returned unchanged."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(parsed)


@lru_cache(maxsize=1024)
def is_loopback(address: str) -> bool:
    """Whether a peer address is this machine's loopback."""
    try:
        return ipaddress.ip_address(plain_address(address)).is_loopback
    except ValueError:
        return False


def is_trusted_proxy(address: str, proxies: Sequence[Network]) -> bool:
    """Whether a peer is one of the proxies whose forwarded headers count."""
    if not proxies:
        return False
    try:
        parsed = ipaddress.ip_address(plain_address(address))
    except ValueError:
        return False
    return any(parsed.version == network.version and parsed in network for network in proxies)


def has_forwarding(headers: Mapping[str, str]) -> bool:
    """Whether a proxy forwarded the request, or a header claims so."""
    return _FORWARDING.search("\n".join(headers)) is not None


def by_browser(headers: Mapping[str, str]) -> bool:
    """Whether a browser declares that it fetches for a page."""
    return _FETCHED.search("\n".join(headers)) is not None


def client_address(peer: str, forwarded_for: str, proxies: Sequence[Network], *, trusted: bool) -> str:
    """Return the client's address: the peer's own, or what trusted proxies say in X-Forwarded-For, from the right.

    The first address from the right that is not a trusted proxy is the client; anything left of it may be invented.
    A malformed entry ends the reading at the proxy that passed it on.

    Args:
        trusted: Whether the peer is a trusted proxy itself.
    """
    peer = plain_address(peer)
    if not trusted:
        return peer
    hops = [hop.strip() for hop in forwarded_for.split(",") if hop.strip()]
    found = peer
    for hop in reversed(hops[-FORWARDED_HOPS_LIMIT:]):
        try:
            found = plain_address(str(ipaddress.ip_address(hop.strip("[]"))))
        except ValueError:
            return found
        if not is_trusted_proxy(found, proxies):
            return found
    return found


def forwarded_scheme(headers: Mapping[str, str], own: str, *, trusted: bool) -> str:
    """Return the scheme the browser used: our own, or the one that a trusted proxy reports."""
    if not trusted:
        return own
    said = headers.get("X-Forwarded-Proto", "").rpartition(",")[2].strip().lower()
    return said if said in ("http", "https") else own


def own_names() -> frozenset[str]:
    """Return the machine's names, lower case: its host name, and that under `.local`."""
    name = socket.gethostname().lower().removesuffix(".")
    short = name.partition(".")[0]
    return frozenset(each for each in (name, short, f"{short}.local") if each and each != ".local")


def lan_address() -> str:
    """Return the address of this machine in its network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
