"""The trigger `numeric_state`: it fires on crossing, and only then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hub.core.schema import Invalid
from tests.automation.triggers.bench import Bench, explained, valid

TEMPERATURE = "sensor.temperature"


def numeric(**config: Any) -> dict[str, Any]:
    return {"trigger": "numeric_state", "entity_id": TEMPERATURE, **config}


def fires(bench: Bench, config: dict[str, Any], *values: str) -> list[str]:
    """Set the values one after the other and return those at which it fired."""
    bench.states.set(TEMPERATURE, values[0])
    site = bench.arm(config)
    for value in values[1:]:
        bench.states.set(TEMPERATURE, value)
    return [fired.trigger["to_state"].state for fired in site.fired]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "above, below or both"),
        ({"above": "warm"}, "number or an entity id"),
        ({"above": True}, "number or an entity id"),
        ({"above": float("nan")}, "number or an entity id"),
        ({"above": 6, "below": 5}, "no number is above 6"),
        ({"below": [1]}, "number or an entity id"),
        ({"below": 1, "value_template": "{{ ( }}"}, "not valid"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid(numeric(**config))


@pytest.mark.parametrize(
    ("config", "values", "expected"),
    [
        ({"above": 20}, ["18", "19", "21", "22", "20", "20.5"], ["21", "20.5"]),
        ({"above": 20}, ["25", "26", "19", "21"], ["21"]),
        ({"below": "20"}, ["25", "20", "19.9", "10"], ["19.9"]),
        ({"above": 17, "below": 25}, ["10", "18", "24", "25", "20", "5", "30"], ["18", "20"]),
        ({"above": -5}, ["-6", "-4"], ["-4"]),
        ({"above": 20}, ["25", "unavailable", "25"], ["25"]),
        ({"above": 20}, ["25", "unknown", "26"], ["26"]),
    ],
)
async def test_it_fires_when_it_crosses(
    bench: Bench, config: dict[str, Any], values: list[str], expected: list[str]
) -> None:
    assert fires(bench, numeric(**config), *values) == expected


async def test_an_edge_may_be_another_entity(bench: Bench) -> None:
    bench.states.set("sensor.inside", "20")
    config = numeric(above="sensor.inside")

    assert fires(bench, config, "18", "21") == ["21"]


async def test_an_attribute_or_a_template_may_say_the_number(bench: Bench) -> None:
    bench.states.set("climate.room", "on", {"now": 20, "set": 20})
    attribute = bench.arm({"trigger": "numeric_state", "entity_id": "climate.room", "attribute": "now", "above": 22})
    template = bench.arm(
        {
            "trigger": "numeric_state",
            "entity_id": "climate.room",
            "value_template": "{{ state.attributes.now - state.attributes.set + offset }}",
            "above": 2,
        },
        variables={"offset": 1},
    )

    bench.states.set("climate.room", "on", {"now": 22, "set": 20})
    bench.states.set("climate.room", "on", {"now": 23, "set": 20})

    assert [len(attribute.fired), len(template.fired)] == [1, 1]
    assert template.fired[0].trigger["to_state"].attributes["now"] == 22
    assert attribute.fired[0].trigger["attribute"] == "now"


async def test_it_fires_with_what_home_assistant_shows(bench: Bench) -> None:
    bench.states.set(TEMPERATURE, "10")
    site = bench.arm(numeric(above=17, below=25))

    bench.states.set(TEMPERATURE, "20")

    trigger = site.fired[0].trigger
    assert (trigger["entity_id"], trigger["above"], trigger["below"], trigger["for"]) == (TEMPERATURE, 17.0, 25.0, None)
    assert (trigger["from_state"].state, trigger["to_state"].state) == ("10", "20")
    assert trigger["description"] == f"numeric state of {TEMPERATURE}"
    assert site.fired[0].context == bench.states.get(TEMPERATURE).context  # type: ignore[union-attr]


async def test_what_is_no_number_is_told_once_and_others_go_on(bench: Bench) -> None:
    bench.states.set(TEMPERATURE, "10")
    bench.states.set("sensor.other", "10")
    site = bench.arm(numeric(entity_id=[TEMPERATURE, "sensor.other"], above=17))

    bench.states.set(TEMPERATURE, "warm")
    bench.states.set(TEMPERATURE, "hot")
    bench.states.set("sensor.other", "20")
    bench.states.set(TEMPERATURE, "20")

    assert [fired.trigger["entity_id"] for fired in site.fired] == ["sensor.other", TEMPERATURE]
    assert len(site.failures) == 1
    assert "not a number" in site.failures[0]


async def test_an_edge_that_is_not_there_is_told(bench: Bench) -> None:
    site = bench.arm(numeric(above="sensor.limit"))

    bench.states.set(TEMPERATURE, "20")

    assert "sensor.limit" in site.failures[0]


async def test_for_ends_when_the_range_is_left(bench: Bench) -> None:
    bench.states.set(TEMPERATURE, "10")
    site = bench.arm(numeric(above=17, **{"for": "00:01:00"}))

    bench.states.set(TEMPERATURE, "20")
    await bench.clock.advance(30)
    bench.states.set(TEMPERATURE, "16")
    bench.states.set(TEMPERATURE, "20")
    await bench.clock.advance(30)
    bench.states.set(TEMPERATURE, "21")
    await bench.clock.advance(30)

    assert [(fired.trigger["to_state"].state, fired.trigger["for"]) for fired in site.fired] == [
        ("20", timedelta(minutes=1))
    ]


async def test_nothing_is_left_when_it_is_disarmed(bench: Bench) -> None:
    bench.states.set(TEMPERATURE, "10")
    site = bench.arm(numeric(above=17, **{"for": 60}))
    bench.states.set(TEMPERATURE, "20")

    bench.disarm()
    await bench.clock.advance(120)

    assert site.fired == []
    assert bench.bus.listener_counts() == {}


def test_it_is_explained_in_plain_words() -> None:
    assert explained(numeric(above=17, below="sensor.max", **{"for": 60})) == (
        "when sensor.temperature goes above 17 and below sensor.max and stays so for 1 min"
    )
