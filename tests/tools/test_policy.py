"""Who may use which tool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from hub.core.context import Authority, ToolPolicy
from hub.core.events import EventBus
from hub.core.schema import Schema, SchemaError
from hub.core.tasks import TaskOwner
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.policy import ToolRules, belongs_here, needs_approval, policies_from_config, refusal
from hub.tools.profiles import PROFILES
from hub.tools.registry import ToolRegistry
from hub.tools.schema import POLICY_KEYS, TOOLS_SCHEMA

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
    ],
)
def test_profile_allow_and_deny_meet(section: dict[str, Any], name: str, group: str, allowed: bool) -> None:
    policies = policies_from_config(Schema(POLICY_KEYS)(section))

    assert all(policy.permits(name, group) for policy in policies) is allowed
    assert (refusal(tool(name, group), OWNER, policies, rules()) is None) is allowed
    assert (refusal(tool(name, group), OWNER, (), rules(**section)) is None) is allowed


@pytest.mark.parametrize("section", [{"profile": "everything"}, {"allow": ["group:"]}, {"deny": ["A b"]}, {"x": 1}])
def test_a_policy_with_a_mistake_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        Schema(POLICY_KEYS)(section)


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
    allow=st.none() | st.frozensets(st.sampled_from(["a", "b", "group:g", "group:h"])),
    deny=st.frozensets(st.sampled_from(["a", "b", "group:g", "group:h"])),
)


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
