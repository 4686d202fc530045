"""A whole automation in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.definition.explain import explain, explain_script
from hub.automation.definition.grammar import automation, script
from hub.automation.definition.kinds import OUR_KINDS

DONE = {"action": "test.done"}


def told(**config: Any) -> list[str]:
    return explain(automation({"id": "night", "alias": "Night", "actions": [DONE], **config})).splitlines()


def test_a_small_automation_is_a_few_sentences() -> None:
    found = told(
        description="For the night.",
        triggers=[{"trigger": "time", "at": "22:00"}],
        conditions=[{"condition": "state", "entity_id": "light.hall", "state": "on"}],
    )

    assert found[:2] == ["Night", "For the night."]
    assert found[2].startswith("Runs ")
    assert found[3:] == [
        "Only if light.hall is on.",
        "Then:",
        "   1. test: done",
        "If triggered while running, the trigger is ignored.",
    ]


def test_several_triggers_and_conditions_are_lists() -> None:
    found = told(
        triggers=[
            {"trigger": "state", "entity_id": "light.hall", "to": "on", "id": "lamp"},
            {"trigger": "event", "event_type": "doorbell", "alias": "Someone rings", "enabled": False},
        ],
        conditions=["{{ x }}", {"condition": "trigger", "id": "lamp", "alias": "It was the lamp"}],
    )

    assert found[1] == "Runs on any of these:"
    assert found[2].startswith("   - when ")
    assert found[2].endswith("(lamp)")
    assert found[3] == "   - Someone rings (not enabled)"
    assert found[4:7] == [
        "Only if all of these are true:",
        "   - the template {{ x }} is true",
        "   - It was the lamp",
    ]


def test_steps_within_steps_are_told_further_in() -> None:
    found = told(
        actions=[
            {"delay": "1h 30m", "alias": "Breathe"},
            {"if": "{{ a }}", "then": [DONE], "else": [{"stop": "no"}]},
            {
                "choose": [
                    {"conditions": "{{ b }}", "sequence": [DONE]},
                    {"alias": "Rain", "conditions": [], "sequence": []},
                ],
                "default": [DONE],
            },
            {"repeat": {"count": 3, "sequence": [DONE]}},
            {"repeat": {"for_each": ["a", "b"], "sequence": [DONE]}},
            {"repeat": {"until": "{{ c }}", "sequence": [DONE]}},
            {"parallel": [DONE, {"sequence": [DONE, DONE]}]},
            {"condition": "template", "value_template": "{{ d }}"},
            {**DONE, "continue_on_error": True, "enabled": False},
        ]
    )

    assert found[2:-1] == [
        "Then:",
        "   1. Breathe: wait 1 h 30 min",
        "   2. if the template {{ a }} is true:",
        "      1. test: done",
        "      otherwise:",
        "      1. stop: no",
        "   3. the first of these that fits:",
        "      - if the template {{ b }} is true:",
        "         1. test: done",
        "      - Rain:",
        "         - nothing",
        "      - otherwise:",
        "         1. test: done",
        "   4. repeat 3 times:",
        "      1. test: done",
        "   5. repeat for each of a and b:",
        "      1. test: done",
        "   6. repeat until the template {{ c }} is true:",
        "      1. test: done",
        "   7. at the same time:",
        "      - in order:",
        "         1. test: done",
        "      - in order:",
        "         1. test: done",
        "         2. test: done",
        "   8. go on only if the template {{ d }} is true",
        "   9. test: done (not enabled) (errors are ignored)",
    ]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"mode": "queued", "max": 3}, "it runs again afterwards.\nAt most 3 runs"),
        ({"mode": "restart"}, "it starts over"),
        ({"mode": "parallel"}, "a second time in parallel"),
        ({"catch_up": "none"}, "are skipped."),
        (
            {"catch_up": {"mode": "last", "within": "2h"}},
            "while the hub was down is run late.\nRuns missed more than 2 h ago are skipped.",
        ),
        ({"timeout": "5m"}, "longer than 5 min is stopped"),
        ({"retry": {"attempts": 3}}, "tried 3 times in all, at first after 10 s"),
        ({"on_error": "continue"}, "continues with the next one"),
        ({"on_error": [DONE]}, "When it fails:\n   1. test: done"),
        ({"rate_limit": {"runs": 2, "per": "1h"}}, "at most 2 times in 1 h"),
        ({"budget": {"cost_usd": 1, "tokens": 500}}, "spent $1 or 500 tokens in 1 d"),
        ({"approval": "required"}, "The owner is asked before each run."),
        ({"delete_after_run": True}, "removed after its run"),
        ({"initial_state": False}, "off after each start"),
        ({"made_by": "agent:main"}, "made by agent:main"),
        ({}, "Runs only when started by hand."),
    ],
)
def test_limits_are_told(config: dict[str, Any], said: str) -> None:
    assert said in "\n".join(told(**config))


def test_a_script_is_told_with_what_it_is_given() -> None:
    found = explain_script(script({"alias": "Blink", "fields": {"lamp": {}, "times": None}, "sequence": [DONE]}))

    assert found.splitlines()[:4] == ["Blink", "Its fields are lamp and times.", "It does:", "   1. test: done"]


def test_every_trigger_of_home_assistant_is_told_as_a_sentence() -> None:
    raw: dict[str, dict[str, Any]] = {
        "state": {"entity_id": "light.hall"},
        "numeric_state": {"entity_id": "sensor.hall", "above": 5},
        "template": {"value_template": "{{ x }}"},
        "time": {"at": "07:00"},
        "time_pattern": {"minutes": "/5"},
        "sun": {"event": "sunset"},
        "event": {"event_type": "doorbell"},
    }

    for name, fields in raw.items():
        assert name in OUR_KINDS.names("trigger")
        (line,) = [each for each in told(triggers=[{"trigger": name, **fields}]) if each.startswith("Runs ")]
        assert line.endswith(".")
        assert len(line) > 10
