"""`secrets.*`: the secrets of agents, by name; no method returns a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.schema import All, Length, Optional, Required, Schema, secret, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.tools.agent_secrets import NAME, AgentSecrets, Holder, holder_of, requested_secret
from hub.tools.approval import Approval
from hub.tools.approvals import Approvals

OWNER = "gateway"
GIVEN = "given"
"""What is shown in the place of a secret that was given."""

_ID = All(string, Length(min=1, max=64))
_HOLDER = {
    Optional("agent", description="The one that uses it; the default agent without it."): _ID,
    Optional("person", description="Whose it is; the caller's without it."): _ID,
}
_SET = Schema({Required("name"): NAME, Required("value"): secret, **_HOLDER})
_REMOVE = Schema({Required("name"): NAME, **_HOLDER})


class SecretMethods:
    """The methods about secrets of agents.

    Args:
        secrets: Where they are kept.
        approvals: Has the questions that ask for one.
        agents: The agents that use them.
    """

    def __init__(self, secrets: AgentSecrets, approvals: Approvals, agents: Agents) -> None:
        self._secrets = secrets
        self._approvals = approvals
        self._agents = agents

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("secrets.list", self._list, OWNER, Schema({}), ADMIN),
            Method("secrets.set", self._set, OWNER, _SET, ADMIN),
            Method("secrets.remove", self._remove, OWNER, _REMOVE, ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {
            "secrets": [
                {
                    "name": each.name,
                    "agent": each.holder.agent,
                    "person": each.holder.person,
                    "createdAtMs": each.created_ms,
                }
                for each in self._secrets.all()
            ]
        }

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        holder, name = self._holder(call), call.params["name"]
        await self._secrets.keep(holder, name, call.params["value"])
        for each in self._approvals.questions():
            if requested_secret(each) == (holder, name):
                await self._approvals.answer(each.id, GIVEN, call.context, keep=_kept)
        return {"name": name, "agent": holder.agent, "person": holder.person}

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        holder = self._holder(call)
        await self._secrets.remove(holder, call.params["name"])
        return {"name": call.params["name"], "agent": holder.agent, "person": holder.person}

    def _holder(self, call: MethodCall) -> Holder:
        given = call.params.get("agent")
        agent = self._agents.default().id if given is None else self._agents.get(given).id
        person = call.params.get("person")
        return Holder(agent, person) if person else holder_of(agent, call.context.authority)


async def _kept(question: Approval) -> None:
    """Do nothing: the requested secret is stored already."""
