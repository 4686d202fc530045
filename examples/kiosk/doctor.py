"""A check of `homarus doctor`. The manifest names it in `doctor`.

A check changes nothing. It runs without a hub; `context.ask("status")` calls a method of one that runs. The doctor
reads this file without the integration: it imports nothing relative and nothing third-party.

The contract: `hub/doctor/finding.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, warning


def look(context: CheckContext) -> Iterator[Finding]:
    """Look whether there is paper."""
    if not (context.home.path / "paper.txt").exists():
        yield warning("The paper has not been checked.", "paper.txt", "echo enough > paper.txt")


CHECKS = {"kiosk": Check("kiosk", "Paper of the Kiosk", look)}
