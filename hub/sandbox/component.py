"""The sandboxes of agents: made on first use, removed when they are idle, old, or their conversation is deleted."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from hub.agent.component.agents import AgentsComponent
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.core.tasks import TaskOwner
from hub.foundation import Foundation
from hub.sandbox.sandboxes import Sandboxes
from hub.sessions.store import EVENT_SESSION_CHANGED
from hub.tools.registry import ToolRegistry

_log = logging.getLogger(__name__)

PRUNED_EVERY_S = 600.0


class SandboxesComponent(Component):
    """The sandboxes, and what removes them."""

    name = "sandboxes"

    def __init__(self, base: Foundation, *, agents: AgentsComponent, tools: ToolRegistry) -> None:
        self._base = base
        self._tasks = TaskOwner("sandboxes")
        known = self._agents = agents.agents
        places, mandatory = agents.workspaces.sandboxes, base.share is not None
        self.sandboxes = Sandboxes(lambda id: known.get(id).sandbox, places, base.clock, mandatory=mandatory)
        tools.confine = lambda id, session, authority: known.get(id).sandbox.confinement(session, authority)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that removes sandboxes from time to time."""
        return [Stage("sandboxes", self._start, self._stop)]

    def methods(self) -> MethodGroups:
        """Return the methods about sandboxes."""
        return {"sandbox": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.sandbox.methods import SandboxMethods

        return SandboxMethods(self.sandboxes, self._agents).methods()

    async def _start(self) -> None:
        self._base.bus.listen(EVENT_SESSION_CHANGED, self._forget, {"what": "deleted"})
        self._tasks.spawn(self._prune(), name="prune")

    async def _forget(self, event: Event) -> None:
        await self.sandboxes.forget(event.data["key"])

    async def _prune(self) -> None:
        while True:
            await self._base.clock.sleep(PRUNED_EVERY_S)
            try:
                await self.sandboxes.prune()
            except HubError as error:  # the engine may be back next time
                _log.warning("sandboxes were not looked through: %s", error.message)

    async def _stop(self) -> None:
        await self._tasks.cancel_all()
        await self.sandboxes.close()
