"""What the scan of a skill finds; plain data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class ScanSeverity(StrEnum):
    """How bad a finding is."""

    DANGER = "danger"
    """The skill is in quarantine: it is enabled only in spite of this."""
    WARNING = "warning"
    NOTE = "note"


class ScanFinding(Struct, frozen=True):
    """Something in a skill that a person should know.

    Attributes:
        rule: Which rule found it.
        path: The file.
        line: From 1; None for the file as a whole.
    """

    severity: ScanSeverity
    rule: str
    message: str
    path: str
    line: int | None = None

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path} line {self.line}"
        return f"{place} {self.message}"


def dangers(findings: tuple[ScanFinding, ...]) -> list[ScanFinding]:
    """Return the findings that put a skill into quarantine."""
    return [each for each in findings if each.severity is ScanSeverity.DANGER]
