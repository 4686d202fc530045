"""Sessions as rows of the protocol: with model, parent of a subagent, and whether a run is active."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.agent.subagents.subagents import Subagents
from hub.core.errors import NotFound
from hub.models.registry import ModelRegistry
from hub.models.thinking import LEVELS
from hub.sessions.methods.session_shapes import session_payload
from hub.sessions.session import Session

_LEVELS = {
    "thinkingLevels": [{"id": level, "label": level} for level in LEVELS],
    "thinkingOptions": list(LEVELS),
}


class SessionRows:
    """Makes the rows.

    Args:
        agents: Give the model of a session that has none of its own.
        models: Describe the models.
        runner: Knows the active runs.
        subagents: Know who began a session.
    """

    def __init__(self, agents: Agents, models: ModelRegistry, runner: AgentRunner, subagents: Subagents) -> None:
        self._agents = agents
        self._models = models
        self._runner = runner
        self._subagents = subagents

    def of(self, session: Session) -> dict[str, Any]:
        """Return one row."""
        return self.all([session])[0]

    def all(self, sessions: Iterable[Session]) -> list[dict[str, Any]]:
        """Return the rows of some sessions."""
        running: dict[str, list[str]] = {}
        for run in self._runner.active():
            running.setdefault(run.session_key, []).append(run.run_id)
        subagents = {each.session_key: each for each in self._subagents.all()}
        found = []
        for session in sessions:
            runs = running.get(session.key, [])
            row = session_payload(session) | self._model(session.agent_id, session.model)
            row |= {"status": "running" if runs else "done", "hasActiveRun": bool(runs), "activeRunIds": runs}
            row["spawnDepth"] = 0
            if (spawned := subagents.get(session.key)) is not None:
                row |= {"spawnedBy": spawned.requester_key, "spawnDepth": spawned.depth, **spawned.ended_as()}
            found.append(row)
        return found

    def subagent_parents(self) -> dict[str, str]:
        """Return the sessions of subagents, each with its parent's."""
        return {each.session_key: each.requester_key for each in self._subagents.all()}

    def model_data(self, session: Session) -> dict[str, Any]:
        """Return the model of a session."""
        return self._model(session.agent_id, session.model)

    def defaults(self, agent_id: str | None = None) -> dict[str, Any]:
        """Return the defaults of an agent's sessions."""
        agent = self._agents.get(agent_id) if agent_id is not None else self._agents.default()
        thinking = {"thinkingDefault": agent.thinking} if agent.thinking is not None else {}
        return self._model(agent.id, None) | _LEVELS | thinking

    def _model(self, agent_id: str, chosen: str | None) -> dict[str, Any]:
        if chosen is None:
            try:
                chosen = self._agents.get(agent_id).model
            except NotFound:  # the agent of an old conversation is configured no more
                return {}
        meant = self._models.describe(chosen)
        provider, _, model = (meant["ref"] or "").partition("/")
        found = {"modelProvider": provider, "model": model, "contextTokens": meant.get("context_window")}
        return {name: value for name, value in found.items() if value}
