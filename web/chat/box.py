"""The choices in the message box: the model that answers, and the agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.surfaces import HttpCall
from web.core.method_client import MethodClient


async def box_choices(client: MethodClient, call: HttpCall, agent_id: str = "", chosen: str = "") -> dict[str, Any]:
    """Return the models and agents to pick from, and which are picked.

    Args:
        client: Calls the methods with the rights of the viewer.
        agent_id: The agent of the conversation; empty for the one that new conversations have.
        chosen: The model of the conversation; empty for the agent's.

    Raises:
        HubError: They cannot be listed.
    """
    listed = await client.ask(call, "agents.list")
    agent = agent_id or listed["defaultId"]
    models = (await client.ask(call, "models.list", {"agentId": agent}))["models"]
    for each in models:
        each["default"] = "default" in each["tags"]
    current = next((each for each in models if chosen and chosen in (each["ref"], each.get("alias"))), None)
    return {
        "models": models,
        "model": current or next((each for each in models if each["default"]), None),
        "agents": [{**_named(each), "current": each["id"] == agent} for each in listed["agents"]],
    }


def _named(agent: Mapping[str, Any]) -> dict[str, str]:
    return {"id": agent["id"], "name": f"{agent['emoji']} {agent['name']}" if agent["emoji"] else agent["name"]}
