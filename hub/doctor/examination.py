"""Runs the checks one after the other; one that fails is itself a finding."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from hub.core.errors import HubError
from hub.core.repairs import Severity
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical, error

_log = logging.getLogger(__name__)

FINDING_LIMIT = 50
"""Findings shown for one check; the rest are only counted."""

_RANK = {Severity.CRITICAL: 0, Severity.ERROR: 1, Severity.WARNING: 2}


class CheckResult(Struct, frozen=True):
    """The result of one check: what is wrong, and what is worth knowing."""

    check: Check
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


class DoctorReport(Struct, frozen=True):
    """The results of all checks.

    Attributes:
        looked: Each check that was made, in order.
        fixed: Problems fixed before these checks.
    """

    looked: tuple[CheckResult, ...]
    fixed: tuple[Finding, ...] = ()

    @property
    def findings(self) -> list[tuple[Check, Finding]]:
        """Every finding with its check, the worst first."""
        found = [(each.check, finding) for each in self.looked for finding in each.findings]
        return sorted(found, key=lambda pair: _RANK[pair[1].severity])

    @property
    def healthy(self) -> bool:
        """Whether nothing was found."""
        return not any(each.findings for each in self.looked)

    def as_dict(self) -> dict[str, Any]:
        """The report as `homarus doctor --json` prints it."""
        return {
            "healthy": self.healthy,
            "checks": [
                {"name": each.check.name, "title": each.check.title, "ok": not each.findings}
                | ({"notes": list(each.notes)} if each.notes else {})
                for each in self.looked
            ],
            "findings": [{"check": check.name, **finding.as_dict()} for check, finding in self.findings],
            "fixed": [finding.as_dict() for finding in self.fixed],
        }


def examine(context: CheckContext, checks: Sequence[Check]) -> DoctorReport:
    """Make the checks on a home; nothing is changed."""
    if not context.home.path.is_dir():
        told = critical(
            "There is no home directory; a hub makes one when it starts.",
            str(context.home),
            context.command("init"),
        )
        home = Check("home", "Home directory", lambda _: (told,), needs_home=False)
        return DoctorReport(
            (CheckResult(home, (told,)), *(_look(context, each) for each in checks if not each.needs_home))
        )
    return DoctorReport(tuple(_look(context, each) for each in checks))


def mend(report: DoctorReport) -> list[Finding]:
    """Fix what can be fixed automatically, which is permissions. Return the fixed findings.

    Raises:
        OSError: A permission could not be set.
    """
    mended = []
    for _, finding in report.findings:
        if finding.mend is not None:
            finding.mend()
            mended.append(finding)
    return mended


def _look(context: CheckContext, check: Check) -> CheckResult:
    notes: tuple[str, ...] = ()
    try:
        found = list(check.look(context))
        if check.tell is not None:
            notes = tuple(check.tell(context))
    except (HubError, OSError) as problem:
        told = problem.message if isinstance(problem, HubError) else str(problem)
        found = [error(f"This could not be checked: {told}", str(context.home))]
    except Exception as problem:  # a mistake in one check must not hide what the others find
        _log.exception("the check %s failed", check.name)
        found = [error(f"The check itself failed: {type(problem).__name__}: {problem}", check.name)]
    return CheckResult(check, tuple(_bounded(found)), notes)


def _bounded(found: list[Finding]) -> Iterable[Finding]:
    yield from found[:FINDING_LIMIT]
    if len(found) > FINDING_LIMIT:
        worst = min((finding.severity for finding in found[FINDING_LIMIT:]), key=_RANK.__getitem__)
        yield Finding(worst, f"And {len(found) - FINDING_LIMIT} more like these.")
