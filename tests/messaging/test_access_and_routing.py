from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import Authority, expand_scopes
from hub.messaging.access import AccessPolicy, DmPolicy, GroupPolicy, authorize
from hub.messaging.contract import Address, ChatType, ClientMessage, InboundMessage
from hub.messaging.routing import Binding, DmScope, choose_agent, session_key_for
from hub.messaging.stored import dump_inbound, load_message
from hub.models.contract import Image
from hub.security.people import People, Person

OWNER = "telegram:user:1"
GUEST = "telegram:user:2"
STRANGER = "telegram:user:3"


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


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        (AccessPolicy(), {OWNER}),
        (AccessPolicy(dm=DmPolicy.PEOPLE), {OWNER, GUEST}),
        (AccessPolicy(dm=DmPolicy.ALLOWLIST, allow_from=frozenset({STRANGER})), {OWNER, STRANGER}),
        (AccessPolicy(dm=DmPolicy.OPEN), {OWNER, GUEST, STRANGER}),
    ],
)
def test_who_may_write_directly_is_as_the_policy_says(people: People, policy: AccessPolicy, allowed: set[str]) -> None:
    let_in = {
        sender
        for sender in (OWNER, GUEST, STRANGER)
        if authorize(message(sender), nobody(), policy, people).authority is not None
    }

    assert let_in == allowed


@pytest.mark.parametrize("sender", ["", ":", "::", "telegram:user:", "telegram::1", "1", " : : "])
def test_an_empty_or_malformed_identity_matches_nobody_even_where_all_are_let_in(people: People, sender: str) -> None:
    policy = AccessPolicy(dm=DmPolicy.OPEN, allow_from=frozenset({sender}))

    assert authorize(message(sender), nobody(), policy, people).authority is None


def test_a_name_never_authorises(people: People) -> None:
    assert authorize(message(STRANGER, sender_name="Me"), nobody(), AccessPolicy(), people).authority is None


@pytest.mark.parametrize(
    ("policy", "mentioned", "allowed"),
    [
        (AccessPolicy(), True, False),
        (AccessPolicy(group=GroupPolicy.ALLOWLIST), True, False),
        (AccessPolicy(group=GroupPolicy.ALLOWLIST, groups=frozenset({"77"})), True, True),
        (AccessPolicy(group=GroupPolicy.ALLOWLIST, groups=frozenset({"77"})), False, False),
        (AccessPolicy(group=GroupPolicy.ALLOWLIST, groups=frozenset({"77"}), require_mention=False), False, True),
    ],
)
def test_groups_are_answered_as_the_policy_says(
    people: People, policy: AccessPolicy, mentioned: bool, allowed: bool
) -> None:
    verdict = authorize(message(OWNER, ChatType.GROUP, mentioned=mentioned), nobody(), policy, people)

    assert (verdict.authority is not None) is allowed


def test_an_owner_in_a_group_keeps_the_name_and_not_the_rights(people: People) -> None:
    policy = AccessPolicy(group=GroupPolicy.ALLOWLIST, groups=frozenset({"77"}))

    verdict = authorize(message(OWNER, ChatType.GROUP, mentioned=True), nobody(), policy, people)

    assert verdict.authority is not None
    assert verdict.authority.person == "me"
    assert not verdict.authority.owner


def test_a_caller_of_the_gateway_needs_the_scope_to_write(people: People) -> None:
    reader = Authority("token:1", scopes=expand_scopes(["operator.read"]))
    writer = Authority("token:2", scopes=expand_scopes(["operator.write"]))

    assert authorize(message(OWNER), reader, AccessPolicy(dm=DmPolicy.OPEN), people).authority is None
    assert authorize(message("webchat:user:x"), writer, AccessPolicy(), people).authority == writer


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        ([], "main"),
        ([Binding("a", channel="telegram")], "a"),
        ([Binding("a", channel="matrix")], "main"),
        ([Binding("a", channel="telegram"), Binding("b", channel="telegram", account="default")], "b"),
        ([Binding("a", peer="1"), Binding("b", channel="telegram", account="default")], "a"),
        ([Binding("a", channel="telegram"), Binding("b", channel="telegram")], "a"),
        ([Binding("a", chat_type=ChatType.GROUP), Binding("b")], "b"),
    ],
)
def test_the_most_specific_binding_wins_and_of_equals_the_first(bindings: list[Binding], expected: str) -> None:
    assert choose_agent(bindings, Address("telegram", "1"), "main") == expected


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

    keys = {session_key_for("main", each, authority, DmScope.MAIN) for each in (group, thread)}

    assert len(keys) == 2
    assert all(key.startswith("agent:main:telegram:group:77") for key in keys)


def test_a_message_survives_being_stored() -> None:
    address = Address("telegram", "77", chat_type=ChatType.GROUP)
    original = ClientMessage(
        address, "m1", OWNER, "hi", images=(Image("image/png", "aGk="),), mentioned=True, options={"model": "a/b"}
    )

    assert load_message(dump_inbound(original)) == original
