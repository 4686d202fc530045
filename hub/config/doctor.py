"""Check the configuration; each error is reported with its position."""

from __future__ import annotations

from collections.abc import Iterator

from hub.config.errors import ConfigError
from hub.core.repairs import Severity
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding


def _look(context: CheckContext) -> Iterator[Finding]:
    checked = context.checked
    bad = Severity.CRITICAL if checked.config.recovery else Severity.ERROR
    for problem in checked.errors:
        yield _finding(problem, bad, context)
    for problem in checked.warnings:
        yield _finding(problem, Severity.WARNING, context)


def _finding(problem: ConfigError, severity: Severity, context: CheckContext) -> Finding:
    told = f"{problem.path}: {problem.message}" if problem.path else problem.message
    told = f"{told} ({problem.hint})" if problem.hint else told
    return Finding(severity, told, f"{problem.file}:{problem.line}:{problem.column}", context.command("check"))


CONFIGURATION = Check("configuration", "The configuration", _look)
