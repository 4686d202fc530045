"""What an audit finds, and the checks that find it: one row each, in a registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.config.paths import KeyPath, format_path
from hub.core.phrases import Phrase, in_series, phrase

if TYPE_CHECKING:
    from hub.doctor.audit.audit_context import AuditContext


class AuditSeverity(StrEnum):
    """How bad a weakness is."""

    CRITICAL = "critical"
    """Somebody who should not can act for the owner, or read what is the owner's."""
    WARNING = "warning"
    """One more mistake, or somebody on the same network, is enough."""
    NOTE = "note"
    """Worth knowing; it may well be meant."""


RANK = {AuditSeverity.CRITICAL: 0, AuditSeverity.WARNING: 1, AuditSeverity.NOTE: 2}


class Spot(Struct, frozen=True):
    """A place where a check found something.

    Attributes:
        what: What is so, in a sentence.
        keys: Where it is in the configuration, as the files have it.
        file: The file or folder, where it is none of the configuration; relative to the home where it is in it.
        line: Of that file.
        severity: When it is not the check's own.
        edits: What mends it in the configuration: values by their place; `REMOVED` takes one away.
        to_secret: The name in secrets.yaml that the value at `keys` is moved to.
        narrow: Files and folders whose rights for others are taken away.
        command: What mends it otherwise.
    """

    what: str
    keys: KeyPath = ()
    file: str = ""
    line: int | None = None
    severity: AuditSeverity | None = None
    edits: Mapping[KeyPath, Any] = {}
    to_secret: str = ""
    narrow: tuple[Path, ...] = ()
    command: str = ""


class AuditCheck(Struct, frozen=True):
    """A check of the audit.

    Attributes:
        id: Stable: `area.weakness`.
        severity: The worst it reports.
        looks_at: What it looks at.
        why: What somebody could do.
        advice: What to do about it.
        look: Returns what it finds; changes nothing.
        deep: Whether it tries something out, and so is made only when that is asked for.
    """

    id: str
    severity: AuditSeverity
    looks_at: Phrase
    why: Phrase
    advice: Phrase
    look: Callable[[AuditContext], Iterable[Spot]]
    deep: bool = False


class Weakness(Struct, frozen=True):
    """A finding: a check, and a place where it found something.

    Attributes:
        location: File, line, column and path of the configuration, or the file alone; None where there is none.
    """

    check: AuditCheck
    spot: Spot
    location: Mapping[str, Any] | None = None

    @property
    def place(self) -> str:
        """The path of the key, or the file."""
        if self.spot.keys:
            return format_path(self.spot.keys)
        return f"{self.spot.file}:{self.spot.line}" if self.spot.line else self.spot.file

    @property
    def id(self) -> str:
        """The check and the place: the same as long as it is there."""
        return f"{self.check.id}@{self.place}" if self.place else self.check.id

    @property
    def severity(self) -> AuditSeverity:
        """How bad it is."""
        return self.spot.severity or self.check.severity

    @property
    def fix(self) -> str | None:
        """What is changed when it is mended here; None where only a person can."""
        from hub.config.files_editor import REMOVED
        from hub.config.render import inline

        spot = self.spot
        if spot.to_secret:
            return phrase("move it to secrets.yaml, as {name}", name=spot.to_secret)
        if spot.narrow:
            return phrase("take away the rights of others")
        changes = [
            phrase("remove {key}", key=format_path(keys))
            if value is REMOVED
            else f"{format_path(keys)}: {inline(value)}"
            for keys, value in spot.edits.items()
        ]
        return in_series(changes) or None

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data; its texts are phrases."""
        return {
            "id": self.id,
            "check": self.check.id,
            "severity": self.severity.value,
            "what": self.spot.what,
            "why": self.check.why,
            "advice": self.check.advice,
            "location": dict(self.location) if self.location is not None else None,
            "fix": self.fix,
            "command": self.spot.command,
        }
