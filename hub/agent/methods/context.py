"""`context.explain`: the sizes of the parts of a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.agent.prompt.report import explain_prompt
from hub.agent.runner import AgentRunner
from hub.core.schema import All, Length, Optional, Schema
from hub.core.surfaces import READ, Method, MethodCall
from hub.sessions.keys import SessionKey, main_key

OWNER = "gateway"


class ContextMethods:
    """The method about the prompt.

    Args:
        agents: The agents.
        runner: Its parts make the prompts of real runs.
    """

    def __init__(self, agents: Agents, runner: AgentRunner) -> None:
        self._agents = agents
        self._runner = runner

    def methods(self) -> list[Method]:
        """Return the method."""
        schema = Schema(
            {
                Optional("agentId"): All(str, Length(min=1, max=64)),
                Optional("sessionKey"): All(str, Length(min=1, max=2048)),
            }
        )
        return [Method("context.explain", self._explain, OWNER, schema, READ)]

    async def _explain(self, call: MethodCall) -> Mapping[str, Any]:
        wanted = self._agents.get(call.params["agentId"]).id if "agentId" in call.params else self._agents.default().id
        key = call.params.get("sessionKey")
        parsed = SessionKey.parse(key, default_agent=wanted) if key is not None else None
        agent = self._agents.get(parsed.agent if parsed is not None else wanted)
        parts = self._runner.parts
        await asyncio.to_thread(parts.workspaces.ensure, agent.id)
        session_key = str(parsed) if parsed is not None else main_key(agent.id)
        return (await explain_prompt(parts, agent, session_key, call.caller.authority)).as_dict()
