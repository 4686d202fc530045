"""Whether the hub runs in a container, and what it sees of its machine then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman mark a container."""
INTERFACES = Path("/sys/class/net")


def in_container(marks: Sequence[str] = MARKS) -> bool:
    """Return whether the hub runs in a container of Docker or Podman."""
    return any(Path(each).exists() for each in marks)


def has_own_network(interfaces: Path = INTERFACES, marks: Sequence[str] = MARKS) -> bool:
    """Return whether the container has a network of its own, and does not see that of its machine.

    Its interface is then one end of a pair, and the other end is not in this network.
    """
    if not in_container(marks):
        return False
    ends = {(_number(each / "ifindex"), _number(each / "iflink")) for each in interfaces.glob("*")}
    here = {own for own, _ in ends}
    return any(other not in here for _, other in ends)


def _number(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))
