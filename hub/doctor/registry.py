"""The checks: the hub's own, in the order in which they are made, and those that integrations declare."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hub.config.sections import SchemaProblem
from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.configuration import CONFIGURATION
from hub.doctor.databases import DATABASES
from hub.doctor.disk import DISK
from hub.doctor.finding import Check, error
from hub.doctor.integrations import CUSTOM, REQUIREMENTS
from hub.doctor.network import NETWORK
from hub.doctor.permissions import PERMISSIONS
from hub.doctor.running import LOCK, RUNNING
from hub.doctor.runtime import RUNTIME
from hub.doctor.sandboxes import SANDBOXES
from hub.doctor.token import HUB_TOKEN
from hub.doctor.workspaces import WORKSPACES
from hub.integration.catalog import CatalogEntry
from hub.integration.schemas import read_module

CHECKS: tuple[Check, ...] = (
    RUNTIME,
    PERMISSIONS,
    DISK,
    HUB_TOKEN,
    LOCK,
    CONFIGURATION,
    NETWORK,
    REQUIREMENTS,
    CUSTOM,
    WORKSPACES,
    DATABASES,
    RUNNING,
    SANDBOXES,
)
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
