"""The rules for tools together: each layer only ever takes away, whatever it says and whatever the others say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hypothesis import given, strategies as st
from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.parts import RunDependencies
from hub.agent.subagents.spawning import SpawnRequest, subagent_rights
from hub.core.context import Authority, Context
from hub.core.events import EventBus
from hub.core.schema import Schema
from hub.core.tasks import TaskOwner
from hub.sessions.keys import main_key
from hub.storage.homedir import Home
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.policy import ToolRules, explain_tool, policies_from_config, refusal
from hub.tools.profiles import PROFILES
from hub.tools.registry import ToolRegistry
from hub.tools.schema import POLICY_KEYS, TOOLS_SCHEMA

MODEL = "cheap/good"
GROUPS = {"read": "files", "write": "files", "exec": "shell", "fetch": "web", "session_status": "session"}
MORE = {"sessions_spawn": "session", "memory_search": "memory", "gateway": "hub"}
NAMES = st.sampled_from([*GROUPS, *MORE, "group:fs", "group:web", "group:*", "*", "re*", "s?ssions_*"])
LISTS = st.lists(NAMES, max_size=3)
RULES = st.fixed_dictionaries(
    {}, optional={"profile": st.sampled_from(sorted(PROFILES)), "allow": LISTS, "also_allow": LISTS, "deny": LISTS}
)
BY_PROVIDER = st.dictionaries(st.sampled_from(["cheap", MODEL, "other"]), RULES, max_size=2)
LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "global": RULES,
        "global_by_provider": BY_PROVIDER,
        "agent": RULES,
        "agent_by_provider": BY_PROVIDER,
        "group": RULES,
        "subagent": st.booleans(),
        "tainted": st.fixed_dictionaries({}, optional={"allow": LISTS, "deny": LISTS}),
        "stranger": st.sampled_from(sorted(PROFILES)),
    },
)
NAMES_OF_LAYERS = [
    "global",
    "global_by_provider",
    "agent",
    "agent_by_provider",
    "group",
    "subagent",
    "tainted",
    "stranger",
]


class Parts(Struct):
    """What the rights of a subagent are made from."""

    agents: Agents
    tools: ToolRegistry


async def _nothing(call: ToolCall) -> ToolResult:
    return ToolResult("")


TOOLS = [
    Tool(name, "", from_schema({}), _nothing, group, Annotations(owner_only=name == "exec"))
    for name, group in {**GROUPS, **MORE}.items()
]


def permitted(layers: Mapping[str, Any]) -> set[str]:
    """Return the tools that a run under these layers may use; each is as it is configured, or is made in the hub."""
    section = {
        **layers.get("global", {}),
        "by_provider": layers.get("global_by_provider", {}),
        "tainted": layers.get("tainted", {}),
        "strangers": layers.get("stranger", "full"),
    }
    rules = ToolRules.from_config(TOOLS_SCHEMA(section))
    own = {**layers.get("agent", {}), "by_provider": layers.get("agent_by_provider", {})}
    agents = Agents([{"id": "main", "tools": own}], Home(Path("/nowhere")))
    authority = Authority("peer:x") if "stranger" in layers else Authority("owner", person="me", owner=True)
    for policy in policies_from_config(Schema(POLICY_KEYS)(layers.get("group", {})), "group"):
        authority = authority.narrow(policy=policy)
    if "subagent" in layers:
        parts = cast(RunDependencies, Parts(agents, ToolRegistry(EventBus(TaskOwner("test")), rules)))
        asked = SpawnRequest("look", Context(authority), main_key("main"), "main", "run")
        authority = subagent_rights(parts, asked, leaf=layers["subagent"])
    authority = authority.narrow(tainted="tainted" in layers)
    policies = agents.get("main").policies(rules, MODEL)
    found = {tool.name for tool in TOOLS if refusal(tool, authority, policies, rules) is None}
    assert found == {
        tool.name for tool in TOOLS if all(each.permits for each in explain_tool(tool, authority, policies, rules))
    }
    return found


@given(LAYERS)
def test_what_all_layers_permit_is_what_each_of_them_permits(layers: dict[str, Any]) -> None:
    alone = [permitted({name: stated}) for name, stated in layers.items()]

    assert permitted(layers) == permitted({}).intersection(*alone)


@given(LAYERS, st.sets(st.sampled_from(NAMES_OF_LAYERS)))
def test_a_layer_more_never_gives_more(layers: dict[str, Any], left_out: set[str]) -> None:
    fewer = {name: stated for name, stated in layers.items() if name not in left_out}

    assert permitted(layers) <= permitted(fewer)


@given(LAYERS, st.sampled_from(sorted({**GROUPS, **MORE})), st.sampled_from(["global", "agent", "group"]))
def test_what_one_layer_denies_no_layer_gives_back(layers: dict[str, Any], name: str, where: str) -> None:
    stated = {**layers.get(where, {}), "deny": [*layers.get(where, {}).get("deny", []), name]}
    pressed = {**stated, "profile": "full", "allow": [name, "*"], "also_allow": [name]}

    assert permitted({**layers, where: stated}) <= permitted(layers) - {name}
    assert name not in permitted({**layers, where: pressed})
