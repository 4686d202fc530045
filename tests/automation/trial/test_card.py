"""One card of an automation tried alone."""

from __future__ import annotations

import pytest

from hub.automation.definition.fields import conditions
from hub.automation.engine.parts import AutomationParts
from hub.automation.trial.card import holds_now, names_a_secret, try_action, try_condition, try_trigger
from hub.core.context import system_context
from hub.core.events import Event
from hub.core.schema import Schema, SchemaError
from hub.core.services import ServiceCall
from tests.automation.ground import make_parts

LIT = {"condition": "state", "entity_id": "light.hall", "state": "on"}


@pytest.fixture
def parts() -> AutomationParts:
    """A home with a lamp that is on."""
    parts = make_parts()
    parts.states.set("light.hall", "on")
    return parts


async def test_a_condition_says_whether_it_holds_and_why(parts: AutomationParts) -> None:
    held = await try_condition(LIT, parts, system_context())
    parts.states.set("light.hall", "off")
    failed = await try_condition(LIT, parts, system_context())

    assert (held.holds, str(held.reason)) == (True, "light.hall is on")
    assert (failed.holds, str(failed.reason)) == (False, "light.hall is off, not on")


def test_only_what_needs_no_waiting_is_told_at_a_glance(parts: AutomationParts) -> None:
    quick, slow = conditions([LIT, {"condition": "agent", "question": "Is it so?"}])

    verdict = holds_now(quick, parts)

    assert verdict is not None
    assert verdict.holds
    assert holds_now(slow, parts) is None


def test_a_trigger_tells_what_it_would_hand_over(parts: AutomationParts) -> None:
    told = try_trigger({"trigger": "state", "entity_id": "light.hall", "to": "on", "id": "lamp"}, parts)

    assert (told["platform"], told["id"], told["entity_id"]) == ("state", "lamp", "light.hall")


async def test_an_action_is_run_for_real_and_its_error_is_told(parts: AutomationParts) -> None:
    rang: list[Event] = []
    parts.bus.listen("rang", rang.append)

    async def fail(call: ServiceCall) -> None:
        raise RuntimeError("the bell is broken")

    parts.services.register("bell", "ring", fail, Schema({}))

    done = await try_action({"event": "rang", "event_data": {"times": "{{ 1 + 1 }}"}}, parts, system_context())
    failed = await try_action({"action": "bell.ring"}, parts, system_context())

    assert done == {"outcome": "finished", "error": None}
    assert [event.data for event in rang] == [{"times": 2}]
    assert failed["outcome"] == "failed"
    assert "the bell is broken" in failed["error"]


async def test_what_is_not_valid_is_refused(parts: AutomationParts) -> None:
    with pytest.raises(SchemaError):
        await try_action({"action": "no name"}, parts, system_context())
    with pytest.raises(SchemaError):
        try_trigger({"trigger": "sun", "event": "noon"}, parts)


@pytest.mark.parametrize(
    ("card", "named"), [({"data": {"key": "!secret door"}}, True), ({"data": ["a", {"b": "secret"}]}, False)]
)
def test_a_secret_is_noticed_wherever_it_stands(card: dict[str, object], named: bool) -> None:
    assert names_a_secret(card) is named
