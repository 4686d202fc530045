"""The kind of installation that this is, which decides how it is updated."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from hub.core.container import MARKS, in_container
from hub.core.phrases import phrase
from hub.update.record import base_environment


class Kind(StrEnum):
    """Kinds of installations."""

    CHECKOUT = "checkout"
    WHEEL = "wheel"
    CONTAINER = "container"
    OTHER = "other"


class Place(Struct, frozen=True):
    """An installation.

    Attributes:
        base: The environment that Homarus was installed into.
        checkout: The git clone, of a checkout.
        why_not: Why it cannot replace itself, and what to do instead; empty when it can.
    """

    kind: Kind
    base: Path
    checkout: Path | None = None
    why_not: str = ""


def find_place(base: Path | None = None, marks: Sequence[str] = MARKS) -> Place:
    """Return the installation that this process runs from.

    Args:
        base: Its environment; that of this process by default.
        marks: Files that only containers have.
    """
    base = base or base_environment()
    in_checkout = (base.parent / "script/setup").is_file()
    if in_checkout and (base.parent / ".git").exists():
        return Place(Kind.CHECKOUT, base, base.parent)
    if in_container(marks):
        told = phrase(
            "The hub runs in a container, which is replaced as a whole. Make a backup, then in the clone that the "
            "image is built from: git pull && docker compose up --detach --build. The home stays."
        )
        return Place(Kind.CONTAINER, base, None, told)
    if in_checkout:
        told = phrase(
            "{folder} is no git clone, so it has no later versions. Clone the repository, and start the hub from there "
            "on the same home.",
            folder=base.parent,
        )
        return Place(Kind.OTHER, base, None, told)
    if not (base / "pyvenv.cfg").is_file():
        told = phrase(
            "Homarus is installed into the Python of this system, which only its package manager may change. Update it "
            "with that, or install it into an environment of its own."
        )
        return Place(Kind.OTHER, base, None, told)
    return Place(Kind.WHEEL, base)
