"""Tailscale on this machine: its address in the tailnet, and what Tailscale Serve and Funnel lead to.

Source: https://tailscale.com/kb/1242/tailscale-serve, and `ServeConfig` in ipn/serve.go of tailscale/tailscale, which
`tailscale serve status --json` prints.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Set
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

ADDRESSES = ipaddress.ip_network("100.64.0.0/10")
SERVICE_ADDRESS = "100.100.100.100"
"""Of Tailscale's own services; packets to it leave from the machine's address in the tailnet."""
INTERFACE = "tailscale"
SIOCGIFADDR = 0x8915
PROGRAM_LIMIT_S = 5.0


class ServedName(Struct, frozen=True):
    """A name under which Tailscale forwards to a port of this machine.

    Attributes:
        name: Such as `hub.tail1234.ts.net`.
        public: Whether the whole internet reaches it (Funnel), and not the tailnet alone (Serve).
    """

    name: str
    public: bool


def tailnet_address() -> str | None:
    """Return the IPv4 address of this machine in its tailnet, or None; nothing is sent to find it.

    Internet providers use the same range, so on Linux the interface must be Tailscale's.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        if sys.platform == "linux":
            names = [name for _, name in socket.if_nameindex() if name.startswith(INTERFACE)]
            found = [_interface_address(probe, name) for name in names]
        else:
            try:
                probe.connect((SERVICE_ADDRESS, 9))
            except OSError:
                return None
            found = [str(probe.getsockname()[0])]
    return next((each for each in found if each and ipaddress.ip_address(each) in ADDRESSES), None)


def served_names(port: int) -> list[ServedName]:
    """Return the names under which Tailscale forwards to `port` here; none where its program is missing or fails."""
    argv = ("tailscale", "serve", "status", "--json")
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PROGRAM_LIMIT_S, check=True)
        told = json.loads(done.stdout or b"{}")
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    # Without --bg the command serves in a part of its own, for as long as it runs.
    parts = [told, *_mapping(told, "Foreground").values()]
    public = {
        address for part in parts for address, allowed in _mapping(part, "AllowFunnel").items() if allowed is True
    }
    parts += [service for part in parts for service in _mapping(part, "Services").values()]
    addresses = [address for part in parts for address in _addresses(part, port, public)]
    shown = {_name(each) for each in addresses if each in public}
    return [ServedName(each, each in shown) for each in sorted({_name(each) for each in addresses})]


def _addresses(part: Any, port: int, public: Set[str]) -> Iterator[str]:
    """Return each `name:port` of Tailscale that leads to `port` here, as web pages or as bytes.

    Bytes whose TLS is not ended by Tailscale have no name here, unless Funnel has one for them.
    """
    for address, site in _mapping(part, "Web").items():
        if any(_port_of(_text(handler, "Proxy")) == port for handler in _mapping(site, "Handlers").values()):
            yield address
    for outer, handler in _mapping(part, "TCP").items():
        if _port_of(f"tcp://{_text(handler, 'TCPForward')}") == port:
            name = _text(handler, "TerminateTLS")
            yield from [f"{name}:{outer}"] if name else [each for each in public if each.endswith(f":{outer}")]


def _interface_address(probe: socket.socket, name: str) -> str | None:
    try:
        answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
    except OSError:
        return None  # it has no address now
    return socket.inet_ntoa(answer[20:24])


def _port_of(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _name(address: str) -> str:
    return address.rpartition(":")[0]


def _text(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}
