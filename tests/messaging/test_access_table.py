"""Who may do what, as one table: every rule, kind of event and channel; strangers, the paired, people and owners."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hub.agent.agents import Agents
from hub.core.context import Authority, Context
from hub.messaging.access.access import AccessPolicy, Activation, DmPolicy, GroupPolicy, GroupSettings
from hub.messaging.access.decide import Accept, Facts, MessagingSettings, Notice, Overheard, Refuse, decide
from hub.messaging.commands.registry import CommandCall
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    CommandUsed,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    Quote,
    ReactionChanged,
)
from hub.security.people import People, Person
from hub.storage.homedir import Home

INTEGRATIONS = Path(__file__).parents[2] / "integrations"
CHANNELS = sorted(
    manifest["domain"]
    for manifest in (json.loads(path.read_text()) for path in INTEGRATIONS.glob("*/*/manifest.json"))
    if manifest["kind"] == "channel"
)
IDS = {"stranger": "3", "paired": "4", "listed": "5", "anna": "2", "owner": "1"}
"""The ids of everybody on every channel. Only an owner's and Anna's are under `people:`."""
WHERE: dict[str, Callable[[str, str], Address]] = {
    "direct": Address,
    "group": lambda channel, _: Address(channel, "room", chat_type=ChatType.GROUP),
    "topic": lambda channel, _: Address(channel, "room", chat_type=ChatType.GROUP, thread="9"),
    "thread": lambda channel, _: Address(channel, "t", chat_type=ChatType.CHANNEL, space="guild", parent="room"),
}
KINDS: dict[str, Callable[[Address, str], Inbound]] = {
    "message": lambda at, who: InboundMessage(at, "e", who, "hi", mentioned=True, sender_name="Me"),
    "quote": lambda at, who: InboundMessage(at, "e", who, "hi", mentioned=True, quoted=Quote("x", who), reply_to="m"),
    "voice": lambda at, who: InboundMessage(
        at, "e", who, "", mentioned=True, media=(Media(MediaKind.AUDIO, "ref", voice=True, size_bytes=50_000_000),)
    ),
    "text command": lambda at, who: InboundMessage(at, "e", who, "/status", mentioned=True),
    "command": lambda at, who: CommandUsed(at, "e", who, name="status"),
    "edit": lambda at, who: MessageEdited(at, "e", who, message_id="m", text="x"),
    "delete": lambda at, who: MessageDeleted(at, "e", who, message_id="m"),
    "reaction": lambda at, who: ReactionChanged(at, "e", who, message_id="m", emoji="x"),
    "button": lambda at, who: ButtonPressed(at, "e", who, message_id="m", value="/approve X"),
    "poll": lambda at, who: PollAnswered(at, "e", who, poll_id="p", choices=("a",)),
    "join": lambda at, who: MembershipChanged(at, "e", who, member=who, joined=True),
}
OUTCOMES: dict[str, type] = {
    **dict.fromkeys(("message", "quote", "voice"), Accept),
    **dict.fromkeys(("command", "text command"), CommandCall),
}
"""The outcome for each kind of sender who may; for all others a `Notice`."""

EVERYBODY, NOBODY = set(IDS), set[str]()
ROOMS = ("group", "topic", "thread")
LISTED = {"room": GroupSettings()}
RULES: dict[str, tuple[AccessPolicy, set[str], set[str]]] = {
    # name: (policy, who may in direct messages, who may in the room and its threads)
    "nothing stated": (AccessPolicy(), {"owner", "paired"}, NOBODY),
    "pairing": (AccessPolicy(DmPolicy.PAIRING), {"owner", "anna", "paired"}, NOBODY),
    "allowlist": (AccessPolicy(DmPolicy.ALLOWLIST, groups=LISTED), {"owner", "paired", "listed"}, EVERYBODY),
    "open": (AccessPolicy(DmPolicy.OPEN), EVERYBODY, NOBODY),
    "disabled": (AccessPolicy(DmPolicy.DISABLED, groups=LISTED), NOBODY, EVERYBODY),
    "open groups": (AccessPolicy(group=GroupPolicy.OPEN), {"owner", "paired"}, EVERYBODY),
    "no groups": (AccessPolicy(group=GroupPolicy.DISABLED, groups=LISTED), {"owner", "paired"}, NOBODY),
    "another group": (AccessPolicy(groups={"roo": GroupSettings()}), {"owner", "paired"}, NOBODY),
    "a group that is off": (
        AccessPolicy(group=GroupPolicy.OPEN, groups={"room": GroupSettings(allow=False)}),
        {"owner", "paired"},
        NOBODY,
    ),
    "senders of groups": (
        AccessPolicy(groups=LISTED, group_allow_from=frozenset({"{channel}:user:5"})),
        {"owner", "paired"},
        {"owner", "listed"},
    ),
}


def policy_on(channel: str, rule: str) -> AccessPolicy:
    """Return a rule as it reads on a channel, where number 5 is on the allow-list of `allowlist`."""
    policy = RULES[rule][0]
    listed = frozenset({f"{channel}:user:5"})
    return AccessPolicy(
        policy.dm,
        listed if rule == "allowlist" else frozenset(),
        policy.group,
        policy.groups,
        listed if policy.group_allow_from else frozenset(),
    )


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Agents:
    return Agents(None, Home(tmp_path_factory.mktemp("agents")))


def facts_on(channel: str, policy: AccessPolicy, agents: Agents) -> Facts:
    people = People(
        [
            Person("me", "Me", owner=True, identities=(f"{channel}:user:1",)),
            Person("anna", "Anna", identities=(f"{channel}:user:2",)),
        ]
    )
    return Facts(policy, people, agents, MessagingSettings(), paired=frozenset({f"{channel}:user:4"}))


@pytest.mark.parametrize("rule", RULES)
def test_who_may_do_what_where(rule: str, agents: Agents) -> None:
    for channel in CHANNELS:
        decides_as_the_table(rule, channel, agents)


def decides_as_the_table(rule: str, channel: str, agents: Agents) -> None:
    facts = facts_on(channel, policy_on(channel, rule), agents)
    _, direct, rooms = RULES[rule]
    expected = {(who, "direct") for who in direct} | {(who, where) for who in rooms for where in ROOMS}

    for kind, make in KINDS.items():
        decided = {
            (who, where): decide(
                make(place(channel, id), f"{channel}:user:{id}"), Context(Authority("peer:somebody")), facts
            )
            for who, id in IDS.items()
            for where, place in WHERE.items()
        }

        assert {key for key, decision in decided.items() if not isinstance(decision, Refuse)} == expected, (
            channel,
            kind,
        )
        assert {type(decided[key]) for key in expected} <= {OUTCOMES.get(kind, Notice)}, kind
        rights = {key for key in expected if getattr(decided[key], "context").authority.owner}  # noqa: B009  no Refuse
        assert rights == ({("owner", "direct")} & expected), kind


@pytest.mark.parametrize("rule", RULES)
def test_a_code_is_offered_for_direct_messages_of_strangers_and_for_nothing_else(rule: str, agents: Agents) -> None:
    facts = facts_on("test", policy_on("test", rule), agents)

    offered = {
        (kind, who, where)
        for kind, make in KINDS.items()
        for who, id in IDS.items()
        for where, place in WHERE.items()
        if isinstance(
            refused := decide(make(place("test", id), f"test:user:{id}"), Context(Authority("peer:x")), facts), Refuse
        )
        and refused.may_pair
    }

    asks = OUTCOMES.keys() & KINDS.keys() if rule == "pairing" else ()
    assert offered == {(kind, who, "direct") for kind in asks for who in ("stranger", "listed")}


def said(text: str, policy: AccessPolicy, agents: Agents, activation: str | None = None) -> type:
    """Return the outcome of a message in a group that mentions nobody."""
    message = InboundMessage(Address("test", "room", chat_type=ChatType.GROUP), "e", "test:user:3", text)
    facts = Facts(policy, People(), agents, MessagingSettings(), activation=lambda key: activation)
    return type(decide(message, Context(Authority("peer:x")), facts))


@pytest.mark.parametrize(
    ("settings", "text", "chosen", "expected"),
    [
        (GroupSettings(), "hello", None, Overheard),
        (GroupSettings(), "/status", None, Overheard),
        (GroupSettings(activation=Activation.ALWAYS), "hello", None, Accept),
        (GroupSettings(), "hello", "always", Accept),
        (GroupSettings(activation=Activation.ALWAYS), "hello", "mention", Overheard),
        (GroupSettings(activation=Activation.ALWAYS), "hello", "nonsense", Accept),
        (GroupSettings(mention_patterns=(r"\bhomer\b",)), "hey HOMER, hello", None, Accept),
        (GroupSettings(mention_patterns=(r"\bhomer\b",)), "homeric", None, Overheard),
    ],
)
def test_a_group_message_that_lacks_only_the_mention_is_overheard(
    settings: GroupSettings, text: str, chosen: str | None, expected: type, agents: Agents
) -> None:
    assert said(text, AccessPolicy(groups={"room": settings}), agents, chosen) is expected


def test_an_agent_is_mentioned_by_its_own_patterns(tmp_path: Path) -> None:
    agents = Agents([{"id": "main", "mention_patterns": ["^jeeves"]}], Home(tmp_path))

    assert said("Jeeves, tea", AccessPolicy(groups=LISTED), agents) is Accept
    assert said("tea", AccessPolicy(groups=LISTED), agents) is Overheard


def test_a_long_message_that_is_not_addressed_to_it_is_not_answered_either(agents: Agents) -> None:
    assert said("x" * 200_000, AccessPolicy(groups=LISTED), agents) is Overheard
