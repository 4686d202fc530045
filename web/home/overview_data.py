"""The data of the overview, collected from the hub; works in recovery mode too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hub import __version__
from hub.core.phrases import rewritten
from hub.core.repairs import Repair
from hub.models.answering import answering
from web.core.texts import ACTIVITY, RUN_END

if TYPE_CHECKING:
    from hub.agent.agents import Agent
    from hub.hub import Hub

ACTIVITY_LIMIT = 20


class OverviewData:
    """The data of the overview.

    Args:
        hub: The hub.
        started_ms: When it began to serve the dashboard, in ms since the epoch.
    """

    def __init__(self, hub: Hub, started_ms: int) -> None:
        self._hub = hub
        self._started_ms = started_ms

    @property
    def recovery(self) -> bool:
        """Whether the hub is in recovery mode."""
        return self._hub.config.current.recovery

    async def overview(self) -> dict[str, Any]:
        """Return the facts of the overview."""
        hub = self._hub
        facts: dict[str, Any] = {
            "recovery": self.recovery,
            "version": __version__,
            "started_ms": self._started_ms,
            "repairs": [self._bare(repair) for repair in hub.repairs.all()],
            "session_count": 0,
            "running": [],
            "agents": [],
            "models": [],
            "integrations": [],
            "activity": [],
        }
        if self.recovery:
            return facts
        models = hub.models.status()
        return facts | {
            "session_count": len(hub.sessions.list()),
            "running": [run.session_key for run in hub.runner.active()],
            "agents": [await self._agent(agent) for agent in hub.agents.all()],
            "models": _models(models),
            "integrations": hub.redactor.redact_data(hub.integrations.statuses()),
            "activity": await self._activity(),
        }

    def _bare(self, repair: Repair) -> Repair:
        """Return a repair without secrets, which errors may quote from files."""
        redact = self._hub.redactor.redact
        return replace(repair, title=rewritten(repair.title, redact), text=rewritten(repair.text, redact))

    async def _activity(self) -> list[dict[str, Any]]:
        events = await self._hub.history.recent_events(ACTIVITY_LIMIT, [*ACTIVITY, RUN_END])
        return [
            {"type": event["type"], "ts_ms": int(event["time"] * 1000), "data": self._titled(event["data"])}
            for event in events
        ]

    def _titled(self, data: Mapping[str, Any]) -> dict[str, Any]:
        session = self._hub.sessions.get(str(data.get("session_key") or ""))
        return {**data, "title": session.title if session is not None else None}

    async def _agent(self, agent: Agent) -> dict[str, Any]:
        answers = await answering(self._hub.models, agent.model, agent.credentials)
        return {"id": agent.id, "name": agent.name, "model": answers["ref"] or "", "default": agent.default}


def _models(status: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the default model and the configured or usable providers."""
    shown = []
    resolved = status.get("resolved") or {}
    if resolved.get("ref"):
        shown.append({"name": resolved["ref"], "default": True, "note": resolved.get("reason") or ""})
    for provider in status["providers"]:
        obstacle = provider["obstacle"]
        if obstacle and provider["origin"] != "configuration":
            continue
        shown.append({"name": provider["name"], "default": False, "note": obstacle or provider["base_url"] or ""})
    return shown
