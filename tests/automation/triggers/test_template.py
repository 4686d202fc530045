"""The trigger `template`: from false to true, looked at again only when something it depends on changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hub.core.schema import Invalid
from tests.automation.triggers.bench import Bench, calls_during, explained, valid

HOME = "{{ is_state('person.me', 'home') }}"


def template(text: str, **more: Any) -> dict[str, Any]:
    return {"trigger": "template", "value_template": text, **more}


def test_mistakes_are_told() -> None:
    with pytest.raises(Invalid, match="value_template"):
        valid({"trigger": "template"})
    with pytest.raises(Invalid, match="template is not valid"):
        valid(template("{{ is_state( }}"))


async def test_it_fires_when_it_becomes_true(bench: Bench) -> None:
    bench.states.set("person.me", "away")
    site = bench.arm(template(HOME))

    bench.states.set("person.me", "home")
    bench.states.set("person.me", "home", {"x": 1})
    bench.states.set("person.me", "away")
    bench.states.set("person.me", "home")

    assert len(site.fired) == 2
    trigger = site.fired[0].trigger
    assert (trigger["entity_id"], trigger["from_state"].state, trigger["to_state"].state) == (
        "person.me",
        "away",
        "home",
    )
    assert trigger["description"] == "person.me via template"
    assert site.fired[0].context is not None


async def test_what_is_true_when_it_is_armed_must_become_false_first(bench: Bench) -> None:
    bench.states.set("person.me", "home")
    site = bench.arm(template(HOME))

    bench.states.set("person.me", "home", {"x": 1})
    assert site.fired == []
    bench.states.set("person.me", "away")
    bench.states.set("person.me", "home")

    assert len(site.fired) == 1


async def test_changes_of_others_render_nothing(bench: Bench) -> None:
    bench.arm(template(HOME))

    calls = calls_during(lambda: bench.bus.fire("state_changed", {"entity_id": "light.x"}))

    assert calls < 20


async def test_what_it_depends_on_follows_what_it_looked_at(bench: Bench) -> None:
    bench.states.set("input.which", "a")
    site = bench.arm(template("{{ is_state('light.' ~ states('input.which'), 'on') }}"))

    bench.states.set("light.b", "on")
    assert site.fired == []
    bench.states.set("input.which", "b")
    bench.states.set("light.b", "off")
    bench.states.set("light.b", "on")

    assert [fired.trigger["entity_id"] for fired in site.fired] == ["input.which", "light.b"]


async def test_the_time_is_looked_at_every_minute(bench: Bench) -> None:
    site = bench.arm(template("{{ now().hour == 1 }}"))

    await bench.clock.advance(3_599)
    assert site.fired == []
    await bench.clock.advance(60)
    await bench.clock.advance(3_600)

    assert len(site.fired) == 1
    assert site.fired[0].trigger["entity_id"] is None
    assert site.fired[0].context is None
    assert site.fired[0].trigger["description"] == "time change or manual update via template"


async def test_a_domain_is_gone_through_at_most_once_a_second(bench: Bench) -> None:
    site = bench.arm(template("{{ states.light | selectattr('state', 'eq', 'on') | list | count >= 2 }}"))

    bench.states.set("light.a", "on")
    bench.states.set("light.b", "on")
    bench.states.set("switch.c", "on")
    assert site.fired == []
    await bench.clock.advance(1)

    assert len(site.fired) == 1


async def test_all_states_are_gone_through_at_most_once_a_minute(bench: Bench) -> None:
    site = bench.arm(template("{{ states | list | count >= 2 }}"))

    bench.states.set("light.a", "on")
    bench.states.set("switch.b", "on")
    await bench.clock.advance(59)
    assert site.fired == []
    await bench.clock.advance(1)

    assert len(site.fired) == 1


async def test_for_waits_and_ends_when_it_becomes_false(bench: Bench) -> None:
    bench.states.set("person.me", "away")
    site = bench.arm(template(HOME, **{"for": {"minutes": "{{ 1 + 1 }}"}}))

    bench.states.set("person.me", "home")
    await bench.clock.advance(119)
    bench.states.set("person.me", "away")
    bench.states.set("person.me", "home")
    await bench.clock.advance(119)
    bench.states.set("person.me", "home", {"x": 1})
    assert site.fired == []
    await bench.clock.advance(1)

    assert [fired.trigger["for"] for fired in site.fired] == [timedelta(minutes=2)]


async def test_it_sees_the_trigger_variables(bench: Bench) -> None:
    site = bench.arm(template("{{ is_state(who, 'home') }}"), variables={"who": "person.me"})

    bench.states.set("person.me", "home")

    assert len(site.fired) == 1


async def test_a_failure_is_told_once_and_it_goes_on(bench: Bench) -> None:
    bench.states.set("sensor.x", "0")
    site = bench.arm(template("{{ 1 / (states('sensor.x') | int) > 0.5 }}"))

    await bench.clock.advance(120)
    bench.states.set("sensor.x", "4")
    await bench.clock.advance(60)
    bench.states.set("sensor.x", "1")

    assert len(site.fired) == 1
    assert len(site.failures) == 1
    assert "division by zero" in site.failures[0]


async def test_a_constant_and_mere_text_never_fire(bench: Bench) -> None:
    text = bench.arm(template("true"))
    literal = bench.arm(template(HOME), templates=False)
    constant = bench.arm(template("{{ 1 == 1 }}"))

    bench.states.set("person.me", "home")
    await bench.clock.advance(180)

    assert text.fired == literal.fired == constant.fired == []


async def test_nothing_is_left_when_it_is_disarmed(bench: Bench) -> None:
    bench.arm(template("{{ now() and states.light | list and is_state('a.b', 'on') and states | list }}"))
    bench.states.set("light.a", "on")
    bench.states.set("light.a", "off")

    bench.disarm()
    await bench.clock.advance(120)

    assert bench.bus.listener_counts() == {}
    assert len(bench.parts.timetable) == 0
    assert not [name for name in bench.tasks.names() if "template" in name]


def test_it_is_explained_in_plain_words() -> None:
    assert explained(template(HOME, **{"for": 90})) == (
        "when {{ is_state('person.me', 'home') }} becomes true and stays so for 1 min 30 s"
    )
