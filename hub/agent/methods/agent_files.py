"""`agents.files.list|get|set`: the files in an agent's prompts. Their text is for an owner of the home alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agent, Agents
from hub.agent.workspace.workspace import BOOTSTRAP, SEEDED, Workspaces
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.executors import FILES
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, Method, MethodCall

OWNER = "gateway"
NAMES = (*SEEDED, BOOTSTRAP)
TEXT_LIMIT = 1_048_576
_NAME = All(string, Length(min=1, max=64))


class AgentFileMethods:
    """The methods.

    Args:
        agents: The agents.
        workspaces: Have their files.
    """

    def __init__(self, agents: Agents, workspaces: Workspaces) -> None:
        self._agents = agents
        self._workspaces = workspaces

    def methods(self) -> list[Method]:
        """Return the methods."""
        one = {Required("agentId"): _NAME}
        get = {**one, Required("name"): _NAME}
        set_ = Schema({**get, Required("content"): All(string, Length(max=TEXT_LIMIT))})
        return [
            Method("agents.files.list", self._list, OWNER, Schema(one), READ),
            Method("agents.files.get", self._get, OWNER, Schema(get), READ),
            Method("agents.files.set", self._set, OWNER, set_, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        agent = self._agents.get(call.params["agentId"])
        files = [await FILES.run(self._shown, agent, name, False) for name in NAMES]
        return {"agentId": agent.id, "workspace": str(agent.workspace), "files": files}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        agent, name = self._judged(call)
        file = await FILES.run(self._shown, agent, name, True)
        return {"agentId": agent.id, "workspace": str(agent.workspace), "file": file}

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        agent, name = self._judged(call)
        await FILES.run(self._workspaces.ensure, agent.id)
        await FILES.run(self._workspaces.root(agent.id).write_text, name, call.params["content"])
        file = await FILES.run(self._shown, agent, name, True)
        return {"ok": True, "agentId": agent.id, "workspace": str(agent.workspace), "file": file}

    def _judged(self, call: MethodCall) -> tuple[Agent, str]:
        agent, name = self._agents.get(call.params["agentId"]), call.params["name"]
        if name not in NAMES:
            raise InvalidRequest(f"{call.method}: name: expected one of {', '.join(NAMES)}")
        if not call.context.authority.owner:
            raise Forbidden(f"{call.method}: only an owner of this home may read these files")
        return agent, name

    def _shown(self, agent: Agent, name: str, whole: bool) -> dict[str, Any]:
        root = self._workspaces.root(agent.id)
        shown: dict[str, Any] = {"name": name, "path": str(agent.workspace / name), "missing": not root.is_file(name)}
        if shown["missing"]:
            return {**shown, "expectedAbsent": name == BOOTSTRAP}
        facts = root.stat(name)
        shown |= {"size": facts.size_bytes, "updatedAtMs": facts.mtime_ns // 1_000_000}
        return {**shown, "content": root.read_text(name, TEXT_LIMIT, "replace")} if whole else shown
