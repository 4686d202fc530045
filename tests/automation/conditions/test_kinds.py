"""The kinds of conditions: what Home Assistant's documentation says they do, with a reason in plain words."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.automation.conditions.logic import explain_condition
from hub.automation.conditions.time import within
from hub.automation.contract import ConditionVerdict, Location
from hub.automation.definition.fields import conditions
from hub.automation.definition.kinds import CONDITIONS, OUR_KINDS
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.evaluate import ConditionError, evaluate
from hub.core.json_schema import to_json_schema
from hub.core.schema import Invalid, Schema, describe_error
from tests.automation.ground import BERLIN, NEW_YEAR, asking, clock_of, make_parts

BERLIN_PLACE = Location(52.52, 13.40, 34)
TROMSO = Location(69.65, 18.96)


def ask(parts: AutomationParts, raw: Any, variables: dict[str, Any] | None = None) -> ConditionVerdict:
    (valid,) = conditions(raw)
    return evaluate(valid, asking(parts, variables))


def lit(**entities: str) -> AutomationParts:
    parts = make_parts()
    for name, state in entities.items():
        parts.states.set(name.replace("__", "."), state, {"brightness": 80, "modes": ["a"]})
    return parts


# --- state ---


@pytest.mark.parametrize(
    ("raw", "holds", "reason"),
    [
        ({"entity_id": "light.hall", "state": "on"}, True, "light.hall is on"),
        ({"entity_id": "light.hall", "state": "off"}, False, "light.hall is on, not off"),
        ({"entity_id": "light.hall", "state": ["off", "on"]}, True, "light.hall is on"),
        (
            {"entity_id": ["light.hall", "light.attic"], "state": "on"},
            False,
            "light.attic is off, not on",
        ),
        ({"entity_id": ["light.hall", "light.attic"], "state": "on", "match": "any"}, True, "light.hall is on"),
        (
            {"entity_id": "light.hall, light.attic", "state": "dim", "match": "any"},
            False,
            "light.hall is on, not dim and light.attic is off, not dim",
        ),
        (
            {"entity_id": "light.hall", "attribute": "brightness", "state": 80},
            True,
            "brightness of light.hall is 80",
        ),
        (
            {"entity_id": "light.hall", "attribute": "brightness", "state": "80"},
            False,
            "brightness of light.hall is 80, not 80",
        ),
        ({"entity_id": "light.hall", "attribute": "hue", "state": 1}, False, "light.hall has no attribute hue"),
        ({"entity_id": "light.hall", "state": 5}, False, "light.hall is on, not 5"),
    ],
)
def test_state(raw: dict[str, Any], holds: bool, reason: str) -> None:
    found = ask(lit(light__hall="on", light__attic="off"), {"condition": "state", **raw})

    assert (found.holds, found.reason) == (holds, reason)


async def test_a_state_may_have_to_last() -> None:
    parts = lit(light__hall="on")
    raw = {"condition": "state", "entity_id": "light.hall", "state": "on", "for": {"minutes": 10}}

    await clock_of(parts).advance(180)
    early = ask(parts, raw)
    await clock_of(parts).advance(420)
    late = ask(parts, raw)

    assert (early.holds, early.reason) == (False, "light.hall is on for 3 min, not yet for 10 min")
    assert (late.holds, late.reason) == (True, "light.hall is on for 10 min")


async def test_how_long_it_has_to_last_may_be_a_template() -> None:
    parts = lit(light__hall="on")
    await clock_of(parts).advance(61)
    raw = {"condition": "state", "entity_id": "light.hall", "state": "on", "for": {"minutes": "{{ wait }}"}}

    assert ask(parts, raw, {"wait": 1}).holds
    assert not ask(parts, raw, {"wait": 2}).holds


def test_the_state_to_be_in_may_be_that_of_an_input() -> None:
    parts = lit(light__hall="on", input_select__wanted="on")
    raw = {"condition": "state", "entity_id": "light.hall", "state": "input_select.wanted"}

    assert ask(parts, raw).holds


def test_an_entity_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConditionError, match=r"there is no entity light\.cellar"):
        ask(lit(light__hall="on"), {"condition": "state", "entity_id": ["light.cellar", "light.hall"], "state": "on"})


# --- numeric_state ---


@pytest.mark.parametrize(
    ("raw", "holds", "reason"),
    [
        ({"above": 20}, True, "sensor.hall is 21.5"),
        ({"above": 21.5}, False, "sensor.hall is 21.5, not above 21.5"),
        ({"below": 21.5}, False, "sensor.hall is 21.5, not below 21.5"),
        ({"above": 20, "below": 22}, True, "sensor.hall is 21.5"),
        ({"above": "input_number.limit"}, False, "sensor.hall is 21.5, not above input_number.limit (22)"),
        ({"below": "input_number.limit"}, True, "sensor.hall is 21.5"),
        ({"below": "sensor.dead"}, False, "sensor.dead is not known"),
        ({"attribute": "brightness", "above": 79}, True, "brightness of sensor.hall is 80"),
        ({"attribute": "hue", "above": 79}, False, "hue of sensor.hall is not known"),
        (
            {"value_template": "{{ state.attributes.brightness / 2 }}", "above": 39},
            True,
            "the value of sensor.hall is 40",
        ),
        ({"entity_id": ["sensor.hall", "sensor.dead"], "above": 1}, False, "sensor.dead is unavailable"),
    ],
)
def test_numeric_state(raw: dict[str, Any], holds: bool, reason: str) -> None:
    parts = lit(sensor__hall="21.5", input_number__limit="22", sensor__dead="unavailable")

    found = ask(parts, {"condition": "numeric_state", "entity_id": "sensor.hall", **raw})

    assert (found.holds, found.reason) == (holds, reason)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"entity_id": "light.hall", "above": 1}, "light.hall is on, which is not a number"),
        ({"entity_id": "sensor.nowhere", "above": 1}, "no entity sensor.nowhere"),
        ({"entity_id": "sensor.hall", "above": "sensor.nowhere"}, "no entity sensor.nowhere"),
        ({"entity_id": "sensor.nan", "above": 1}, "is not a number"),
    ],
)
def test_what_is_no_number_is_an_error(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(ConditionError, match=said):
        ask(lit(light__hall="on", sensor__hall="1", sensor__nan="nan"), {"condition": "numeric_state", **raw})


# --- template, trigger ---


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("{{ states('light.hall') == 'on' }}", True),
        ("{{ wanted }}", True),
        ("{{ 0 }}", False),
        ("{{ 'on' }}", True),
        ("{{ 'perhaps' }}", False),
        ("", False),
        ("true", True),
    ],
)
def test_template(text: str, holds: bool) -> None:
    assert (
        ask(lit(light__hall="on"), {"condition": "template", "value_template": text}, {"wanted": True}).holds is holds
    )


def test_a_template_may_stand_for_the_condition() -> None:
    found = ask(lit(light__hall="off"), "{{ is_state('light.hall', 'on') }}")

    assert (found.holds, found.reason) == (False, "{{ is_state('light.hall', 'on') }} is false, not true")


def test_text_that_a_model_wrote_is_no_template() -> None:
    parts = make_parts()
    (valid,) = conditions({"condition": "template", "value_template": "{{ true }}"})

    assert evaluate(valid, asking(parts, templates=False)).holds is False


def test_a_template_that_fails_says_where() -> None:
    with pytest.raises(ConditionError, match=r"^condition: the template"):
        ask(make_parts(), "{{ 1 / 0 }}")


@pytest.mark.parametrize(
    ("trigger", "holds", "reason"),
    [
        ({"id": "door"}, True, "trigger door set it off"),
        ({"id": "0"}, False, "trigger 0 set it off, not door or bell"),
        ({"id": None}, False, "no trigger set it off"),
        (None, False, "no trigger set it off"),
    ],
)
def test_trigger(trigger: Any, holds: bool, reason: str) -> None:
    found = ask(make_parts(), {"condition": "trigger", "id": ["door", "bell"]}, {"trigger": trigger})

    assert (found.holds, found.reason) == (holds, reason)


# --- time ---


@pytest.mark.parametrize(
    ("now", "raw", "holds", "reason"),
    [
        ("2026-03-02 07:00", {"after": "07:00"}, True, "it is 07:00"),
        ("2026-03-02 06:59:59", {"after": "07:00"}, False, "it is 06:59:59, not after 07:00"),
        ("2026-03-02 07:00", {"before": "07:00"}, False, "it is 07:00, not before 07:00"),
        ("2026-03-02 23:30", {"after": "22:00", "before": "06:00"}, True, "it is 23:30"),
        ("2026-03-02 05:59", {"after": "22:00", "before": "06:00"}, True, "it is 05:59"),
        (
            "2026-03-02 06:00",
            {"after": "22:00", "before": "06:00"},
            False,
            "it is 06:00, not after 22:00 or before 06:00",
        ),
        ("2026-03-02 12:00", {"weekday": ["mon"]}, True, "it is 12:00 on Monday"),
        ("2026-03-03 12:00", {"weekday": ["mon", "sun"]}, False, "it is Tuesday, not Monday or Sunday"),
        ("2026-03-02 12:00", {"after": "input_datetime.start"}, True, "it is 12:00"),
        ("2026-03-02 12:00", {"before": "input_datetime.start"}, False, "it is 12:00, not before 11:30"),
        ("2026-03-02 12:00", {"after": "sensor.alarm"}, False, "it is 12:00, not after 14:00"),
        ("2026-03-02 12:00", {"after": "sensor.dead"}, False, "the time of sensor.dead is not known"),
    ],
)
def test_time(now: str, raw: dict[str, Any], holds: bool, reason: str) -> None:
    parts = make_parts(start=datetime.fromisoformat(now).replace(tzinfo=BERLIN).timestamp())
    parts.states.set("input_datetime.start", "11:30:00", {"hour": 11, "minute": 30, "second": 0})
    parts.states.set("sensor.alarm", "2026-03-02T13:00:00+00:00")
    parts.states.set("sensor.dead", "unavailable")

    found = ask(parts, {"condition": "time", **raw})

    assert (found.holds, found.reason) == (holds, reason)


@given(now=st.integers(0, 86_399), after=st.integers(0, 86_399), before=st.integers(0, 86_399))
def test_a_time_is_in_exactly_one_of_a_span_and_the_rest_of_the_day(now: int, after: int, before: int) -> None:
    assert within(now, after, before) is (after == before or not within(now, before, after))


# --- sun ---


@pytest.mark.parametrize(
    ("now", "raw", "holds"),
    [
        ("2026-06-21 03:00", {"before": "sunrise"}, True),
        ("2026-06-21 12:00", {"before": "sunrise"}, False),
        ("2026-06-21 12:00", {"after": "sunrise", "before": "sunset"}, True),
        ("2026-06-21 23:00", {"after": "sunset"}, True),
        ("2026-06-21 21:00", {"after": "sunset"}, False),
        ("2026-06-21 21:00", {"after": "sunset", "after_offset": "-01:00:00"}, True),
        ("2026-06-21 05:00", {"before": "sunrise", "before_offset": {"minutes": 30}}, True),
        ("2026-06-21 23:00", {"after": "sunset", "before": "sunrise"}, True),
        ("2026-06-21 12:00", {"after": "sunset", "before": "sunrise"}, False),
    ],
)
def test_sun(now: str, raw: dict[str, Any], holds: bool) -> None:
    start = datetime.fromisoformat(now).replace(tzinfo=BERLIN).timestamp()

    found = ask(make_parts(start=start, location=BERLIN_PLACE), {"condition": "sun", **raw})

    assert found.holds is holds
    assert found.reason.startswith("the sun is")


def test_the_midnight_sun_does_not_set() -> None:
    start = datetime.fromisoformat("2026-06-21 23:00").replace(tzinfo=BERLIN).timestamp()
    parts = make_parts(start=start, location=TROMSO)

    found = ask(parts, {"condition": "sun", "after": "sunset"})

    assert (found.holds, found.details["sun_is_up"]) == (False, True)


def test_without_a_place_nobody_knows_the_sun() -> None:
    with pytest.raises(ConditionError, match="the home’s place"):
        ask(make_parts(), {"condition": "sun", "after": "sunset"})


# --- presence ---


@pytest.mark.parametrize(
    ("raw", "holds", "reason"),
    [
        ({}, True, "Anna is at home"),
        ({"person": "all"}, False, "Ben is away (work)"),
        ({"person": "anna"}, True, "Anna is at home"),
        ({"person": "ben", "state": "away"}, True, "Ben is away (work)"),
        ({"person": ["anna", "ben"], "state": "not_home"}, False, "Anna is at home"),
        ({"person": ["anna", "ben"], "state": "not_home", "match": "any"}, True, "Ben is away (work)"),
    ],
)
def test_presence(raw: dict[str, Any], holds: bool, reason: str) -> None:
    parts = lit(person__anna="home", person__ben="work")

    found = ask(parts, {"condition": "presence", **raw})

    assert (found.holds, found.reason) == (holds, reason)


@pytest.mark.parametrize("state", ["home", "not_home"])
def test_who_is_nowhere_to_be_seen_is_neither_at_home_nor_away(state: str) -> None:
    found = ask(lit(person__anna="unknown"), {"condition": "presence", "person": "anna", "state": state})

    assert (found.holds, found.reason) == (False, "it is not known where Anna is")


def test_a_person_who_does_not_live_here_is_an_error() -> None:
    with pytest.raises(ConditionError, match="there is no person carl; there are: anna and ben"):
        ask(make_parts(), {"condition": "presence", "person": "carl"})


# --- what is refused ---


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"condition": "state", "entity_id": "light.hall"}, "state: required"),
        ({"condition": "state", "entity_id": "light.hall", "state": True}, "such as 'on'"),
        ({"condition": "state", "entity_id": "light.hall", "state": []}, "state"),
        ({"condition": "state", "entity_id": "hall", "state": "on"}, "expected an entity id"),
        ({"condition": "numeric_state", "entity_id": "sensor.a"}, "expected above, below or both"),
        ({"condition": "time"}, "expected after, before or weekday"),
        ({"condition": "time", "after": "25:00"}, "after"),
        ({"condition": "time", "weekday": []}, "at least one weekday"),
        ({"condition": "sun"}, "expected before or after"),
        ({"condition": "sun", "after": "noon"}, "after"),
        ({"condition": "presence", "person": ["anna", "all"]}, "expected all, any, or persons"),
        ({"condition": "budget"}, "expected cost_usd or tokens"),
        ({"condition": "budget", "cost_usd": 0}, "cost_usd"),
        ({"condition": "budget", "tokens": {"above": 1}}, "tokens"),
        ({"condition": "agent"}, "question"),
        ({"condition": "agent", "question": "?", "choices": ["a"]}, "2 to 20 different choices"),
        ({"condition": "agent", "question": "?", "choices": ["a", "b"]}, "expect"),
        ({"condition": "agent", "question": "?", "choices": ["a", "b"], "expect": "c"}, "c is not one of the choices"),
        ({"condition": "agent", "question": "?", "threshold": 0.5}, "threshold cannot be used with answer: yes_no"),
        ({"condition": "agent", "question": "?", "answer": "score", "threshold": 2}, "threshold"),
        ({"condition": "agent", "question": "?", "expect": "perhaps"}, "expect"),
        ({"condition": "zone", "entity_id": "person.anna", "zone": "home"}, "expected a zone such as zone.home"),
        ({"condition": "device", "device_id": "d", "domain": "light", "type": "is_on"}, "entity_id"),
        ({"condition": "tempalte"}, "did you mean template"),
        ({"condition": "template", "value_template": "{{ 1 +"}, "template is not valid"),
        ({"and": [{"condition": "sun"}]}, "expected before or after"),
        ("{{ 1 +", "template is not valid"),
        (5, "expected a condition"),
    ],
)
def test_what_is_wrong_is_told(raw: Any, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        conditions(raw)

    assert said in describe_error(caught.value)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            {"condition": "state", "entity_id": ["a.b", "c.d"], "state": ["on", "dim"], "for": "5m"},
            "a.b and c.d are on or dim for 5 min",
        ),
        ({"condition": "state", "entity_id": "a.b", "attribute": "hue", "state": 5}, "hue of a.b is 5"),
        (
            {"condition": "numeric_state", "entity_id": "a.b", "above": 5, "below": "c.d"},
            "a.b is above 5 and below c.d",
        ),
        ({"condition": "time", "after": "22:00", "before": "06:00"}, "it is after 22:00 and before 06:00"),
        ({"condition": "time", "weekday": ["fri", "mon", "tue", "wed", "thu"]}, "it is Monday to Friday"),
        (
            {"condition": "sun", "after": "sunset", "after_offset": "-30m"},
            "it is after 30 min before sunset",
        ),
        ({"condition": "trigger", "id": ["a", "b"]}, "trigger a or b set it off"),
        ({"condition": "presence", "person": "all", "state": "away"}, "everyone is away"),
        ({"condition": "presence"}, "someone is at home"),
        (
            {"condition": "budget", "cost_usd": {"below": 2}, "agent": "main"},
            "less than $2.00 were spent today by the agent main",
        ),
        (
            {"condition": "agent", "question": "Is it urgent?", "agent": "main"},
            "the agent main answers “Is it urgent?” with yes",
        ),
        ("{{ x }}", "the template {{ x }} is true"),
        (
            {"or": [{"condition": "trigger", "id": "a"}, {"and": ["{{ x }}", {"not": "{{ y }}"}]}]},
            "trigger a set it off or (the template {{ x }} is true and not (the template {{ y }} is true))",
        ),
        ({"condition": "trigger", "id": "a", "enabled": False}, "trigger a set it off (not enabled)"),
    ],
)
def test_conditions_are_explained_in_plain_words(raw: Any, said: str) -> None:
    (valid,) = conditions(raw)

    assert explain_condition(valid) == said


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_every_kind_says_what_it_is(name: str) -> None:
    kind = OUR_KINDS.condition(name)

    assert kind.name == name
    assert kind.description.endswith(".")
    assert (kind.check is None) is not (kind.check_later is None)
    assert to_json_schema(Schema(dict(kind.fields)))["type"] == "object"


def test_what_is_valid_stays_valid() -> None:
    (once,) = conditions({"condition": "agent", "question": "?", "choices": ["a", "b"], "expect": "a", "timeout": "1m"})

    assert conditions([once]) == [once]


def test_new_year_is_a_thursday() -> None:
    assert ask(make_parts(Path("/x"), start=NEW_YEAR), {"condition": "time", "weekday": "thu"}).holds
