from __future__ import annotations

from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.gateway.calls.routes import RouteTable
from hub.gateway.pages import PageTable
from hub.security.redaction import Redactor
from web.core.assets import Assets
from web.core.render import Renderer
from web.developer.event_log import DATA_LIMIT, IDLE_S, KEPT, ROWS_LIMIT, TYPES_LIMIT, EventLog


class Tabs:
    """Tabs that watch events, or none."""

    def __init__(self) -> None:
        self.watching = False
        self.told: list[str] = []

    def watches(self, kind: str) -> bool:
        return self.watching

    def changed(self, topic: str) -> None:
        self.told.append(topic)


class Heard:
    """A log on a real bus, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tabs = Tabs()
        self.bus = EventBus(TaskOwner("test"))
        redactor = Redactor()
        redactor.register("a-secret-of-this-home")
        renderer = Renderer(
            web.Application(),
            Assets(),
            PageTable(RouteTable()),
            home_name=lambda: "Home",
            hub_language=lambda: "en",
            zone=lambda: ZoneInfo("UTC"),
            wall_time=lambda: 0.0,
        )
        self.log = EventLog(self.bus, self.tabs, redactor, renderer, lambda: self.now)  # type: ignore[arg-type]

    @property
    def listeners(self) -> int:
        return sum(self.bus.listener_counts().values())


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_nothing_is_heard_before_somebody_looks(heard: Heard) -> None:
    heard.bus.fire("early")
    heard.log.begin()
    heard.bus.fire("late")

    assert [row["type"] for row in heard.log.rows()] == ["late"]
    assert heard.tabs.told == ["events", "events:late"]


def test_the_newest_come_first_and_only_so_many_are_kept_and_shown(heard: Heard) -> None:
    heard.log.begin()

    for number in range(KEPT + 50):
        heard.bus.fire("counted" if number % 2 else "other", {"n": number})
    rows, counted = heard.log.rows(), heard.log.rows("counted")

    assert len(rows) == ROWS_LIMIT
    assert rows[0]["id"] == KEPT + 50
    assert {row["type"] for row in counted} == {"counted"}
    assert len(counted) == ROWS_LIMIT


def test_types_and_data_are_bounded(heard: Heard) -> None:
    heard.log.begin()

    for number in range(TYPES_LIMIT + 10):
        heard.bus.fire(f"type_{number}")
    heard.bus.fire("large", {"text": "x" * 100_000})

    assert len(heard.log.types()) == TYPES_LIMIT
    assert len(heard.log.rows("large")[0]["data"]) == DATA_LIMIT + 1


def test_secrets_are_taken_out_also_of_what_is_no_plain_data(heard: Heard) -> None:
    heard.log.begin()
    state = SimpleNamespace(as_dict=lambda: {"token": "a-secret-of-this-home"})

    heard.bus.fire("leaked", {"a-secret-of-this-home": ["a-secret-of-this-home"], "state": state})

    assert "a-secret-of-this-home" not in heard.log.rows()[0]["data"]


def test_it_stops_when_nobody_looked_for_long_and_nobody_watches(heard: Heard) -> None:
    heard.log.begin()
    heard.tabs.watching = True
    heard.now = IDLE_S + 1
    heard.bus.fire("watched")
    assert len(heard.log.rows()) == 1

    heard.tabs.watching = False
    heard.bus.fire("unseen")

    assert heard.log.rows() == []
    assert heard.listeners == 0


def test_closing_it_forgets_everything(heard: Heard) -> None:
    heard.log.begin()
    heard.bus.fire("x")

    heard.log.close()

    assert heard.log.rows() == []
    assert heard.log.types() == []
    assert heard.listeners == 0
