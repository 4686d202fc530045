"""Where the hub listens: the sockets that its process has, as the system lists them."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

LISTENS = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")
PROCESSES_LIMIT = 4_000
_ELSEWHERE = ("192.0.2.1", 9)
"""An address of documentation: choosing a way to it sends nothing."""


class Listener(Struct, frozen=True):
    """A TCP address that accepts connections.

    Attributes:
        host: The address; 0.0.0.0 or :: for all.
        is_gateway: Whether it is the hub's own port, for dashboard and API.
        tls: Whether the gateway speaks HTTPS.
    """

    host: str
    port: int
    is_gateway: bool = False
    tls: bool = False

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def reached_at(self) -> str:
        """An address that it is reached at: its own, or the one by which this machine is known."""
        if not ipaddress.ip_address(self.host).is_unspecified:
            return self.host
        return lan_address() or "127.0.0.1"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def lan_address() -> str | None:
    """Return this machine's address in its network; None without one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if ipaddress.ip_address(found).is_loopback else found


def find_listeners(pid: int, gateway: tuple[str, int, bool] | None, proc: Path = Path("/proc")) -> tuple[Listener, ...]:
    """Return where a process and its children listen; the gateway alone where the system does not say.

    Args:
        pid: The hub.
        gateway: Host and port of its gateway, and whether it speaks TLS.
        proc: Where the system describes its processes.
    """
    found: dict[tuple[str, int], Listener] = {}
    if gateway is not None:
        host, port, tls = gateway
        found[host, port] = Listener(host, port, True, tls)
    for host, port in _addresses(pid, proc):
        own = gateway is not None and port == gateway[1]
        found.setdefault((host, port), Listener(host, port, own, own and gateway is not None and gateway[2]))
    return tuple(sorted(found.values(), key=lambda each: (not each.is_gateway, each.port, each.host)))


def _addresses(pid: int, proc: Path) -> Iterator[tuple[str, int]]:
    family = _family(pid, proc)
    inodes = {inode for each in family for inode in _sockets(proc / str(each))}
    for name, width in (("tcp", 8), ("tcp6", 32)):
        try:
            lines = (proc / str(pid) / "net" / name).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == LISTENS and fields[9] in inodes:
                address, _, port = fields[1].partition(":")
                yield _address(address, width), int(port, 16)


def _address(text: str, width: int) -> str:
    """Return an address of the kernel's table, whose words are in the machine's order."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, width, 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def _sockets(folder: Path) -> Iterator[str]:
    try:
        entries = os.listdir(folder / "fd")
    except OSError:
        return
    for entry in entries:
        try:
            match = _SOCKET.fullmatch(os.readlink(folder / "fd" / entry))
        except OSError:
            continue
        if match:
            yield match[1]


def _family(pid: int, proc: Path) -> set[int]:
    """Return a process and its descendants, as far as they are in its network."""
    parents: dict[int, int] = {}
    try:
        names = [name for name in os.listdir(proc) if name.isdigit()][:PROCESSES_LIMIT]
    except OSError:
        return {pid}
    for name in names:
        try:
            stat = (proc / name / "stat").read_text(encoding="utf-8", errors="replace")
            parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    family, size = {pid}, 0
    while size != len(family):
        size = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    own = _network(proc / str(pid))
    return {each for each in family if each == pid or _network(proc / str(each)) == own}


def _network(folder: Path) -> str:
    try:
        return os.readlink(folder / "ns" / "net")
    except OSError:
        return ""
