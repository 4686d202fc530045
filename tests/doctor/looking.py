"""What a check finds on a home."""

from __future__ import annotations

from hub.doctor.finding import Check, Finding
from tests.doctor.conftest import See


def found(check: Check, see: See) -> list[Finding]:
    """Everything a check finds."""
    return list(check.look(see()))


def words(check: Check, see: See) -> str:
    """All that a check says."""
    return " ".join(f"{each.what} {each.where}" for each in found(check, see))
