"""The checks: the hub's own, in order, and those that integrations declare."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from msgspec.structs import replace

from hub.config.sections import SchemaProblem
from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, error
from hub.integration.catalog import CatalogEntry
from hub.integration.schemas import read_module

OURS = (
    ("hub.doctor.runtime", "RUNTIME"),
    ("hub.doctor.permissions", "PERMISSIONS"),
    ("hub.doctor.disk", "DISK"),
    ("hub.security.doctor", "HUB_TOKEN"),
    ("hub.doctor.running", "LOCK"),
    ("hub.config.doctor", "CONFIGURATION"),
    ("hub.gateway.doctor", "NETWORK"),
    ("hub.integration.doctor", "REQUIREMENTS"),
    ("hub.integration.doctor", "CUSTOM"),
    ("hub.agent.doctor", "WORKSPACES"),
    ("hub.storage.doctor", "DATABASES"),
    ("hub.backup.doctor", "BACKUPS"),
    ("hub.doctor.running", "RUNNING"),
    ("hub.sandbox.doctor", "SANDBOXES"),
)
"""The hub's own, each with the module of its part."""
CHECKS: tuple[Check, ...] = tuple(getattr(import_module(module), name) for module, name in OURS)
MODULE = "doctor.py"


def checks_for(context: CheckContext) -> tuple[Check, ...]:
    """Return the hub's own checks, and those of the integrations in use: `CHECKS` by name in their `doctor.py`."""
    if not context.home.path.is_dir():
        return CHECKS
    try:
        used = context.used & context.catalog.keys()
    except (HubError, OSError):  # the checks of the configuration say why
        return CHECKS
    return (*CHECKS, *(check for domain in sorted(used) for check in _declared(context.catalog[domain])))


def _declared(found: CatalogEntry) -> Iterator[Check]:
    if found.manifest is None or not found.manifest.doctor:
        return
    path = found.path / MODULE
    try:
        checks = getattr(read_module(found.domain, path), "CHECKS", {})
    except SchemaProblem as problem:
        yield _broken(found, problem.message)
        return
    for name in found.manifest.doctor:
        check = checks.get(name)
        if isinstance(check, Check):
            yield replace(check, name=f"{found.domain}.{name}")
        else:
            yield _broken(found, f"{found.domain}/{MODULE} has no {name} in CHECKS")


def _broken(found: CatalogEntry, why: str) -> Check:
    finding = error(f"The integration's checks cannot be loaded: {why}.", str(found.path / MODULE))
    return Check(found.domain, f"Checks of {found.domain}", lambda _: (finding,))
