"""`models.list`, `agents.list`, `agent.identity.get`: the models and agents of this hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agent, Agents
from hub.core.schema import All, In, Length, Optional, Schema
from hub.core.surfaces import READ, Method, MethodCall
from hub.models.answering import answering_model
from hub.models.contract import ModelInfo
from hub.models.registry import ModelRegistry
from hub.sessions.keys import SessionKey, main_key

OWNER = "gateway"


class CatalogMethods:
    """The methods about models and agents.

    Args:
        agents: The agents.
        models: The models.
    """

    def __init__(self, agents: Agents, models: ModelRegistry) -> None:
        self._agents = agents
        self._models = models

    def methods(self) -> list[Method]:
        """Return the methods."""
        identity = Schema(
            {
                Optional("agentId"): All(str, Length(min=1, max=64)),
                Optional("sessionKey"): All(str, Length(min=1, max=2048)),
            }
        )
        listed = Schema({**identity.schema, Optional("view"): In(("default", "configured", "provider-config", "all"))})
        return [
            Method("models.list", self._models_list, OWNER, listed, READ),
            Method("agents.list", self._agents_list, OWNER, Schema({}), READ),
            Method("agent.identity.get", self._identity, OWNER, identity, READ),
        ]

    async def models_status(self) -> dict[str, Any]:
        """Return the models as `status` shows them."""
        status = self._models.status()
        agent = self._agents.default()
        resolved = await answering_model(self._models, agent.model, agent.credentials)
        return {
            "default": resolved["ref"],
            "reason": resolved["reason"],
            "configured": status["default"],
            "aliases": dict(status["aliases"]),
            "fallbacks": status["fallbacks"],
            "providers": status["providers"],
        }

    async def _models_list(self, call: MethodCall) -> Mapping[str, Any]:
        agent = self._agents.get(self._agent_of(call))
        default = self._models.describe(agent.model).get("ref")
        aliases = {ref: alias for alias, ref in self._models.aliases.items()}
        return {"models": [_model(info, default, aliases.get(info.ref)) for info in await self._models.list()]}

    async def _agents_list(self, call: MethodCall) -> Mapping[str, Any]:
        default = self._agents.default()
        return {
            "defaultId": default.id,
            "mainKey": "main",
            "scope": "per-sender",
            "agents": [self._agent(agent) for agent in self._agents.all()],
        }

    def _agent(self, agent: Agent) -> dict[str, Any]:
        primary = self._models.describe(agent.model).get("ref")
        chosen = {"model": {"primary": primary, "fallbacks": self._models.status()["fallbacks"]}} if primary else {}
        plain = {key: value for key, value in agent.as_dict().items() if key != "model"}
        return {**plain, **chosen, "identity": _identity(agent)}

    async def _identity(self, call: MethodCall) -> Mapping[str, Any]:
        agent = self._agents.get(self._agent_of(call))
        return {"agentId": agent.id, "mainSessionKey": main_key(agent.id), **_identity(agent)}

    def _agent_of(self, call: MethodCall) -> str:
        params, default = call.params, self._agents.default().id
        if "sessionKey" in params and "agentId" not in params:
            return SessionKey.parse(params["sessionKey"], default_agent=default).agent
        return str(params.get("agentId") or default)


def _model(info: ModelInfo, default: str | None, alias: str | None) -> dict[str, Any]:
    return {
        "id": info.id,
        "ref": info.ref,
        "name": info.name or info.id,
        "provider": info.provider,
        "contextWindow": info.context_window,
        "maxOutputTokens": info.max_output_tokens,
        "reasoning": info.thinking,
        "input": ["text", "image"] if info.images else ["text"],
        "tools": info.tools,
        "supportsTools": info.tools,
        "tags": ["default"] if info.ref == default else [],
        **({"alias": alias} if alias else {}),
        **({"cost": {"input": info.input_usd, "output": info.output_usd}} if info.input_usd is not None else {}),
    }


def _identity(agent: Agent) -> dict[str, Any]:
    """Return the identity of an agent; its picture as a dashboard address, else its symbol or first letter."""
    picture = f"/avatar?agent={agent.id}" if agent.avatar is not None else agent.emoji or agent.name[:1]
    return {"name": agent.name, "avatar": picture, **({"emoji": agent.emoji} if agent.emoji else {})}
