"""The integrations: set up, reloaded and unloaded as the configuration asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from hub.config.store import ReloadResult
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.integration.control import IntegrationControl
from hub.integration.installing import Installer
from hub.integration.manager import IntegrationManager, MakeHost
from hub.sections import needed_domains
from hub.security.egress import Egress

_log = logging.getLogger(__name__)

SETUP_WAIT_S = 5.0


class IntegrationsComponent(Component):
    """The manager of the integrations, and what reloads, enables and disables one.

    Args:
        egress: Fetches those that are installed by URL, and reads their files.
        make_host: Makes the host of an integration.
        apply: Applies a changed configuration.
        renew_automations: Makes again what uses the kinds or the blueprints of an integration.
    """

    name = "integrations"
    follows_all = True

    def __init__(
        self,
        base: Foundation,
        *,
        egress: Egress,
        make_host: MakeHost,
        apply: Callable[[ReloadResult], Awaitable[None]],
        renew_automations: Callable[[frozenset[str]], Awaitable[None]],
    ) -> None:
        self._base = base
        self._egress = egress
        self.manager = IntegrationManager(
            make_host,
            base.catalog,
            base.repairs,
            base.bus,
            base.clock,
            tasks=base.tasks,
            installer=Installer(),
            schemas=base.schemas,
        )
        self.control = IntegrationControl(base.config, base.schemas, self.manager, apply=apply, renew=renew_automations)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that sets them up."""
        return [Stage("integrations", self._start, self.manager.stop, 90.0, 2.5)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Set up again what changed."""
        await self.manager.apply(changed, self._base.config.current, self._needed())

    def methods(self) -> MethodGroups:
        """Return `integrations.*`."""
        return {"integration": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.extensions.custom_integrations import CustomIntegrations
        from hub.integration.methods import IntegrationMethods

        base = self._base
        custom = CustomIntegrations(base.home, self._egress, lambda: base.config.current, self._taken, base.clock)
        return IntegrationMethods(self.control, custom).methods()

    def _taken(self) -> dict[str, str]:
        """Return the names that an integration from elsewhere cannot have, with what has them."""
        catalog = self.manager.catalog.values()
        return {
            **{section.name: "a section of the configuration" for section in self._base.config.sections.core()},
            **{each.domain: "an integration that comes with Homarus" for each in catalog if not each.custom},
        }

    async def _start(self) -> None:
        """Set integrations up; slow ones continue after the hub has opened."""
        work = self.manager.start(self._base.config.current, self._needed())
        task = self._base.tasks.spawn(work, name="set up integrations")
        done, _ = await asyncio.wait({task}, timeout=SETUP_WAIT_S)
        if done:
            task.result()
            return
        slow = [each["domain"] for each in self.manager.statuses() if each["state"] == "unloaded"]
        _log.warning("the hub opens while these are still being set up: %s", ", ".join(slow) or "some integrations")

    def _needed(self) -> set[str]:
        return needed_domains(self._base.config.current, self.manager.catalog)
