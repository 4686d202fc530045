"""The trigger `state`, by the rules of Home Assistant."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hub.core.context import Context
from hub.core.schema import Invalid
from tests.automation.triggers.bench import OWNER, Bench, calls_during, explained, valid

LIGHT = "light.kitchen"


def fires(bench: Bench, config: dict[str, Any], *changes: tuple[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """Arm with the light off, make the changes, and return from which state to which it fired."""
    bench.states.set(LIGHT, "off")
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, **config})
    for state, attributes in changes:
        bench.states.set(LIGHT, state, attributes)
    return [(each.trigger["from_state"].state, each.trigger["to_state"].state) for each in site.fired]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "entity_id"),
        ({"entity_id": "kitchen"}, "entity id such as"),
        ({"entity_id": LIGHT, "to": True}, '"on"'),
        ({"entity_id": LIGHT, "to": []}, "empty list"),
        ({"entity_id": LIGHT, "to": {"a": 1}}, "expected a state"),
        ({"entity_id": LIGHT, "to": "on", "not_to": "off"}, "exclude"),
        ({"entity_id": LIGHT, "from": "on", "not_from": "off"}, "exclude"),
        ({"entity_id": LIGHT, "for": "soon"}, "duration"),
        ({"entity_id": LIGHT, "for": {"weeks": "1"}}, "days, hours"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid({"trigger": "state", **config})


def test_numbers_are_states_as_they_are_written() -> None:
    assert valid({"trigger": "state", "entity_id": "a.b, c.d", "to": [1, "x"]})["to"] == ["1", "x"]


async def test_without_from_and_to_changes_of_attributes_count(bench: Bench) -> None:
    assert fires(bench, {}, ("off", {"x": 1}), ("on", {})) == [("off", "off"), ("off", "on")]


@pytest.mark.parametrize("key", ["from", "to", "not_from", "not_to"])
async def test_nothing_behind_a_key_means_changes_of_the_state_only(bench: Bench, key: str) -> None:
    assert fires(bench, {key: None}, ("off", {"x": 1}), ("on", {})) == [("off", "on")]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"to": "on"}, [("off", "on"), ("dim", "on")]),
        ({"from": "off"}, [("off", "on")]),
        ({"from": "off", "to": "on"}, [("off", "on")]),
        ({"to": ["dim", "off"]}, [("on", "dim"), ("on", "off")]),
        ({"from": ["off", "dim"], "to": "on"}, [("off", "on"), ("dim", "on")]),
        ({"not_to": ["on"]}, [("on", "dim"), ("on", "off")]),
        ({"not_from": "on"}, [("off", "on"), ("dim", "on")]),
        ({"not_from": ["off"], "to": "on"}, [("dim", "on")]),
    ],
)
async def test_from_and_to_choose_the_changes(
    bench: Bench, config: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert fires(bench, config, ("on", {}), ("dim", {}), ("on", {"x": 1}), ("off", {})) == expected


async def test_it_fires_with_what_home_assistant_shows(bench: Bench) -> None:
    bench.states.set(LIGHT, "off")
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "to": "on"})

    bench.states.set(LIGHT, "on")

    trigger = site.fired[0].trigger
    assert trigger["entity_id"] == LIGHT
    assert trigger["from_state"].state == "off"
    assert trigger["to_state"] is bench.states.get(LIGHT)
    assert trigger["for"] is None
    assert trigger["attribute"] is None
    assert trigger["description"] == f"state of {LIGHT}"
    assert site.fired[0].context == bench.states.get(LIGHT).context  # type: ignore[union-attr]


async def test_an_entity_that_comes_and_goes_is_a_change(bench: Bench) -> None:
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "not_from": "unavailable"})

    bench.states.set(LIGHT, "on")
    bench.states.remove(LIGHT)

    assert [each.trigger["to_state"] is None for each in site.fired] == [False, True]


async def test_an_attribute_is_watched_alone(bench: Bench) -> None:
    bench.states.set("climate.room", "on", {"action": "idle", "list": [1]})
    any_change = bench.arm({"trigger": "state", "entity_id": "climate.room", "attribute": "action"})
    heating = bench.arm({"trigger": "state", "entity_id": "climate.room", "attribute": "action", "to": "heating"})
    listed = bench.arm({"trigger": "state", "entity_id": "climate.room", "attribute": "list", "not_to": 5})

    bench.states.set("climate.room", "off", {"action": "idle", "list": [1]})
    bench.states.set("climate.room", "off", {"action": "heating", "list": [1, 2]})
    bench.states.set("climate.room", "off", {"action": "cooling", "list": [1, 2]})

    assert [len(site.fired) for site in (any_change, heating, listed)] == [2, 1, 1]
    assert heating.fired[0].trigger["attribute"] == "action"


async def test_a_taint_of_the_change_goes_with_it(bench: Bench) -> None:
    site = bench.arm({"trigger": "state", "entity_id": LIGHT})

    bench.states.set(LIGHT, "on", {}, Context(OWNER.narrow(tainted=True)))

    assert site.fired[0].tainted


async def test_for_waits_and_is_told(bench: Bench) -> None:
    bench.states.set(LIGHT, "off")
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "to": "on", "for": {"minutes": 5}})
    bench.states.set(LIGHT, "on")

    await bench.clock.advance(299)
    assert site.fired == []
    await bench.clock.advance(1)

    assert site.fired[0].trigger["for"] == timedelta(minutes=5)
    assert site.fired[0].trigger["to_state"].state == "on"


async def test_for_ends_when_the_state_is_left_and_begins_anew(bench: Bench) -> None:
    bench.states.set(LIGHT, "off")
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "to": "on", "for": "00:01:00"})

    bench.states.set(LIGHT, "on")
    await bench.clock.advance(50)
    bench.states.set(LIGHT, "on", {"brightness": 3})
    bench.states.set(LIGHT, "off")
    bench.states.set(LIGHT, "on")
    await bench.clock.advance(59)
    assert site.fired == []
    await bench.clock.advance(1)

    assert len(site.fired) == 1


async def test_changes_of_attributes_do_not_end_what_is_held(bench: Bench) -> None:
    bench.states.set(LIGHT, "off")
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "for": 60})
    bench.states.set(LIGHT, "on")

    await bench.clock.advance(30)
    bench.states.set(LIGHT, "on", {"brightness": 3})
    await bench.clock.advance(30)
    bench.states.set(LIGHT, "on", {"brightness": 4})
    await bench.clock.advance(300)

    assert len(site.fired) == 1


async def test_with_from_alone_only_coming_back_ends_the_wait(bench: Bench) -> None:
    bench.states.set(LIGHT, "off")
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "from": "off", "for": 60})

    bench.states.set(LIGHT, "playing")
    await bench.clock.advance(30)
    bench.states.set(LIGHT, "paused")
    await bench.clock.advance(30)
    bench.states.set(LIGHT, "off")
    bench.states.set(LIGHT, "playing")
    await bench.clock.advance(30)
    bench.states.set(LIGHT, "off")
    await bench.clock.advance(600)

    assert [each.trigger["to_state"].state for each in site.fired] == ["playing"]


async def test_each_entity_has_its_own_wait(bench: Bench) -> None:
    site = bench.arm({"trigger": "state", "entity_id": ["light.a", "light.b"], "to": "on", "for": 60})

    bench.states.set("light.a", "on")
    await bench.clock.advance(30)
    bench.states.set("light.b", "on")
    bench.states.set("light.a", "off")
    await bench.clock.advance(60)

    assert [each.trigger["entity_id"] for each in site.fired] == ["light.b"]


async def test_removing_the_entity_or_disarming_ends_the_wait(bench: Bench) -> None:
    removed = bench.arm({"trigger": "state", "entity_id": "light.a", "to": "on", "for": 60})
    disarmed = bench.arm({"trigger": "state", "entity_id": "light.b", "to": "on", "for": 60})
    bench.states.set("light.a", "on")
    bench.states.set("light.b", "on")

    bench.states.remove("light.a")
    bench.disarm()
    await bench.clock.advance(60)

    assert removed.fired == disarmed.fired == []
    assert not [name for name in bench.tasks.names() if name.startswith("hold")]


async def test_for_may_be_a_template_that_sees_the_trigger(bench: Bench) -> None:
    bench.states.set("input_number.wait", "2")
    config = {
        "trigger": "state",
        "entity_id": LIGHT,
        "to": "on",
        "for": {
            "minutes": "{{ states('input_number.wait') | int }}",
            "seconds": "{{ trigger.to_state.state | length }}",
        },
    }
    site = bench.arm(config)

    bench.states.set(LIGHT, "on")
    await bench.clock.advance(121)
    assert site.fired == []
    await bench.clock.advance(1)

    assert site.fired[0].trigger["for"] == timedelta(seconds=122)


async def test_a_duration_that_cannot_be_told_is_a_failure(bench: Bench) -> None:
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "to": "on", "for": "{{ 'soon' }}"})

    bench.states.set(LIGHT, "on")

    assert site.fired == []
    assert "duration" in site.failures[0]


async def test_a_clock_that_jumps_neither_ends_nor_prolongs_a_wait(bench: Bench) -> None:
    site = bench.arm({"trigger": "state", "entity_id": LIGHT, "to": "on", "for": 60})
    bench.states.set(LIGHT, "on")

    bench.clock.jump(86_400)
    await bench.clock.advance(59)
    assert site.fired == []
    bench.clock.jump(-86_400)
    await bench.clock.advance(1)

    assert len(site.fired) == 1


async def test_more_entities_than_the_bus_expands_are_indexed_all_the_same(bench: Bench) -> None:
    entities = [f"sensor.s{n}" for n in range(2_500)]
    site = bench.arm({"trigger": "state", "entity_id": entities})

    bench.states.set("sensor.s2400", "1")
    bench.states.set("sensor.other", "1")

    assert [each.trigger["entity_id"] for each in site.fired] == ["sensor.s2400"]
    assert bench.bus.listener_counts()["state_changed"] == 2_500


async def test_with_five_thousand_a_change_costs_as_many_calls_as_with_one(bench: Bench) -> None:
    bench.arm({"trigger": "state", "entity_id": "sensor.s0"})
    with_one = calls_during(lambda: bench.states.set("sensor.s0", "1"))
    others = [bench.arm({"trigger": "state", "entity_id": f"sensor.s{n}", "to": "on"}) for n in range(1, 5_000)]

    with_all = calls_during(lambda: bench.states.set("sensor.s0", "2"))

    assert with_all == with_one
    assert not any(site.fired for site in others)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"entity_id": LIGHT, "to": "on"}, "when light.kitchen turns on"),
        (
            {"entity_id": LIGHT, "from": "on", "to": "off", "for": 60},
            "when light.kitchen turns off and stays so for 1 min",
        ),
        ({"entity_id": "cover.a", "to": "open"}, "when cover.a opens"),
        ({"entity_id": "lock.a", "from": "x", "to": "locked"}, "when lock.a changes from x to locked"),
        ({"entity_id": LIGHT, "to": ["on", "dim"]}, "when light.kitchen changes to on or dim"),
        (
            {"entity_id": [LIGHT, "light.b"], "from": "off", "not_to": ["x", "y"], "for": "00:05:00"},
            "when light.kitchen or light.b changes from off to anything but x or y and stays so for 5 min",
        ),
        ({"entity_id": "person.ada", "to": "not_home"}, "when person.ada leaves home"),
        (
            {"entity_id": ["person.ada", "device_tracker.b"], "to": "home", "for": "00:05:00"},
            "when person.ada or device_tracker.b comes home and stays so for 5 min",
        ),
        (
            {"entity_id": "person.ada", "from": "home", "to": "not_home"},
            "when person.ada changes from home to not_home",
        ),
        ({"entity_id": LIGHT, "attribute": "mode"}, "when the attribute mode of light.kitchen changes"),
    ],
)
def test_it_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained({"trigger": "state", **config}) == words
