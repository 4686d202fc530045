"""The checks of the audit: the hub's own, and those of the integrations in use, by `AUDIT` in their `audit.py`."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from hub.config.sections import SchemaProblem
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.checks import (
    channels,
    credentials,
    files,
    loosened,
    models,
    network,
    outside,
    packages,
    trying,
    webhooks,
)
from hub.doctor.audit.weakness import AuditCheck
from hub.integration.schemas import read_module

_log = logging.getLogger(__name__)

MODULE = "audit.py"
CHECKS: tuple[AuditCheck, ...] = (
    *network.CHECKS,
    *channels.CHECKS,
    *loosened.CHECKS,
    *credentials.CHECKS,
    *webhooks.CHECKS,
    *models.CHECKS,
    *outside.CHECKS,
    *files.CHECKS,
    *trying.CHECKS,
    *packages.CHECKS,
)


def checks_of(context: AuditContext) -> tuple[AuditCheck, ...]:
    """Return all checks that a home is looked at with; of packages only where somebody was asked about them."""
    asked = context.live is not None and context.live.advisories is not None
    return (*(each for each in CHECKS if asked or each not in packages.CHECKS), *_brought(context))


def _brought(context: AuditContext) -> Iterator[AuditCheck]:
    """Yield the checks of integrations that came with the hub; one from elsewhere does not judge the home."""
    for domain in sorted(context.used & context.catalog.keys()):
        found = context.catalog[domain]
        path = found.path / MODULE
        if found.custom or not path.is_file():
            continue
        try:
            yield from read_module(domain, path).AUDIT
        except SchemaProblem as problem:
            _log.error("the audit of %s cannot be made: %s", domain, problem.message)
