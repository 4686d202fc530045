"""The trigger `message`: who wrote what, where."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import Invalid
from tests.automation.triggers.bench import OWNER, STRANGER, Bench, calls_during, explained, valid

MESSAGE = {
    "inbox_id": "i1",
    "channel": "telegram",
    "account": "default",
    "peer": "42",
    "sender": "telegram:user:42",
    "session_key": "agent:main:main",
    "text_chars": 12,
    "chat_type": "direct",
    "from_owner": False,
    "sender_name": "Kid",
    "text": " Good Morning ",
}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"chat_type": "dm"}, "chat_type"),
        ({"regex": "("}, "not a pattern"),
        ({"regex": "(a|aa)+b"}, "too long"),
        ({"regex": ""}, "nothing"),
        ({"text": {}}, "exact, contains"),
        ({"text": {"starts": "a"}}, "extra keys"),
        ({"text": []}, "got nothing"),
        ({"from_owner": "perhaps"}, "true or false"),
        ({"chanel": "telegram"}, "chanel"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid({"trigger": "message", **config})


@pytest.mark.parametrize(
    ("config", "fires"),
    [
        ({}, True),
        ({"channel": "telegram", "peer": "42"}, True),
        ({"channel": ["webchat", "telegram"]}, True),
        ({"channel": "webchat"}, False),
        ({"account": "default"}, True),
        ({"account": "second"}, False),
        ({"peer": 42}, True),
        ({"peer": "43"}, False),
        ({"chat_type": ["direct", "group"]}, True),
        ({"chat_type": "group"}, False),
        ({"sender": "telegram:user:42"}, True),
        ({"sender": "telegram:user:43"}, False),
        ({"from_owner": False}, True),
        ({"from_owner": True}, False),
        ({"text": "good morning"}, True),
        ({"text": ["hi", "GOOD MORNING"]}, True),
        ({"text": "good"}, False),
        ({"text": {"contains": ["night", "MORN"]}}, True),
        ({"text": {"contains": "night"}}, False),
        ({"text": {"exact": "hi", "contains": "good"}}, True),
        ({"regex": "M.rning"}, True),
        ({"regex": "m.rning"}, False),
        ({"regex": "(?i)m.rning"}, True),
        ({"text": "good morning", "regex": "evening"}, False),
    ],
)
async def test_each_key_narrows(bench: Bench, config: dict[str, Any], fires: bool) -> None:
    site = bench.arm({"trigger": "message", **config})

    bench.fire("message_received", dict(MESSAGE), STRANGER)

    assert bool(site.fired) is fires


async def test_it_fires_with_the_message_and_what_matched(bench: Bench) -> None:
    site = bench.arm({"trigger": "message", "regex": "Good (?P<what>[A-Z][a-z]+)"})

    context = bench.fire("message_received", dict(MESSAGE), STRANGER)

    fired = site.fired[0]
    assert fired.context is context
    assert fired.trigger["message"] == {key: MESSAGE[key] for key in MESSAGE if key != "text_chars"}
    assert fired.trigger["match"] == {"text": "Good Morning", "groups": ["Morning"], "named": {"what": "Morning"}}
    assert fired.trigger["description"] == "message on telegram"


async def test_only_the_owners_words_do_not_taint(bench: Bench) -> None:
    site = bench.arm({"trigger": "message"})

    bench.fire("message_received", {**MESSAGE, "from_owner": True}, OWNER)
    bench.fire("message_received", {**MESSAGE, "from_owner": True}, OWNER.narrow(tainted=True))
    bench.fire("message_received", dict(MESSAGE), STRANGER)

    assert [fired.tainted for fired in site.fired] == [False, True, True]


async def test_a_pattern_looks_through_no_more_than_is_sure_to_be_quick(bench: Bench) -> None:
    site = bench.arm({"trigger": "message", "regex": "end$"})

    bench.fire("message_received", {**MESSAGE, "text": "x" * 100_000 + "end"}, STRANGER)

    assert site.fired == []


async def test_with_five_thousand_a_message_costs_as_many_calls_as_with_one(bench: Bench) -> None:
    message = {**MESSAGE, "peer": "0"}
    first = bench.arm({"trigger": "message", "channel": "telegram", "peer": "0"})
    bench.fire("message_received", message, STRANGER)
    with_one = calls_during(lambda: bench.fire("message_received", message, STRANGER))
    others = [bench.arm({"trigger": "message", "channel": "telegram", "peer": str(n)}) for n in range(1, 5_000)]

    with_all = calls_during(lambda: bench.fire("message_received", message, STRANGER))

    assert with_all == with_one
    assert len(first.fired) == 3
    assert not any(site.fired for site in others)


def test_it_is_explained_in_plain_words() -> None:
    config = {"channel": ["telegram", "webchat"], "from_owner": True, "text": {"exact": "hi", "contains": "you"}}

    assert explained({"trigger": "message", **config, "regex": "a+"}) == (
        "when a message arrives from the owner on telegram or webchat that says “hi” or contains “you” and matches /a+/"
    )
