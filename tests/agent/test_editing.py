"""Agents that are added, changed and removed: what is written, what keeps its comments, and what is refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import SCOPES, Authority
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.surfaces import Caller
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

OWNER = Caller(Authority("owner", "owner", SCOPES, owner=True), "hub", "127.0.0.1", local=True)
CONFIGURATION = """\
# The agents of this home.
agents:
  - id: main
    default: true   # answers everywhere else
  - id: cook
    name: Cook      # a good one
    tools: {deny: [image]}
bindings:
  # the family's own
  - {agent: cook, match: {channel: telegram}}
  - {agent: cook, match: {channel: signal, peer: "+49"}}
budgets:
  - {per: day, cost_usd: 5}
"""
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PICTURE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> Any:
    async with HubFixture(
        tmp_path / "home", openai_server.base_url, files={"configuration.yaml": CONFIGURATION}
    ) as running:
        yield running


async def call(house: HubFixture, name: str, params: Mapping[str, Any]) -> Any:
    found, prepared = house.gateway.dispatcher.prepare(name, dict(params), OWNER)
    return await house.gateway.dispatcher.run(found, prepared)


def written(house: HubFixture) -> str:
    return (house.home.path / "configuration.yaml").read_text()


async def test_what_changes_is_written_and_comments_stay(house: HubFixture) -> None:
    change = {"name": "Chef", "emoji": "🍳", "model": "test/scripted", "thinking": "high"}
    await call(house, "agents.update", {"agentId": "cook", **change})

    text = written(house)
    assert "name: Chef      # a good one" in text
    assert "default: true   # answers everywhere else" in text
    agent = house.agents.get("cook")
    assert (agent.name, agent.emoji, agent.model, agent.thinking) == ("Chef", "🍳", "test/scripted", "high")

    await call(house, "agents.update", {"agentId": "cook", "emoji": None, "model": None})
    assert "emoji" not in written(house)
    assert house.agents.get("cook").model is None


async def test_tools_channels_and_budget_are_switched(house: HubFixture) -> None:
    change = {"tools": {"image": True, "group:session": False}, "budget": {"cost_usd": 0.5, "then": "warn"}}
    change["channels"] = [{"channel": "signal"}, {"channel": "discord", "account": "work"}]
    await call(house, "agents.update", {"agentId": "cook", **change})

    text = written(house)
    assert "deny: [" in text
    assert "group:session" in text
    assert "{agent: cook, match: {channel: telegram}}" not in text
    assert '{agent: cook, match: {channel: signal, peer: "+49"}}' in text
    shown = await call(house, "agents.get", {"agentId": "cook"})
    assert [(each["channel"], each["account"]) for each in shown["bindings"]] == [
        ("signal", None),
        ("discord", "work"),
    ]
    assert shown["budget"] == {"per": "agent", "only": "cook", "cost_usd": 0.5, "then": "warn"}
    assert {each["name"] for each in shown["tools"] if each["group"] == "session" and each["on"]} == set()

    await call(house, "agents.update", {"agentId": "cook", "budget": None, "channels": []})
    assert "cost_usd: 0.5" not in written(house)
    assert (await call(house, "agents.get", {"agentId": "cook"}))["bindings"] == []


async def test_a_channel_of_another_agent_becomes_its_own(house: HubFixture) -> None:
    await call(house, "agents.update", {"agentId": "main", "channels": [{"channel": "telegram"}]})

    assert "# the family's own\n  - {agent: main, match: {channel: telegram}}" in written(house)


async def test_single_chats_are_bound_beside_channels_and_given_up_again(house: HubFixture) -> None:
    shown = await call(house, "agents.get", {"agentId": "cook"})
    assert shown["chats"] == [{"channel": "signal", "peer": "+49"}]

    family = {"channel": "telegram", "account": "default", "peer": "-100", "kind": "group"}
    change = {"chats": [*shown["chats"], family], "channels": [{"channel": "irc"}]}
    await call(house, "agents.update", {"agentId": "cook", **change})
    assert (await call(house, "agents.get", {"agentId": "cook"}))["chats"] == change["chats"]

    await call(house, "agents.update", {"agentId": "main", "chats": [family]})  # another's becomes its own
    assert (await call(house, "agents.get", {"agentId": "cook"}))["chats"] == [{"channel": "signal", "peer": "+49"}]
    await call(house, "agents.update", {"agentId": "cook", "chats": []})
    assert (await call(house, "agents.get", {"agentId": "cook"}))["chats"] == []
    assert [each["channel"] for each in (await call(house, "agents.get", {"agentId": "cook"}))["bindings"]] == ["irc"]


async def test_a_picture_is_kept_in_the_workspace(house: HubFixture) -> None:
    await call(house, "agents.update", {"agentId": "cook", "avatar": PICTURE})

    agent = house.agents.get("cook")
    assert agent.avatar == "avatar.png"
    assert (agent.workspace / "avatar.png").read_bytes() == PNG


async def test_another_default_leaves_the_workspaces_where_they_are(house: HubFixture) -> None:
    before = {each.id: each.workspace for each in house.agents.all()}

    await call(house, "agents.update", {"agentId": "cook", "default": True})

    assert house.agents.default().id == "cook"
    assert {each.id: each.workspace for each in house.agents.all()} == before


async def test_one_is_added_and_removed_with_its_bindings(house: HubFixture) -> None:
    made = await call(
        house,
        "agents.create",
        {
            "name": "Die Köchin",
            "tools": {"group:nodes": False},
            "channels": [{"channel": "irc"}],
            "budget": {"tokens": 9},
        },
    )
    assert made["agentId"] == "die-kochin"
    assert house.agents.get("die-kochin").name == "Die Köchin"
    assert (await call(house, "agents.create", {"name": "Die Köchin"}))["agentId"] == "die-kochin-2"

    gone = await call(house, "agents.delete", {"agentId": "die-kochin"})

    assert gone["removedBindings"] == 1
    assert "irc" not in written(house)
    assert "tokens: 9" not in written(house)
    assert gone["keptWorkspace"] == made["workspace"]
    assert (house.home.path / "workspace-die-kochin" / "SOUL.md").read_text()


@pytest.mark.parametrize(
    ("method", "params", "kind", "field"),
    [
        ("agents.update", {"agentId": "cook", "model": "nobody/nothing"}, HubError, "model"),
        ("agents.update", {"agentId": "cook", "avatar": "data:image/png;base64,eHh4"}, InvalidRequest, "avatar"),
        ("agents.update", {"agentId": "cook", "avatar": "none.png"}, NotFound, "avatar"),
        ("agents.update", {"agentId": "cook", "tools": {"nothing": False}}, InvalidRequest, "tools"),
        ("agents.update", {"agentId": "cook", "workspace": "workspace"}, InvalidRequest, "workspace"),
        ("agents.update", {"agentId": "cook", "workspace": ".storage/agents"}, InvalidRequest, "workspace"),
        ("agents.create", {"name": "Baker", "workspace": "configuration.yaml"}, InvalidRequest, "workspace"),
        ("agents.update", {"agentId": "nobody", "name": "x"}, NotFound, None),
        ("agents.create", {"name": "!?"}, InvalidRequest, "name"),
        ("agents.create", {"name": "Cook", "id": "cook"}, Conflict, "id"),
        ("agents.delete", {"agentId": "main"}, Conflict, None),
    ],
)
async def test_what_is_wrong_is_refused_with_its_field_and_nothing_is_written(
    house: HubFixture, method: str, params: dict[str, Any], kind: type[HubError], field: str | None
) -> None:
    house.config.editor.set_value(("agents", 0, "workspace"), "workspace")
    await house.apply(await house.config.reload())
    before = written(house)

    with pytest.raises(kind) as refused:
        await call(house, method, params)

    assert refused.value.details.get("field") == field
    assert written(house) == before
