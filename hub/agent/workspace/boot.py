"""BOOT.md: what an agent does once when the hub starts, in a session of its own; nothing it says is sent by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from hub.agent.agents import Agent
from hub.agent.run_request import RunRequest, RunStatus
from hub.agent.runner import AgentRunner
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.lanes import Priority
from hub.models.contract import user_message
from hub.security.jail_path import PathRefused
from hub.security.people import People
from hub.sessions.keys import cron_key

BOOT = "BOOT.md"
LIMIT_BYTES = 65_536
CHANNEL = "automation"
LANE = "cron"

_ASKED = "The hub has just started. Do what {file} says now; nobody reads your answer.\n\n{text}"

_log = logging.getLogger(__name__)


class BootRuns:
    """Runs the BOOT.md of every agent.

    Args:
        runner: Runs them.
        people: The people of this home, as configured now; it is run with the rights of the first owner.
    """

    def __init__(self, runner: AgentRunner, people: Callable[[], People]) -> None:
        self._runner = runner
        self._people = people

    async def run(self) -> None:
        """Run each agent that has a BOOT.md, one after the other; a failure is logged and stops nothing else."""
        for agent in self._runner.parts.agents.all():
            try:
                await self._boot(agent)
            except HubError as error:
                _log.warning("%s of agent %s was not run: %s", BOOT, agent.id, error.message)

    async def _boot(self, agent: Agent) -> None:
        parts = self._runner.parts
        found = await asyncio.to_thread(self._read, agent)
        if found is None:
            return
        text, trusted = found
        key = cron_key(agent.id, "boot")
        if parts.sessions.get(key) is not None:
            await parts.sessions.reset(key)
        authority = self._people().owner_authority()
        context = Context(authority if trusted else authority.narrow(tainted=True))
        result = await self._runner.run(
            RunRequest(
                new_id(),
                agent.id,
                key,
                user_message(_ASKED.format(file=BOOT, text=text)),
                context,
                lane=LANE,
                priority=Priority.BACKGROUND,
                channel=CHANNEL,
            )
        )
        if result.status is not RunStatus.OK:
            _log.warning("%s of agent %s failed: %s", BOOT, agent.id, (result.error or {}).get("message"))

    def _read(self, agent: Agent) -> tuple[str, bool] | None:
        """Return the file's text, and whether this home's people wrote it; None if there is nothing to do."""
        workspaces = self._runner.parts.workspaces
        try:
            data = workspaces.root(agent.id).read_bytes(BOOT, LIMIT_BYTES)
        except FileNotFoundError:
            return None
        except (OSError, PathRefused) as error:
            _log.warning("%s of agent %s cannot be read: %s", BOOT, agent.id, error)
            return None
        text = data.decode("utf-8", "replace").strip()
        return (text, not workspaces.outside.holds(agent.id, data)) if text else None
