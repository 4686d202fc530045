"""The pages about automations show everything there is, and the table of Home Assistant's words is true."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub.automation.actions.service import KIND as SERVICE
from hub.automation.contract import NotRun
from hub.automation.definition import grammar
from hub.automation.definition.grammar import automation, script
from hub.automation.definition.kinds import (
    ACTIONS,
    CONDITIONS,
    OUR_KINDS,
    SAME_TRIGGER,
)
from hub.automation.engine.own_events import OWN_EVENTS
from hub.core.schema import Invalid
from tests.docs.pages import DOCS
from tests.docs.test_pages import blocks

PAGE = DOCS / "automations.md"
TABLE = DOCS / "home-assistant.md"
TRIGGERS = frozenset(OUR_KINDS.names("trigger"))
OURS_TRIGGERS = {"hook", "at", "every", "cron", "message", "heartbeat", "agent", "node", "file", "feed", "command"}
OURS_CONDITIONS = {"agent", "budget", "presence", "heartbeat"}
_ROW = re.compile(r"^\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
_WORD = re.compile(r"`([^`]+)`")


def loaded(text: str) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_multi_constructor("!", lambda loader, tag, node: "a-secret-of-many-letters")
    return yaml.load(text)


def examples() -> Iterator[Mapping[str, Any]]:
    """Every automation and script of the page, validated."""
    for text in blocks(PAGE, "yaml"):
        found = loaded(text)
        yield from (automation(each) for each in found.get("automation", ()))
        yield from (script(each) for each in found.get("script", {}).values())


def everywhere(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every mapping in a value, however deep."""
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for each in inner:
        yield from everywhere(each)


def shown() -> list[Mapping[str, Any]]:
    return [each for example in examples() for each in everywhere(example)]


def test_every_trigger_condition_and_action_is_shown() -> None:
    found = shown()

    assert TRIGGERS - {each.get("trigger") for each in found if isinstance(each.get("trigger"), str)} == set()
    assert CONDITIONS.keys() - {each.get("condition") for each in found if isinstance(each.get("condition"), str)} == (
        set()
    )
    assert ACTIONS.keys() - {OUR_KINDS.step_key(each) for each in found} == set()


def test_every_key_of_ours_is_told() -> None:
    text, table = PAGE.read_text(encoding="utf-8"), TABLE.read_text(encoding="utf-8")
    keys = (
        {str(key) for key in grammar._KEYS} | {str(key) for key in grammar._SCRIPT_KEYS} | {"sequence", "use_blueprint"}
    )

    told = {key for key in keys if f"`{key}`" in table}

    assert keys - told - {"trigger", "triggers", "condition", "conditions", "action", "actions"} == set()
    for key in ("catch_up", "persist", "timeout", "retry", "on_error", "rate_limit", "budget", "approval", "notify"):
        assert f"{key}:" in text, key


def test_every_reason_for_not_running_is_told() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [reason.value for reason in NotRun if f"`{reason.value}`" not in text] == []


def section(name: str) -> list[tuple[str, str]]:
    """The rows of a table of the page, without its head."""
    text = TABLE.read_text(encoding="utf-8").partition(f"## {name}\n")[2].partition("\n## ")[0]
    return [
        (left.strip(), right.strip()) for left, right in _ROW.findall(text) if left not in ("Home Assistant", "---")
    ]


def here(rows: list[tuple[str, str]]) -> set[str]:
    """The words that are said to exist."""
    return {word for left, right in rows if not right.startswith("refused") for word in _WORD.findall(left)}


def ours(rows: list[tuple[str, str]]) -> set[str]:
    return {word for left, right in rows if not left for word in _WORD.findall(right)}


def refused(rows: list[tuple[str, str]]) -> dict[str, str]:
    """The words that are said not to exist, and why."""
    return {
        left.strip("`"): right.removeprefix("refused: ")
        for left, right in rows
        if right.startswith("refused") and re.fullmatch(r"`\w+`", left)
    }


def test_the_table_of_triggers_is_true() -> None:
    rows = section("Triggers")

    assert here(rows) == (TRIGGERS - OURS_TRIGGERS - {"hub"}) | SAME_TRIGGER.keys()
    assert ours(rows) == OURS_TRIGGERS
    assert refused(rows) == {}
    with pytest.raises(Invalid, match=r"no trigger 'light.turned_on'"):
        automation({"triggers": [{"trigger": "light.turned_on"}], "actions": []})


def test_the_table_of_conditions_is_true() -> None:
    rows = section("Conditions")

    assert here(rows) == CONDITIONS.keys() - OURS_CONDITIONS
    assert ours(rows) == OURS_CONDITIONS
    assert refused(rows) == {}


def test_the_table_of_actions_is_true() -> None:
    rows = section("Actions")

    assert here(rows) == ACTIONS.keys()
    assert refused(rows) == {}
    for key in ("device_id", "area_id", "floor_id", "label_id"):
        found = automation({"actions": [{"action": "light.turn_on", "target": {key: "x"}}]})
        assert found["actions"][0]["target"] == {key: "x"}
    assert {str(key) for key in SERVICE.fields} >= {"data", "target", "response_variable"}


def test_old_words_mean_the_new_ones() -> None:
    old = {
        "trigger": {"platform": "event", "event_type": "x"},
        "condition": {"condition": "state", "entity_id": "light.a", "state": "on"},
        "action": {"service": "light.turn_on", "data_template": {"x": "{{ 1 }}"}},
    }
    new = {
        "triggers": [{"trigger": "event", "event_type": "x"}],
        "conditions": [{"condition": "state", "entity_id": "light.a", "state": "on"}],
        "actions": [{"action": "light.turn_on", "data_template": {"x": "{{ 1 }}"}}],
    }

    assert automation(old) == automation(new)


def test_the_page_names_events_that_cannot_be_made_up() -> None:
    assert "state_changed" in OWN_EVENTS
    assert "`state_changed`" in PAGE.read_text(encoding="utf-8")


def test_the_pages_exist_where_others_link() -> None:
    assert all(Path(page).is_file() for page in (PAGE, TABLE, DOCS / "blueprints.md", DOCS / "templates.md"))
