from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hub.agent.taint.authorship import is_own
from hub.core.context import Authority, ToolPolicy, expand_scopes
from hub.core.schema import Schema, SchemaError
from hub.memory.scope import NOBODY, MemoryScope
from hub.messaging.access import routing_schema
from hub.messaging.access.access import AccessPolicy, Activation, DmPolicy, GroupPolicy, GroupSettings, authorize
from hub.messaging.access.routing import AgentRoute, Binding, Bindings, DmScope, MatchedBy, session_key_for
from hub.messaging.access.send_policy import SendPolicy
from hub.messaging.contract import Address, ChatType, ClientMessage, InboundMessage
from hub.messaging.inbox.inbox_rows import dump_inbound, load_message
from hub.messaging.schema import ACCESS_KEYS, access_policy
from hub.models.contract import Image
from hub.security.people import People, Person
from hub.sessions.keys import direct_key
from hub.sessions.privacy import scope_of
from hub.sessions.schema import SEND_POLICY_SCHEMA, SESSION_SCHEMA

OWNER = "telegram:user:1"
GUEST = "telegram:user:2"
STRANGER = "telegram:user:3"
PAIRED = "telegram:user:4"


@pytest.fixture
def people() -> People:
    return People(
        [
            Person(id="me", name="Me", owner=True, identities=(OWNER,)),
            Person(id="guest", name="Guest", owner=False, identities=(GUEST,)),
        ]
    )


def message(sender: str, chat_type: ChatType = ChatType.DIRECT, **changes: Any) -> InboundMessage:
    peer = "77" if chat_type is not ChatType.DIRECT else sender.rpartition(":")[2]
    address = Address("telegram", peer or "x", chat_type=chat_type)
    return InboundMessage(address=address, message_id="m1", sender=sender, text="hello", **changes)


def nobody() -> Authority:
    return Authority("peer:somebody")


@pytest.mark.parametrize("dm", [each for each in DmPolicy if each is not DmPolicy.DISABLED])
@pytest.mark.parametrize("chat_type", list(ChatType))
def test_where_identity_is_weak_an_owner_is_themselves_without_an_owners_rights(
    people: People, dm: DmPolicy, chat_type: ChatType
) -> None:
    policy = AccessPolicy(dm=dm, group=GroupPolicy.OPEN, weak_identity=True)

    found = authorize(message(OWNER, chat_type), nobody(), policy, people).authority

    assert found is not None
    assert (found.person, found.owner, found.scopes) == ("me", False, frozenset())
    if chat_type is ChatType.DIRECT:
        key = session_key_for("main", message(OWNER), found, DmScope.AUTO)
        assert key == "agent:main:telegram:direct:1"
        assert is_own(found, key, "me")
        assert scope_of(key, found, people) == MemoryScope("me", private=False, shared=True)


@pytest.mark.parametrize("identity", ["email:address:ada@ada.test", "irc:account:ada", "telegram:user:1"])
def test_a_direct_conversation_is_with_its_person_whatever_their_identity_is_called(identity: str) -> None:
    channel, _, peer = identity.split(":")
    people = People([Person("me", "Me", owner=True), Person("ada", "Ada", identities=(identity,))])
    key = direct_key("main", peer, channel=channel)

    assert scope_of(key, Authority("peer:x", person="ada"), people).person == "ada"
    assert scope_of(key, Authority("peer:x", person="me"), people) == NOBODY


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        (AccessPolicy(), {OWNER, PAIRED}),
        (AccessPolicy(dm=DmPolicy.PAIRING), {OWNER, GUEST, PAIRED}),
        (AccessPolicy(dm=DmPolicy.ALLOWLIST, allow_from=frozenset({STRANGER})), {OWNER, STRANGER, PAIRED}),
        (AccessPolicy(dm=DmPolicy.ALLOWLIST, allow_from=frozenset({"*", "3", "telegram:user:"})), {OWNER, PAIRED}),
        (AccessPolicy(dm=DmPolicy.OPEN), {OWNER, GUEST, STRANGER, PAIRED}),
        (AccessPolicy(dm=DmPolicy.DISABLED, allow_from=frozenset({STRANGER})), set()),
    ],
)
def test_who_may_write_directly_is_as_the_policy_says(people: People, policy: AccessPolicy, allowed: set[str]) -> None:
    let_in = {
        sender
        for sender in (OWNER, GUEST, STRANGER, PAIRED)
        if authorize(message(sender), nobody(), policy, people, frozenset({PAIRED})).authority is not None
    }

    assert let_in == allowed


@pytest.mark.parametrize(
    "sender",
    ["", ":", "::", "telegram:user:", "telegram::1", "1", " : : ", "telegram:user: 1", "telegram:user:1\n", "user:1"],
)
def test_an_empty_or_malformed_identity_matches_nobody_even_where_all_are_let_in(people: People, sender: str) -> None:
    policy = AccessPolicy(dm=DmPolicy.OPEN, allow_from=frozenset({sender}))

    assert authorize(message(sender), nobody(), policy, people).authority is None


def test_a_name_never_authorises(people: People) -> None:
    assert authorize(message(STRANGER, sender_name="Me"), nobody(), AccessPolicy(), people).authority is None


@pytest.mark.parametrize(
    "sender", [f"{OWNER}0", "telegram:user:１", "telegram:user:01", "xtelegram:user:1", "matrix:user:1"]
)
def test_only_exactly_the_same_identity_is_an_owner(people: People, sender: str) -> None:
    assert authorize(message(sender), nobody(), AccessPolicy(), people).authority is None


@pytest.mark.parametrize(
    ("policy", "let_in"),
    [
        (AccessPolicy(), set()),
        (AccessPolicy(groups={"77": GroupSettings()}), {OWNER, GUEST, STRANGER}),
        (AccessPolicy(groups={"77": GroupSettings(allow=False)}), set()),
        (AccessPolicy(groups={"*": GroupSettings()}), set()),
        (AccessPolicy(groups={"*": GroupSettings(allow=True)}), {OWNER, GUEST, STRANGER}),
        (AccessPolicy(groups={"s": GroupSettings()}), {OWNER, GUEST, STRANGER}),
        (AccessPolicy(groups={"s": GroupSettings(), "77": GroupSettings(allow=False)}), set()),
        (AccessPolicy(groups={"s": GroupSettings(allow=False), "s/77": GroupSettings()}), {OWNER, GUEST, STRANGER}),
        (AccessPolicy(groups={"other/77": GroupSettings(), "7": GroupSettings()}), set()),
        (AccessPolicy(groups={"77": GroupSettings(allow_from=frozenset({GUEST}))}), {OWNER, GUEST}),
        (AccessPolicy(groups={"77": GroupSettings()}, group_allow_from=frozenset({STRANGER})), {OWNER, STRANGER}),
        (AccessPolicy(groups={"77": GroupSettings()}, group_allow_from=frozenset({"*"})), {OWNER, GUEST, STRANGER}),
        (AccessPolicy(group=GroupPolicy.OPEN), {OWNER, GUEST, STRANGER}),
        (AccessPolicy(group=GroupPolicy.OPEN, groups={"77": GroupSettings(allow=False)}), set()),
        (AccessPolicy(group=GroupPolicy.OPEN, groups={"*": GroupSettings(allow=False)}), set()),
        (AccessPolicy(group=GroupPolicy.DISABLED, groups={"77": GroupSettings()}), set()),
        (AccessPolicy(dm=DmPolicy.OPEN, allow_from=frozenset({STRANGER})), set()),
    ],
)
def test_groups_are_answered_as_the_policy_says(people: People, policy: AccessPolicy, let_in: set[str]) -> None:
    address = Address("telegram", "77", chat_type=ChatType.GROUP, space="s")
    answered = {
        sender
        for sender in (OWNER, GUEST, STRANGER)
        if authorize(InboundMessage(address, "m", sender, "x"), nobody(), policy, people).authority is not None
    }

    assert answered == let_in


def test_who_is_paired_for_direct_messages_has_no_right_in_groups_of_listed_senders(people: People) -> None:
    policy = AccessPolicy(groups={"77": GroupSettings()}, group_allow_from=frozenset({GUEST}))

    assert authorize(message(PAIRED, ChatType.GROUP), nobody(), policy, people, frozenset({PAIRED})).authority is None


def test_what_is_said_of_a_group_comes_before_what_is_said_of_all_and_policies_for_tools_meet() -> None:
    everywhere = GroupSettings(system_prompt="be short", agent="a", tools=(ToolPolicy(deny=frozenset({"x"})),))
    policy = AccessPolicy(
        groups={
            "*": everywhere,
            "77": GroupSettings(agent="b", tools=(ToolPolicy(deny=frozenset({"y"})),)),
            "t": GroupSettings(history_limit=0),
        }
    )

    room = policy.group_settings(Address("telegram", "77", chat_type=ChatType.GROUP, thread="5"))
    thread = policy.group_settings(Address("telegram", "t", chat_type=ChatType.CHANNEL, parent="77"))

    assert room is not None
    assert (room.agent, room.system_prompt, len(room.tools), room.history_limit) == ("b", "be short", 2, None)
    assert thread == msgspec.structs.replace(room, history_limit=0)


def test_an_owner_in_a_group_keeps_the_name_and_not_the_rights(people: People) -> None:
    policy = AccessPolicy(groups={"77": GroupSettings()})

    verdict = authorize(message(OWNER, ChatType.GROUP, mentioned=True), nobody(), policy, people)

    assert verdict.authority is not None
    assert verdict.authority.person == "me"
    assert not verdict.authority.owner
    assert verdict.authority.scopes == frozenset()


def test_the_tools_of_a_group_narrow_those_of_who_writes_there(people: People) -> None:
    policy = AccessPolicy(groups={"77": GroupSettings(tools=(ToolPolicy(deny=frozenset({"group:web"})),))})

    authority = authorize(message(OWNER, ChatType.GROUP), nobody(), policy, people).authority

    assert authority is not None
    [tools] = authority.tool_policies
    assert tools.permits("read", "files")
    assert not tools.permits("fetch", "web")


def test_a_caller_of_the_gateway_needs_the_scope_to_write(people: People) -> None:
    reader = Authority("token:1", scopes=expand_scopes(["operator.read"]))
    writer = Authority("token:2", scopes=expand_scopes(["operator.write"]))

    assert authorize(message(OWNER), reader, AccessPolicy(dm=DmPolicy.OPEN), people).authority is None
    assert authorize(message("webchat:user:x"), writer, AccessPolicy(), people).authority == writer


IN_THREAD = Address("discord", "t1", "work", ChatType.CHANNEL, space="g", parent="room")
LADDER = (
    Binding("of the peer", peer="t1"),
    Binding("of the parent", peer="room"),
    Binding("of a role", guild="g", roles=frozenset({"cook", "admin"})),
    Binding("of the guild", guild="g"),
    Binding("of the team", team="g"),
    Binding("of the account", account="work"),
    Binding("of the channel", channel="discord"),
    Binding("of all"),
)


@pytest.mark.parametrize("rung", range(len(LADDER)))
def test_the_most_specific_binding_wins_wherever_it_is_written(rung: int) -> None:
    route = Bindings(reversed(LADDER[rung:])).choose(IN_THREAD, "main", roles=["admin"])

    assert route.agent == LADDER[rung].agent
    assert route.index == len(LADDER) - 1 - rung


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        ([], AgentRoute("main")),
        ([Binding("a", channel="matrix"), Binding("a", peer="2"), Binding("a", guild="1")], AgentRoute("main")),
        ([Binding("a", peer="1", roles=frozenset({"x"}))], AgentRoute("main")),
        ([Binding("a", channel="telegram"), Binding("b", channel="telegram")], AgentRoute("a", MatchedBy.CHANNEL, 0)),
        ([Binding("a", chat_type=ChatType.GROUP), Binding("b")], AgentRoute("b", MatchedBy.DEFAULT, 1)),
        ([Binding("a", peer="1"), Binding("b", peer="1", channel="telegram")], AgentRoute("b", MatchedBy.PEER, 1)),
    ],
)
def test_all_that_a_binding_states_must_fit_and_of_equals_the_first_wins(
    bindings: list[Binding], expected: AgentRoute
) -> None:
    assert Bindings(bindings).choose(Address("telegram", "1"), "main") == expected


def test_bindings_are_read_in_each_way_they_may_be_written() -> None:
    matches = [
        {"channel": "telegram", "account": "*", "peer": {"kind": "group", "id": -100}},
        {"guild": 5, "roles": "admin"},
    ]
    section = [{"agent": "a", "match": match} for match in matches]

    bindings = [Binding.from_config(each) for each in routing_schema.SECTIONS[0].validate(section)]

    assert bindings == [
        Binding("a", channel="telegram", peer="-100", chat_type=ChatType.GROUP),
        Binding("a", guild="5", roles=frozenset({"admin"})),
    ]


@pytest.mark.parametrize(
    "match", [{"roles": ["a"]}, {"peer": {"id": "1"}}, {"peer": {"kind": "dm", "id": "1"}}, {"peer": ""}, {"chan": "x"}]
)
def test_a_binding_that_means_nothing_is_an_error(match: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        routing_schema.SECTIONS[0].validate([{"agent": "a", "match": match}])


@pytest.mark.parametrize(
    ("scope", "owner", "expected"),
    [
        (DmScope.AUTO, True, "agent:main:main"),
        (DmScope.AUTO, False, "agent:main:telegram:direct:1"),
        (DmScope.MAIN, False, "agent:main:main"),
        (DmScope.PER_PEER, False, "agent:main:direct:guest"),
        (DmScope.PER_CHANNEL_PEER, True, "agent:main:telegram:direct:1"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, True, "agent:main:telegram:default:direct:1"),
    ],
)
def test_direct_sessions_are_told_apart_as_configured(scope: DmScope, owner: bool, expected: str) -> None:
    authority = Authority("peer:telegram:user:1", person="me" if owner else "guest", owner=owner)

    assert session_key_for("main", message(OWNER), authority, scope) == expected


def test_a_group_and_its_threads_have_sessions_of_their_own() -> None:
    authority = Authority("peer:x")
    group = InboundMessage(Address("telegram", "77", chat_type=ChatType.GROUP), "1", OWNER, "x")
    thread = InboundMessage(Address("telegram", "77", chat_type=ChatType.GROUP, thread="5"), "1", OWNER, "x")

    topic = InboundMessage(Address("telegram", "77", chat_type=ChatType.GROUP, thread="5", topic=True), "1", OWNER, "x")

    keys = [session_key_for("main", each, authority, DmScope.MAIN) for each in (group, thread, topic)]

    base = "agent:main:telegram:group:77"
    assert keys == [base, f"{base}:thread:5", f"{base}:topic:5"]


def test_a_message_survives_being_stored() -> None:
    address = Address("telegram", "77", chat_type=ChatType.GROUP)
    original = ClientMessage(
        address, "m1", OWNER, "hi", images=(Image("image/png", "aGk="),), mentioned=True, options={"model": "a/b"}
    )

    assert load_message(dump_inbound(original)) == original


ACCOUNT = Schema(dict(ACCESS_KEYS))


def test_an_account_that_says_nothing_pairs_strangers_and_answers_no_group() -> None:
    policy = access_policy(ACCOUNT({}))

    assert policy == AccessPolicy(dm=DmPolicy.PAIRING)


def test_groups_are_read_as_a_mapping_or_as_a_list() -> None:
    mapping = {-100: {"require_mention": False, "tools": {"deny": "browser"}}, "*": {"history_limit": 9}, "5": None}

    policy = access_policy(ACCOUNT({"groups": mapping}))

    denied = ToolPolicy(deny=frozenset({"browser"}), source="groups.-100.tools")
    assert policy.groups == {
        "-100": GroupSettings(activation=Activation.ALWAYS, tools=(denied,)),
        "*": GroupSettings(history_limit=9),
        "5": GroupSettings(),
    }
    assert access_policy(ACCOUNT({"groups": [-100]})).groups == {"-100": GroupSettings(allow=True)}


@pytest.mark.parametrize(
    "stated",
    [
        {"allow_from": ["Me"]},
        {"allow_from": [123]},
        {"group_allow_from": ["telegram:123"]},
        {"dm_policy": "owner"},
        {"group_policy": "all"},
        {"groups": 1.5},
        {"groups": {"1": {"aloow": True}}},
        {"groups": {"1": {"mention_patterns": ["(a|a)*$"]}}},
        {"groups": {"1": {"mention_patterns": ["("]}}},
        {"groups": {"1": {"require_mention": True, "activation": "always"}}},
    ],
)
def test_what_could_let_in_the_wrong_ones_is_an_error(stated: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        ACCOUNT(stated)


@pytest.mark.parametrize(
    ("section", "chosen", "expected"),
    [
        ({}, None, True),
        ({}, "off", False),
        ({"default": "deny"}, None, False),
        ({"default": "deny"}, "on", True),
        ({"rules": [{"action": "deny", "match": {"channel": "telegram", "chat_type": "group"}}]}, None, False),
        ({"rules": [{"action": "deny", "match": {"channel": "matrix"}}]}, None, True),
        ({"rules": [{"action": "deny", "match": {"key_prefix": "telegram:group:"}}]}, None, False),
        ({"rules": [{"action": "deny", "match": {"key_prefix": "agent:main:telegram"}}]}, None, False),
        ({"rules": [{"action": "allow", "match": {"chat_type": "group"}}, {"action": "deny"}]}, None, True),
    ],
)
def test_replies_are_sent_as_the_first_rule_says_that_matches(
    section: dict[str, Any], chosen: str | None, expected: bool
) -> None:
    policy = SendPolicy.from_config(SEND_POLICY_SCHEMA(section))
    address = Address("telegram", "77", chat_type=ChatType.GROUP)

    assert policy.decide(address, "agent:main:telegram:group:77", chosen)[0] is expected


def test_the_scope_of_direct_sessions_is_spelled_with_hyphens_or_underscores() -> None:
    assert SESSION_SCHEMA({"dm_scope": "per_account_channel_peer"})["dm_scope"] == "per-account-channel-peer"
