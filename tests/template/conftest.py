"""A small home whose clock stands still, and templates over it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.template.engine import TemplateEngine

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)

Render = Callable[..., Any]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW.timestamp())


@pytest.fixture
def states(clock: ManualClock) -> StateMachine:
    machine = StateMachine(EventBus(TaskOwner("home")), clock.time)
    machine.set("light.kitchen", "on", {"friendly_name": "Kitchen", "brightness": 120})
    machine.set("light.hall", "off", {"friendly_name": "Hall"})
    machine.set("group.lights", "on", {"entity_id": ["light.kitchen", "light.hall", "group.lights"]})
    machine.set("sensor.outside", "21.456", {"unit_of_measurement": "°C", "display_precision": 1})
    machine.set("sensor.broken", "unavailable", {"unit_of_measurement": "°C"})
    return machine


@pytest.fixture
def templates(states: StateMachine, clock: ManualClock) -> TemplateEngine:
    return TemplateEngine(states, clock, lambda: BERLIN)


@pytest.fixture
def render(templates: TemplateEngine) -> Render:
    """Renders a text with the variables given by name."""

    def render(text: str, **variables: Any) -> Any:
        return templates.compile(text, "automation morning").render(variables)

    return render
