"""What fired, in words, with things by their names."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.events import EventBus
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from web.automations.entity_names import EntityNames
from web.automations.trigger_texts import trigger_text
from web.core.i18n import catalogue

LAMP = {"platform": "state", "entity_id": "light.hall", "description": "state of light.hall"}


@pytest.fixture
def names() -> EntityNames:
    states = StateMachine(EventBus(TaskOwner("test"), lambda: 0.0), lambda: 0.0)
    states.set("light.hall", "on", {"friendly_name": "客厅灯"}, system_context())
    return EntityNames(states.get, lambda ts_ms: dt.datetime.fromtimestamp(ts_ms / 1000, dt.UTC))


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (LAMP | {"to_state": {"state": "on"}}, "light.hall turned on"),
        (LAMP | {"state": "off"}, "light.hall turned off"),
        (LAMP | {"to_state": {"state": "dim"}}, "light.hall changed"),
        (LAMP | {"to_state": {"state": "on"}, "attribute": "mode"}, "light.hall changed"),
        (LAMP, "light.hall changed"),
        (LAMP | {"to_state": {"state": "on", "attributes": {"device_class": "motion"}}}, "light.hall saw motion"),
        (LAMP | {"state": "off", "device_class": "door"}, "light.hall closed"),
        (LAMP | {"state": "on", "device_class": "plug"}, "light.hall turned on"),
        ({"platform": "event", "event": {"event_type": "bell"}, "description": "event"}, "Event “bell”"),
    ],
)
def test_a_fired_trigger_is_told_with_a_verb(trigger: dict[str, Any], words: str) -> None:
    assert str(trigger_text(trigger)) == words


def test_a_name_stands_for_an_id_between_chinese_words(names: EntityNames) -> None:
    assert names.with_names("当light.hall打开") == "当客厅灯打开"
    assert names.with_names("mylight.hall_2 and light.hall.") == "mylight.hall_2 and 客厅灯."
    assert names.with_names(catalogue("zh-CN").gettext(trigger_text(LAMP | {"state": "on"}))) == "客厅灯 已打开"


def test_a_time_is_said_by_the_clock_of_the_home(names: EntityNames) -> None:
    said = names.with_names("Once, at 2026-12-05T11:00:07+01:00: turn on light.hall")

    assert said == "Once, at 2026-12-05 10:00: turn on 客厅灯"
