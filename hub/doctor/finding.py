"""Findings of the doctor, and the checks that report them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from hub.core.repairs import Severity
from hub.doctor.check_context import CheckContext

Mend = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem to fix.

    Attributes:
        severity: How bad it is.
        what: The problem and its consequence, in a sentence.
        where: The file, key or address.
        command: The command that fixes it; may be empty.
        mend: Fixes it; only for permissions, which `--fix` sets.
    """

    severity: Severity
    what: str
    where: str = ""
    command: str = ""
    mend: Mend | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The finding as `homarus doctor --json` prints it."""
        return {
            "severity": self.severity.value,
            "what": self.what,
            "where": self.where,
            "command": self.command,
            "fixable": self.mend is not None,
        }


class Check(Struct, frozen=True):
    """One check of the doctor.

    Attributes:
        name: Short, stable.
        title: The title shown to people.
        look: Returns what it finds; changes nothing.
        tell: Returns what is worth knowing where nothing is wrong.
        needs_home: Whether it makes sense only when the home directory is there.
    """

    name: str
    title: str
    look: Callable[[CheckContext], Iterable[Finding]]
    tell: Callable[[CheckContext], Iterable[str]] | None = None
    needs_home: bool = True


def critical(what: str, where: str = "", command: str = "") -> Finding:
    """Return a finding that keeps the hub from running, or opens it to others."""
    return Finding(Severity.CRITICAL, what, where, command)


def error(what: str, where: str = "", command: str = "", mend: Mend | None = None) -> Finding:
    """Return a finding about something that does not work."""
    return Finding(Severity.ERROR, what, where, command, mend)


def warning(what: str, where: str = "", command: str = "", mend: Mend | None = None) -> Finding:
    """Return a warning."""
    return Finding(Severity.WARNING, what, where, command, mend)
