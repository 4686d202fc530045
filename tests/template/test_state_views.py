"""Templates see states read-only, and what they looked at is noted."""

# ruff: noqa: E501 - a template and what it gives stand on one line
from __future__ import annotations

from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.states import StateMachine
from hub.template.engine import TemplateEngine
from tests.template.conftest import Render


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ states('light.kitchen') }} {{ states('light.nope') }}", "on unknown"),
        ("{{ states.light.kitchen.state }} {{ states['light.kitchen'].state }}", "on on"),
        (
            "{{ states.light.kitchen.name }} {{ states.light.kitchen.domain }} {{ states.light.kitchen.object_id }}",
            "Kitchen light kitchen",
        ),
        ("{{ states.light.kitchen.attributes.brightness }} {{ states.light.kitchen.attributes['nope'] }}", 120),
        ("{{ states.light.kitchen.last_changed }}", "2026-03-14 16:09:26+01:00"),
        ("{{ states.light.kitchen.last_updated.hour }}", 16),
        ("{{ states.light.kitchen.context.id | length > 5 }}", True),
        ("{{ states.light.nope is none }} {{ states.light.nope.state is defined }}", "True False"),
        ("{{ states.light | map(attribute='entity_id') | list }}", ["light.hall", "light.kitchen"]),
        ("{{ states | length }} {{ states.light | count }}", "5 2"),
        (
            "{{ states | selectattr('state', 'eq', 'on') | map(attribute='entity_id') | join(' ') }}",
            "group.lights light.kitchen",
        ),
        ("{% for state in states.light %}{{ state.name }};{% endfor %}", "Hall;Kitchen;"),
        ("{{ states('sensor.outside') }}|{{ states('sensor.outside', rounded=true) }}", "21.456|21.5"),
        (
            "{{ states('sensor.outside', with_unit=true) }}|{{ states.sensor.outside.state_with_unit }}",
            "21.5 °C|21.5 °C",
        ),
        (
            "{{ states('sensor.outside', false, true) }}|{{ states('sensor.broken', with_unit=true) }}",
            "21.456 °C|unavailable",
        ),
        (
            "{{ is_state('light.kitchen', 'on') }} {{ is_state('light.hall', ['on', 'off']) }} {{ is_state('x.y', 'unknown') }}",
            "True True False",
        ),
        ("{{ 'light.kitchen' is is_state('on') }} {{ 'light.kitchen' | is_state('off') }}", "True False"),
        ("{{ state_attr('light.kitchen', 'brightness') }} {{ state_attr('x.y', 'z') }}", "120 None"),
        (
            "{{ is_state_attr('light.kitchen', 'brightness', 120) }} {{ 'light.hall' is is_state_attr('brightness', 1) }}",
            "True False",
        ),
        (
            "{{ has_value('light.kitchen') }} {{ 'sensor.broken' is has_value }} {{ has_value('x.y') }}",
            "True False False",
        ),
        ("{{ ['light.kitchen', 'sensor.broken'] | select('has_value') | list }}", ["light.kitchen"]),
        ("{{ expand('group.lights') | map(attribute='entity_id') | list }}", ["light.hall", "light.kitchen"]),
        ("{{ expand(['light.hall', 'x.y'], states.light.kitchen) | map(attribute='state') | list }}", ["off", "on"]),
        ("{{ state_translated('light.kitchen') }} {{ 'light.kitchen' | states }}", "on on"),
        (
            "{{ states.light.kitchen }} {{ states }} {{ states.light }}",
            "<state light.kitchen=on> <all states> <states of light>",
        ),
        (
            "{{ states.light.kitchen == states.light.kitchen }} {{ states.light.kitchen == states.light.hall }}",
            "True False",
        ),
        ("{{ states.light | sort(attribute='name') | map(attribute='name') | first }}", "Hall"),
        ("{{ states('LIGHT.Kitchen ') }} {{ states(states.light.hall) }}", "on off"),
        ("{{ (states.light | list)[0].entity_id }}", "light.hall"),
    ],
)
def test_states_are_read_as_in_home_assistant(render: Render, text: str, expected: Any) -> None:
    assert render(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ trigger.to_state.state }} {{ trigger.to_state.attributes.brightness }}", "on 120"),
        ("{{ trigger.to_state.last_changed }}", "2026-03-14 16:09:26+01:00"),
        ("{{ trigger['to_state'].name }} {{ trigger.to_state.domain }}", "Kitchen light"),
        (
            "{{ trigger.to_state }} {{ [trigger.to_state] }} {{ trigger }}",
            "<state light.kitchen=on> [<state light.kitchen=on>] {'to_state': <state light.kitchen=on>}",
        ),
        ("{% for key, state in trigger.items() %}{{ key }}={{ state.state }}{% endfor %}", "to_state=on"),
        ("{{ trigger.values() | map(attribute='state') | list }}", ["on"]),
        ("{{ trigger.to_state == states.light.kitchen }}", True),
        ("{{ trigger.to_state.context.parent_id }}", None),
    ],
)
def test_a_state_in_a_variable_is_seen_like_any_other(
    render: Render, states: StateMachine, text: str, expected: Any
) -> None:
    assert render(text, trigger={"to_state": states.get("light.kitchen")}) == expected


@pytest.mark.parametrize(
    ("text", "entities", "domains", "all_states", "uses_time"),
    [
        ("{{ 1 + 1 }}", set(), set(), False, False),
        ("{{ states('light.kitchen') }}", {"light.kitchen"}, set(), False, False),
        ("{{ states.light.nope.state }}", {"light.nope"}, set(), False, False),
        ("{{ is_state('light.hall', 'on') and states('light.kitchen') }}", {"light.hall"}, set(), False, False),
        ("{{ state_attr('light.hall', 'x') }}{{ has_value('a.b') }}", {"light.hall", "a.b"}, set(), False, False),
        ("{{ states.light | length }}", set(), {"light"}, False, False),
        ("{{ states | length }}", set(), set(), True, False),
        ("{{ expand('group.lights') | length }}", {"group.lights", "light.kitchen", "light.hall"}, set(), False, False),
        ("{{ now().hour }}", set(), set(), False, True),
        ("{{ utcnow() }}{{ today_at() }}", set(), set(), False, True),
        ("{{ states.light.hall.last_changed | relative_time }}", {"light.hall"}, set(), False, True),
        ("{{ time_since(x) }}", set(), set(), False, False),
    ],
)
def test_what_a_rendering_depended_on_is_told(
    templates: TemplateEngine,
    text: str,
    entities: set[str],
    domains: set[str],
    all_states: bool,
    uses_time: bool,
) -> None:
    _, info = templates.compile(text).render_info({"x": 1})

    assert info.entities >= entities
    assert info.entities - {"group.lights"} <= entities
    assert info.domains == domains
    assert info.all_states is all_states
    assert info.uses_time is uses_time


def test_each_rendering_sees_the_states_of_its_moment(templates: TemplateEngine, states: StateMachine) -> None:
    template = templates.compile("{{ states('light.hall') }}")
    before = template.render({})

    states.set("light.hall", "on")

    assert (before, template.render({})) == ("off", "on")


async def test_time_goes_on_between_renderings(templates: TemplateEngine, clock: ManualClock) -> None:
    template = templates.compile("{{ now().minute }}")
    before = template.render({})

    await clock.advance(60)

    assert (before, template.render({})) == (9, 10)
