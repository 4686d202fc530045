"""`sandbox.*`: list, explain and remove sandboxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.context import Authority
from hub.core.schema import All, Length, Optional, Required, Schema, slug, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.sandbox.sandboxes import Sandboxes
from hub.sandbox.settings import TOOLS_INSIDE
from hub.sessions.keys import main_key

OWNER = "gateway"
_NAME = All(string, Length(min=1, max=200))


class SandboxMethods:
    """The methods about sandboxes.

    Args:
        sandboxes: All sandboxes.
        agents: Their owners.
    """

    def __init__(self, sandboxes: Sandboxes, agents: Agents) -> None:
        self._sandboxes, self._agents = sandboxes, agents

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("sandbox.list", self._list, OWNER, Schema({}), READ),
            Method("sandbox.explain", self._explain, OWNER, Schema({Optional("agentId"): slug}), READ),
            Method("sandbox.recreate", self._recreate, OWNER, Schema({Required("name"): _NAME}), ADMIN),
            Method("sandbox.prune", self._prune, OWNER, Schema({}), ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        found = [
            {
                "name": each.name,
                "engine": engine,
                "agentId": each.agent_id or None,
                "scope": each.scope,
                "createdAtMs": each.created_ms,
                "running": each.running,
            }
            for engine, each in await self._sandboxes.all()
        ]
        return {"sandboxes": found}

    async def _explain(self, call: MethodCall) -> Mapping[str, Any]:
        agent = self._agents.get(call.params["agentId"]) if "agentId" in call.params else self._agents.default()
        settings, main = agent.sandbox, main_key(agent.id)
        owner, other = Authority("owner", owner=True), Authority("peer")
        room = f"agent:{agent.id}:chat:group:1"

        def verdict(key: str, authority: Authority) -> str:
            if settings.must(authority) and settings.mode == "off":
                return "refused"
            inside = self._sandboxes.mandatory or settings.must(authority) or settings.by_mode(key, authority)
            return "sandbox" if inside else "hub"

        engines = await self._sandboxes.engines(agent.id)
        return {
            "agentId": agent.id,
            "mode": settings.mode,
            "scope": settings.scope,
            "workspaceAccess": settings.workspace_access,
            "sessionVisibility": settings.session_visibility,
            "programsRunIn": {
                "ownerMain": verdict(main, owner),
                "ownerMainWithWordsFromOutside": verdict(main, owner.narrow(tainted=True)),
                "ownerElsewhere": verdict(room, owner),
                "others": verdict(main, other),
            },
            "confines": "conversation" if settings.whole else "programs",
            "tools": sorted(TOOLS_INSIDE | settings.also_allow) if settings.whole else None,
            "engine": next((each.name for each in engines if not each.problem), None),
            "engines": [
                {
                    "name": each.name,
                    "problem": each.problem or None,
                    "settings": {key: value for key, value in settings.engines[each.name].items() if value is not None},
                }
                for each in engines
            ],
        }

    async def _recreate(self, call: MethodCall) -> Mapping[str, Any]:
        await self._sandboxes.remove(call.params["name"])
        return {"name": call.params["name"], "removed": True}

    async def _prune(self, call: MethodCall) -> Mapping[str, Any]:
        return {"removed": await self._sandboxes.prune(idle_s=0)}
