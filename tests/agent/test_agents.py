"""Agents as configured, and what is wrong in their section."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.agent.agents import Agents
from hub.agent.budgets.limits import RunLimits
from hub.agent.schema import AGENTS_SCHEMA
from hub.core.context import ToolPolicy
from hub.core.errors import NotFound
from hub.core.schema import SchemaError, describe_error
from hub.storage.homedir import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_any_there_is_main(home: Home) -> None:
    for section in (None, ()):
        agents = Agents(section, home)

        assert [agent.id for agent in agents.all()] == ["main"]
        assert agents.default().name == "Homarus"
        assert agents.default().limits == RunLimits()


def test_agents_that_share_a_sandbox_have_the_settings_that_one_of_them_states(home: Home) -> None:
    shared = {"scope": "shared"}
    agents = Agents(
        [
            {"id": "a", "sandbox": {**shared, "mode": "all"}},
            {"id": "b", "sandbox": {**shared, "docker": {"image": "ours:1"}}},
            {"id": "c", "sandbox": {"docker": {"image": "other:2"}}},
        ],
        home,
    )

    images = {each.id: each.sandbox.engines["docker"]["image"] for each in agents.all()}
    assert images == {"a": "ours:1", "b": "ours:1", "c": "other:2"}
    assert agents.get("a").sandbox.mode == "all"


def test_all_that_is_configured_is_taken(home: Home) -> None:
    agents = Agents(
        [
            {"id": "a"},
            {
                "id": "b",
                "name": "Bee",
                "emoji": "🐝",
                "avatar": "bee.png",
                "default": True,
                "model": "test/x",
                "workspace": "bees",
                "thinking": "low",
                "tools": {"deny": ["write"]},
                "limits": {"turns": 3, "seconds": "2m"},
                "params": {"temperature": 0},
            },
        ],
        home,
    )

    bee = agents.default()
    assert (bee.id, bee.name, bee.model, bee.thinking, bee.params) == ("b", "Bee", "test/x", "low", {"temperature": 0})
    assert (bee.title, bee.avatar, agents.get("a").title) == ("🐝 Bee", "bee.png", "a")
    assert bee.workspace == home.path / "bees"
    assert bee.limits == RunLimits(turns=3, seconds=120)
    assert bee.tool_policies == (ToolPolicy(deny=frozenset({"write"}), source="agents.b.tools"),)
    assert not agents.get("a").default


def test_an_agent_that_is_not_there_is_told_with_the_nearest(home: Home) -> None:
    with pytest.raises(NotFound, match="Did you mean kitchen"):
        Agents([{"id": "kitchen"}], home).get("kichen")


def test_a_new_configuration_takes_the_place_of_the_old(home: Home) -> None:
    agents = Agents([{"id": "a"}], home)

    agents.configure([{"id": "b"}])

    assert [agent.id for agent in agents.all()] == ["b"]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ([{"id": "a"}, {"id": "a"}], "two agents with the id a"),
        ([{"id": "a", "workspace": "w"}, {"id": "b", "workspace": "w"}], "two agents with the workspace w"),
        ([{"id": "a", "default": True}, {"id": "b", "default": True}], "a is the default agent already"),
        (
            [{"id": name, "sandbox": {"scope": "shared", "docker": {"image": f"{name}:1"}}} for name in ("a", "b")],
            "[1].sandbox.docker: it shares its sandbox (scope: shared) with a, which has other settings of docker",
        ),
        ([{"name": "x"}], "id"),
        ([{"id": "A b"}], "identifier"),
        ([{"id": "a", "limits": {"turns": 0}}], "limits.turns"),
        ([{"id": "a", "limits": {"minutes": 3}}], "limits.minutes"),
        ([{"id": "a", "thinking": "much"}], "thinking"),
        ([{"id": "a", "workspace": ""}], "directory"),
        ([{"id": "a", "tools": {"profile": "none"}}], "profile"),
        ("main", "dictionary"),
    ],
)
def test_what_is_wrong_is_told(section: Any, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        AGENTS_SCHEMA(section)

    assert words in describe_error(caught.value)
