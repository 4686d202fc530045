"""The part of the hub that looks after its own security: once a day, and after each change of the configuration."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hub.automation.schedule.contract import Due
from hub.automation.schedule.daily import EVERY_DAY, Daily, parse_time_of_day
from hub.automation.schedule.timetable import ScheduledEntry, Timetable
from hub.config.store import ReloadResult
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import RepairFix, Severity
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.gateway.component.access import AccessComponent
from hub.gateway.connection.server import Gateway
from hub.integration.catalog import find
from hub.integration.in_use import in_use
from hub.sections import needed_domains
from hub.security.egress import Egress

if TYPE_CHECKING:
    from hub.doctor.audit.advisories import Advisories
    from hub.doctor.audit.audit import AuditReport
    from hub.doctor.audit.audit_context import LiveFacts
    from hub.doctor.audit.listening import Listener
    from hub.doctor.audit.mending import Mended

_log = logging.getLogger(__name__)

SOURCE = "security"
FIRST_S = 60.0
"""After a start, when all else has begun."""
AT = "04:40"
"""Of every day."""


class AuditComponent(Component):
    """Audits the home, and raises what is critical as repairs; the checks are imported with the first audit.

    Args:
        gateway: Knows where it listens, and which credentials are valid.
        access: Has the tokens and devices.
        timetable: Of all schedules.
        egress: Asks about known weaknesses of packages.
        apply: Puts a changed configuration into force.
    """

    name = "audit"
    follows_all = True

    def __init__(
        self,
        base: Foundation,
        gateway: Gateway,
        access: AccessComponent,
        timetable: Timetable,
        *,
        egress: Egress,
        apply: Callable[[ReloadResult], Awaitable[None]],
    ) -> None:
        self._base = base
        self._gateway = gateway
        self._access = access
        self._timetable = timetable
        self._egress = egress
        self._apply = apply
        self._entry: ScheduledEntry | None = None
        self._looking = asyncio.Lock()
        self._asked = False
        self._told: frozenset[str] = frozenset()

    def stages(self) -> Sequence[Stage]:
        """Return the stage that arms the daily audit."""
        return [Stage("audit", self._start, self._stop)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Audit the home again, when what is changed together has been put into force."""
        if not self._asked:
            self._asked = True
            self._base.tasks.spawn(self._look_after(), name="security audit")

    def methods(self) -> MethodGroups:
        """Return `security.*`."""
        return {"audit": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.doctor.methods import AuditMethods

        return AuditMethods(self.audit, self.mend).methods()

    async def audit(self, *, deep: bool) -> AuditReport:
        """Audit the home as it is now, and raise or clear the repairs.

        Args:
            deep: Whether to try the listeners too, and ask about the installed packages.
        """
        from hub.doctor.audit.listening import find_listeners

        async with self._looking:
            listeners = await asyncio.to_thread(find_listeners, os.getpid(), self._own_listener())
            live = replace(self._live(listeners), advisories=await self._ask_advisories() if deep else None)
            report = await asyncio.to_thread(self._audit_now, live, deep=deep)
            self._tell(report)
        return report

    async def mend(self, only: frozenset[str]) -> Mended:
        """Mend what can be mended here, and put the changed configuration into force.

        Args:
            only: Ids of findings; empty for all above a note.
        """
        from hub.doctor.audit.mending import choose, mend

        found = choose((await self.audit(deep=False)).found, only)
        mended = await asyncio.to_thread(mend, found, self._base.config.editor)
        await self._apply(await self._base.config.reload())
        await self.audit(deep=False)
        return mended

    async def _start(self) -> None:
        self._entry = self._timetable.add(Daily(parse_time_of_day(AT), self._base.zone(), EVERY_DAY), self._due)
        self._base.tasks.spawn(self._first(), name="first security audit")

    async def _stop(self) -> None:
        if self._entry is not None:
            self._entry()

    def _due(self, due: Due) -> None:
        self._base.tasks.spawn(self._look_after(), name="daily security audit")

    async def _first(self) -> None:
        await self._base.clock.sleep(FIRST_S)
        await self._look_after()

    async def _look_after(self) -> None:
        self._asked = False
        try:
            await self.audit(deep=False)
        except (HubError, OSError) as problem:
            _log.warning("the security audit could not be made: %s", problem)

    async def _ask_advisories(self) -> Advisories | None:
        from hub.doctor.audit.advisories import ask_advisories, installed_packages

        url = self._base.section("hub")["update"]["advisories"]
        return (
            None
            if url is None
            else await ask_advisories(self._egress, url, await asyncio.to_thread(installed_packages))
        )

    def _audit_now(self, live: LiveFacts, *, deep: bool) -> AuditReport:
        from hub.doctor.audit.audit import audit
        from hub.doctor.audit.audit_context import AuditContext

        base, config = self._base, self._base.config.current
        catalog = find(base.home)
        used = frozenset(in_use(config, catalog, needed_domains(config, catalog)))
        now_ms = int(base.clock.time() * 1000)
        return audit(AuditContext(base.home, config, catalog, used, now_ms, live), deep=deep)

    def _own_listener(self) -> tuple[str, int, bool] | None:
        """Return host and port of the gateway, and whether it speaks TLS."""
        settings = self._gateway.settings
        try:
            return settings.host, self._gateway.address[1], settings.tls is not None
        except HubError:
            return None

    def _live(self, listeners: tuple[Listener, ...]) -> LiveFacts:
        from hub.doctor.audit.audit_context import Credential, LiveFacts

        gateway = self._gateway
        valid = gateway.authenticator.all_valid
        tokens = [
            Credential("token", each.id, each.name, each.scopes, each.created_ms, each.last_used_ms, each.expires_ms)
            for each in self._access.tokens.list()
            if valid({each.credential_id, *each.made_by})
        ]
        devices = [
            Credential(
                "device",
                grant.device_id,
                str(grant.data.get("displayName") or grant.device_id),
                frozenset(grant.scopes),
                grant.created_ms,
                grant.last_used_ms,
            )
            for grant in self._access.devices.grants()
            if valid({grant.credential_id, *grant.made_by})
        ]
        return LiveFacts(gateway.settings, listeners, (*tokens, *devices))

    def _tell(self, report: AuditReport) -> None:
        """Open a repair for each critical finding, and close those of what was mended."""
        from hub.doctor.audit.weakness import AuditSeverity

        repairs = self._base.repairs
        wanted = {each.id: each for each in report.of(AuditSeverity.CRITICAL) if not each.check.deep}
        for id in self._told - wanted.keys():
            repairs.clear(SOURCE, id)
        for id, each in wanted.items():
            fix = each.fix
            repairs.raise_(
                SOURCE,
                id,
                each.spot.what,
                phrase("{why} {advice}", why=each.check.why, advice=each.check.advice),
                severity=Severity.CRITICAL,
                command=each.spot.command or None,
                location=each.location,
                fix=RepairFix("security.fix", {"only": [id]}, phrase("Mend it")) if fix else None,
            )
        self._told = frozenset(wanted)
