"""The trigger `event`: types, data, context, and an index that does not care how many wait for something else."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import Authority
from hub.core.schema import Invalid
from tests.automation.triggers.bench import OWNER, STRANGER, Bench, calls_during, explained, valid


def test_an_event_type_is_needed_and_not_every_event() -> None:
    with pytest.raises(Invalid, match="event_type"):
        valid({"trigger": "event"})
    with pytest.raises(Invalid, match="set itself off"):
        valid({"trigger": "event", "event_type": "*"})
    with pytest.raises(Invalid, match="principal"):
        valid({"trigger": "event", "event_type": "a", "context": {"name": "me"}})
    with pytest.raises(Invalid, match="keys and the values"):
        valid({"trigger": "event", "event_type": "a", "event_data": ["b"]})


async def test_it_fires_with_the_event_and_its_context(bench: Bench) -> None:
    site = bench.arm({"trigger": "event", "event_type": "doorbell"})

    context = bench.fire("doorbell", {"door": "front"})

    fired = site.fired[0]
    assert fired.context is context
    assert fired.trigger["event"]["event_type"] == "doorbell"
    assert fired.trigger["event"]["data"] == {"door": "front"}
    assert fired.trigger["event"]["time_fired"].timestamp() == bench.clock.time()
    assert fired.trigger["event"]["context"]["id"] == context.id
    assert fired.trigger["description"] == "event 'doorbell'"
    assert not fired.tainted


async def test_several_types_are_listened_to_until_it_is_disarmed(bench: Bench) -> None:
    site = bench.arm({"trigger": "event", "event_type": ["a", "b", "a"]})
    bench.fire("a")
    bench.fire("b")
    bench.fire("c")

    bench.disarm()
    bench.fire("a")

    assert [fired.trigger["event"]["event_type"] for fired in site.fired] == ["a", "b"]
    assert bench.bus.listener_counts() == {}


@pytest.mark.parametrize(
    ("wanted", "data", "fires"),
    [
        ({"mood": "happy"}, {"mood": "happy", "more": 1}, True),
        ({"mood": "happy"}, {"mood": "sad"}, False),
        ({"mood": "happy"}, {}, False),
        ({"n": 1}, {"n": 1.0}, True),
        ({"flag": True}, {"flag": False}, False),
        ({"none": None}, {"none": None}, True),
        ({"none": None}, {}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, False),
        ({"a": {"b": 1}}, {"a": 1}, False),
        ({"a": [1, 2]}, {"a": [2]}, True),
        ({"a": [1, 2]}, {"a": [3]}, False),
        ({"a": [{"x": 1}]}, {"a": [{"x": 1, "y": 2}]}, True),
        ({"a": "x", "b": {"c": 1}}, {"a": "x", "b": {"c": 1}}, True),
        ({"a": "x", "b": {"c": 1}}, {"a": "y", "b": {"c": 1}}, False),
        (None, {"anything": 1}, True),
    ],
)
async def test_event_data_is_a_part_of_the_data(
    bench: Bench, wanted: dict[str, Any] | None, data: dict[str, Any], fires: bool
) -> None:
    site = bench.arm({"trigger": "event", "event_type": "e", "event_data": wanted})

    bench.fire("e", data)

    assert bool(site.fired) is fires


@pytest.mark.parametrize(
    ("context", "authority", "fires"),
    [
        ({"user_id": "me"}, OWNER, True),
        ({"user_id": ["you", "me"]}, OWNER, True),
        ({"user_id": "me"}, STRANGER, False),
        ({"user_id": "peer:test:user:2"}, STRANGER, True),
        ({"person": "me"}, OWNER, True),
        ({"principal": "me"}, OWNER, False),
        ({"principal": "system"}, Authority("system"), True),
        ({"user_id": []}, STRANGER, True),
        ({"user_id": "me", "parent_id": "x"}, OWNER, False),
    ],
)
async def test_the_context_says_whom_it_must_come_from(
    bench: Bench, context: dict[str, Any], authority: Authority, fires: bool
) -> None:
    site = bench.arm({"trigger": "event", "event_type": "e", "context": context})

    bench.fire("e", {}, authority)

    assert bool(site.fired) is fires


async def test_templates_are_rendered_once_when_it_is_armed(bench: Bench) -> None:
    site = bench.arm(
        {
            "trigger": "event",
            "event_type": "{{ 'MY_' ~ sub }}",
            "event_data": {"node": "{{ node }}", "deep": {"value": "{{ 1 + 1 }}"}},
        },
        variables={"sub": "EVENT", "node": "ac"},
    )

    bench.fire("MY_EVENT", {"node": "ac", "deep": {"value": 2}})
    bench.fire("MY_EVENT", {"node": "tv", "deep": {"value": 2}})

    assert len(site.fired) == 1
    assert site.failures == []


async def test_what_looks_like_a_template_is_text_where_text_is_text(bench: Bench) -> None:
    site = bench.arm({"trigger": "event", "event_type": "e", "event_data": {"a": "{{ 1 }}"}}, templates=False)

    bench.fire("e", {"a": "{{ 1 }}"})

    assert len(site.fired) == 1


async def test_a_template_that_fails_is_told_and_nothing_is_watched(bench: Bench) -> None:
    site = bench.arm({"trigger": "event", "event_type": "{{ 1 / 0 }}"})

    assert len(site.failures) == 1
    assert bench.bus.listener_counts() == {}


async def test_words_from_outside_taint(bench: Bench) -> None:
    site = bench.arm({"trigger": "event", "event_type": ["message_received", "mqtt_message", "own"]})

    bench.fire("message_received", {"text": "hi", "from_owner": True}, OWNER)
    bench.fire("message_received", {"text": "hi", "from_owner": False}, STRANGER)
    bench.fire("mqtt_message", {"topic": "a"})
    bench.fire("own", {}, OWNER.narrow(tainted=True))

    assert [fired.tainted for fired in site.fired] == [False, True, True, True]


async def test_with_five_thousand_an_event_costs_as_many_calls_as_with_one(bench: Bench) -> None:
    def data_of(number: int) -> dict[str, Any]:
        return {"button": f"b{number}", "kind": "x"}

    first = bench.arm({"trigger": "event", "event_type": "e", "event_data": data_of(0)})
    bench.fire("e", data_of(0))
    with_one = calls_during(lambda: bench.fire("e", data_of(0)))
    others = [bench.arm({"trigger": "event", "event_type": "e", "event_data": data_of(n)}) for n in range(1, 5_000)]

    with_all = calls_during(lambda: bench.fire("e", data_of(0)))

    assert with_all == with_one
    assert len(first.fired) == 3
    assert not any(site.fired for site in others)


def test_it_is_explained_in_plain_words() -> None:
    config = {"event_type": ["a", "b"], "event_data": {"x": 1, "y": 2}, "context": {"user_id": "me"}}

    assert explained({"trigger": "event", **config}) == (
        "when the event “a” or “b” happens with x 1 and y 2 because of me"
    )


async def test_the_start_of_home_assistant_is_the_start_of_the_hub(bench: Bench) -> None:
    site = bench.arm({"trigger": "event", "event_type": "homeassistant_started"})

    bench.fire("hub_started", {"version": "1"})

    assert len(site.fired) == 1
