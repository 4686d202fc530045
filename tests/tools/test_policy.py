"""Who may use which tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from hub.agent.agents import Agent
from hub.core.context import Authority, Context, ToolPolicy
from hub.core.events import EventBus
from hub.core.schema import Schema, SchemaError
from hub.core.tasks import TaskOwner
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.policy import ToolRules, belongs_here, explain_tool, needs_approval, policies_from_config, refusal
from hub.tools.profiles import PROFILES
from hub.tools.registry import ToolRegistry
from hub.tools.schema import TOOL_KEYS, TOOLS_SCHEMA

OWNER = Authority("owner", person="me", owner=True)
PERSON = Authority("peer:x", person="anna")
STRANGER = Authority("peer:y")
TOKEN = Authority("token:1", scopes=frozenset({"operator.read", "operator.write"}))


async def _nothing(call: ToolCall) -> ToolResult:
    return ToolResult("")


def tool(name: str = "look", group: str = "files", **annotations: bool) -> Tool:
    calm = {"owner_only": False, "open_world": False, **annotations}
    return Tool(name, "", from_schema({}), _nothing, group, Annotations(**calm))


def rules(**section: Any) -> ToolRules:
    return ToolRules.from_config(TOOLS_SCHEMA(section))


@pytest.mark.parametrize(("authority", "here"), [(OWNER, True), (PERSON, True), (TOKEN, True), (STRANGER, False)])
def test_who_belongs_to_this_home(authority: Authority, here: bool) -> None:
    assert belongs_here(authority) is here


def test_a_tool_for_owners_is_for_nobody_else() -> None:
    found = [refusal(tool(owner_only=True), each, (), rules()) for each in (OWNER, PERSON, TOKEN, STRANGER)]

    assert [why is None for why in found] == [True, False, False, False]


def test_a_tool_that_says_nothing_of_itself_is_the_least_trusted() -> None:
    silent = Tool("act", "", from_schema({}), _nothing, "files")

    assert refusal(silent, PERSON, (), rules()) is not None
    assert needs_approval(silent, {}, OWNER.narrow(tainted=True)) is not None
    assert refusal(silent, OWNER, (), rules()) is None


def test_strangers_have_the_profile_that_is_set_for_them() -> None:
    assert refusal(tool(), STRANGER, (), rules()) is not None
    assert refusal(tool("session_status", "session"), STRANGER, (), rules()) is None
    assert refusal(tool(), STRANGER, (), rules(strangers="full")) is None


@pytest.mark.parametrize(
    ("section", "name", "group", "allowed"),
    [
        ({}, "x", "files", True),
        ({"profile": "minimal"}, "x", "files", False),
        ({"profile": "coding"}, "x", "files", True),
        ({"profile": "coding", "deny": ["x"]}, "x", "files", False),
        ({"profile": "coding", "deny": ["group:files"]}, "x", "files", False),
        ({"profile": "messaging", "allow": ["x"]}, "x", "files", False),
        ({"allow": ["group:files"]}, "x", "files", True),
        ({"allow": ["group:files"]}, "x", "home", False),
        ({"allow": []}, "x", "files", False),
        ({"allow": "x"}, "x", "home", True),
        ({"allow": ["X"]}, "x", "home", True),
        ({"allow": ["mail_*"]}, "mail_send", "message", True),
        ({"allow": ["mail_*"]}, "x", "message", False),
        ({"deny": ["mail_?end"]}, "mail_send", "message", False),
        ({"deny": ["group:*"]}, "x", "home", False),
        ({"allow": ["x"], "deny": ["*"]}, "x", "home", False),
        ({"allow": ["group:fs"]}, "x", "files", True),
        ({"deny": ["group:Runtime"]}, "x", "shell", False),
        ({"profile": "messaging", "also_allow": ["x"]}, "x", "files", True),
        ({"profile": "messaging", "allow": ["group:memory"], "also_allow": ["x"]}, "x", "files", True),
        ({"also_allow": ["x"]}, "y", "files", True),
        ({"profile": "messaging", "also_allow": ["x"], "deny": ["x"]}, "x", "files", False),
    ],
)
def test_profile_allow_and_deny_meet(section: dict[str, Any], name: str, group: str, allowed: bool) -> None:
    policies = policies_from_config(Schema(TOOL_KEYS)(section), "tools")

    assert all(policy.permits(name, group) for policy in policies) is allowed
    assert (refusal(tool(name, group), OWNER, policies, rules()) is None) is allowed
    assert (refusal(tool(name, group), OWNER, (), rules(**section)) is None) is allowed


BY_PROVIDER = {
    "profile": "coding",
    "by_provider": {"cheap": {"deny": ["group:files"]}, "cheap/good": {"deny": ["look"]}},
}


@pytest.mark.parametrize(
    ("model", "name", "allowed"),
    [
        (None, "look", True),
        ("other/m", "look", True),
        ("cheap/small", "look", False),
        ("cheap/small", "read", False),
        ("cheap/good", "look", False),
        ("cheap/good", "read", True),
    ],
)
def test_what_is_said_of_a_model_comes_before_what_is_said_of_its_provider(
    tmp_path: Path, model: str | None, name: str, allowed: bool
) -> None:
    of_hub, of_agent = rules(**BY_PROVIDER), rules()
    hub_wide = Agent("a", "A", tmp_path).policies(of_hub, model)
    own = Agent("a", "A", tmp_path, model_policies=of_hub.by_provider).policies(of_agent, model)

    assert (refusal(tool(name), OWNER, hub_wide, of_hub) is None) is allowed
    assert (refusal(tool(name), OWNER, own, of_agent) is None) is allowed


def test_a_refusal_names_the_rule_and_an_explanation_all_of_them() -> None:
    stated = rules(profile="coding", deny=["look"], tainted={"deny": ["look"]})
    authority = OWNER.narrow(policy=ToolPolicy(source="groups.77.tools")).narrow(tainted=True)

    layers = [(verdict.layer, verdict.permits) for verdict in explain_tool(tool(), authority, (), stated)]

    assert refusal(tool(), authority, (), stated) == "look is switched off in the configuration (tools)"
    assert layers == [("tools.profile", True), ("tools", False), ("groups.77.tools", True), ("tools.tainted", False)]


@pytest.mark.parametrize(
    "section",
    [
        {"profile": "everything"},
        {"allow": ["group:"]},
        {"deny": ["A b"]},
        {"x": 1},
        {"by_provider": {"a b": {}}},
        {"by_provider": {"a": {"by_provider": {}}}},
    ],
)
def test_a_policy_with_a_mistake_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        Schema(TOOL_KEYS)(section)


@pytest.mark.parametrize(
    ("group", "annotations", "allowed"),
    [
        ("files", {"read_only": True, "egress": False}, True),
        ("files", {"egress": False}, False),
        ("memory", {"read_only": True, "egress": False}, True),
        ("web", {"open_world": True, "read_only": True, "egress": False}, True),
        ("web", {"open_world": True, "read_only": True}, False),
        ("message", {"open_world": True}, False),
    ],
)
def test_taint_narrows(group: str, annotations: dict[str, bool], allowed: bool) -> None:
    asked = tool("x", group, **annotations)

    assert (needs_approval(asked, {}, OWNER.narrow(tainted=True)) is None) is allowed
    assert needs_approval(asked, {}, OWNER) is None


def test_a_tools_own_rule_says_what_is_asked_about() -> None:
    own = replace(tool("x"), approval=lambda arguments, _: arguments.get("why"))

    assert needs_approval(own, {"why": "because"}, OWNER) == "because"
    assert needs_approval(own, {}, OWNER.narrow(tainted=True)) is None


def test_taint_can_be_made_narrower_still() -> None:
    narrow = rules(tainted={"deny": ["group:web"]})
    fetch = tool("fetch", "web", read_only=True)

    assert refusal(fetch, OWNER.narrow(tainted=True), (), narrow) is not None
    assert refusal(fetch, OWNER, (), narrow) is None


def test_taint_changes_nothing_of_what_is_listed() -> None:
    registry = ToolRegistry(EventBus(TaskOwner("test")))
    registry.register(tool("keep", "memory"))

    assert registry.available(OWNER.narrow(tainted=True)) == registry.available(OWNER)


POLICIES = st.builds(
    ToolPolicy,
    allow=st.none() | st.frozensets(st.sampled_from(["a", "b", "group:g", "group:h", "*", "?", "group:*"])),
    deny=st.frozensets(st.sampled_from(["a", "b", "group:g", "group:h", "*", "a*"])),
)


@given(POLICIES, POLICIES, st.sampled_from("ab"), st.sampled_from("gh"), st.booleans())
def test_what_explains_and_what_refuses_are_one(
    one: ToolPolicy, other: ToolPolicy, name: str, group: str, tainted: bool
) -> None:
    authority, each = STRANGER.narrow(policy=one, tainted=tainted), tool(name, group)

    verdicts = list(explain_tool(each, authority, (other,), rules()))

    assert (refusal(each, authority, (other,), rules()) is None) is all(verdict.permits for verdict in verdicts)


@given(POLICIES, POLICIES, st.sampled_from("ab"), st.sampled_from("gh"), st.booleans())
def test_another_policy_never_gives_more(
    one: ToolPolicy, other: ToolPolicy, name: str, group: str, tainted: bool
) -> None:
    authority = OWNER.narrow(tainted=tainted)
    each = tool(name, group)

    both = refusal(each, authority.narrow(policy=one), (other,), rules())

    alone = [refusal(each, authority, (policy,), rules()) for policy in (one, other)]
    assert both is not None or alone == [None, None]


def test_every_profile_lets_a_session_say_how_it_is() -> None:
    for allowed in PROFILES.values():
        assert ToolPolicy(allow=allowed).permits("session_status", "session")


async def test_the_tools_somebody_is_shown_follow_what_is_registered_and_configured() -> None:
    registry = ToolRegistry(EventBus(TaskOwner("test")))
    remove = registry.register(tool())
    shown = [registry.available(PERSON)]

    registry.register(tool("owners", owner_only=True))
    registry.register(tool("second"))
    shown += [registry.available(PERSON), registry.available(OWNER), registry.available(STRANGER)]
    remove()
    shown.append(registry.available(PERSON))
    registry.configure(rules(deny=["second"]))
    shown.append(registry.available(PERSON))

    names = [[each.name for each in tools] for tools in shown]
    assert names == [["look"], ["look", "second"], ["look", "owners", "second"], [], ["second"], []]


@pytest.mark.parametrize(
    ("section", "listed"),
    [
        ({}, False),
        ({"profile": "coding"}, False),
        ({"deny": ["exec"]}, False),
        ({"also_allow": ["look"]}, True),
        ({"also_allow": ["group:files"]}, True),
        ({"allow": ["look"]}, True),
        ({"allow": ["lo*"]}, True),
        ({"also_allow": ["look"], "deny": ["look"]}, False),
    ],
)
def test_an_optional_tool_is_off_unless_the_owner_names_it(section: dict[str, Any], listed: bool) -> None:
    optional = replace(tool(), optional=True)
    everywhere, mine = rules(**section), policies_from_config(Schema(TOOL_KEYS)(section), "agents")

    assert (refusal(optional, PERSON, (), everywhere) is None) is listed
    assert (refusal(optional, PERSON, mine, rules()) is None) is listed
    assert [each.name for each in registry_of(optional).available(PERSON, mine)] == ["look"] * listed


def test_what_an_authority_carries_switches_no_optional_tool_on() -> None:
    (policy,) = policies_from_config(Schema(TOOL_KEYS)({"also_allow": ["look"]}), "a group")
    why = refusal(replace(tool(), optional=True), PERSON.narrow(policy=policy), (), rules())

    assert why == "look is optional: it is off unless tools: also_allow: names it"


def test_an_approved_call_of_an_optional_tool_is_judged_by_the_rules_for_everybody() -> None:
    call = ToolCall("1", "look", {}, Context(PERSON), "main", "agent:main:main", "r")

    assert registry_of(replace(tool(), optional=True)).refusal_reason(call) is None


def test_a_tool_has_a_label_for_people() -> None:
    labelled = replace(tool("get_state"), label="Look at the home")

    assert [each["label"] for each in registry_of(tool("get_state")).catalog()] == ["Get state"]
    assert [each["label"] for each in registry_of(labelled).catalog()] == ["Look at the home"]


def registry_of(tool: Tool) -> ToolRegistry:
    registry = ToolRegistry(EventBus(TaskOwner("test")))
    registry.register(tool)
    return registry
