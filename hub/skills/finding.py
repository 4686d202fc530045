"""Findings of the scan of a skill; plain data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hub.core.phrases import Phrase, phrase


class ScanSeverity(StrEnum):
    """The severity of a finding."""

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

    @property
    def sentence(self) -> Phrase:
        """Its position and its message."""
        message = self.message if isinstance(self.message, Phrase) else Phrase(self.message, self.message)
        if self.line is None:
            return phrase("{path} {message}", path=self.path, message=message)
        return phrase("{path} line {line} {message}", path=self.path, line=self.line, message=message)

    def __str__(self) -> str:
        return str(self.sentence)


def dangers(findings: tuple[ScanFinding, ...]) -> list[ScanFinding]:
    """Return the findings that put a skill into quarantine."""
    return [each for each in findings if each.severity is ScanSeverity.DANGER]
