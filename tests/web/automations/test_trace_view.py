"""Runs and traces in words: what a row says, and where a child of a step leads."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from hub.gateway.calls.routes import RouteTable
from hub.gateway.pages import PageTable
from web.automations.entity_names import EntityNames
from web.automations.trace_view import TONES, TraceView, outcome_chip
from web.core.assets import Assets
from web.core.durations import duration_text
from web.core.render import Renderer
from web.core.texts import OUTCOMES

NOW = 1_767_225_600.0
"""2026-01-01 00:00 UTC."""


@pytest.fixture
def view(tmp_path: Path) -> TraceView:
    renderer = Renderer(
        web.Application(),
        Assets(tmp_path),
        PageTable(RouteTable()),
        home_name=lambda: "Home",
        hub_language=lambda: "en",
        zone=lambda: ZoneInfo("Europe/Berlin"),
        wall_time=lambda: NOW + 5 * 3600,
    )
    return TraceView(renderer, EntityNames(lambda entity_id: None, renderer.local))


def trace(**values: Any) -> dict[str, Any]:
    return {
        "run_id": "r/1",
        "automation_id": "good night",
        "alias": "Good night",
        "trigger": {"platform": "time", "description": "at 23:00", "idx": "0"},
        "started": "2026-01-01T01:00:00.000+01:00",
        "finished": "2026-01-01T01:00:02.500+01:00",
        "outcome": "finished",
        "error": None,
        "steps": {},
        "variables": {},
        "config": None,
        **values,
    }


def test_a_run_is_a_row_with_its_time_its_length_and_its_page(view: TraceView) -> None:
    row = view.run(trace())

    assert (row["when"], row["duration"], row["trigger"]) == ("1:00:00", "2.5 s", "It was 1:00")
    assert (row["outcome_text"], row["tone"]) == ("Done", "good")
    assert row["path"] == "/automations/good%20night/traces?run=r%2F1"


def test_a_run_that_goes_on_has_no_length(view: TraceView) -> None:
    row = view.run(trace(finished=None, outcome=None))

    assert (row["outcome"], row["duration"]) == ("running", None)


def test_every_outcome_has_words_and_a_tone() -> None:
    assert OUTCOMES.keys() == TONES.keys()
    assert outcome_chip("brand_new")["outcome_text"] == "brand_new"


@pytest.mark.parametrize(
    ("child", "path"),
    [
        ({"automation_id": "other", "run_id": "r2"}, "/automations/other/traces?run=r2"),
        ({"automation_id": "other"}, "/automations/other"),
        ({"run_id": "r2", "session_key": "agent:main:main"}, "/chat?session=agent%3Amain%3Amain"),
        ({"run_id": "r2"}, None),
    ],
)
def test_a_child_leads_to_its_conversation_or_automation(
    view: TraceView, child: dict[str, str], path: str | None
) -> None:
    entry = {"started": "2026-01-01T01:00:00+01:00", "duration_ms": 12.0, "child": child}

    shown = view.trace(trace(steps={"action/0": [entry]}))

    assert shown["nodes"][0]["entries"][0]["child"]["path"] == path


def test_a_trace_without_a_configuration_still_shows_its_steps(view: TraceView) -> None:
    steps = {
        "condition/0": [{"result": {"holds": False, "reason": "it is dark"}}],
        "action/0/choose/1": [{"error": "no"}],
    }

    shown = view.trace(trace(steps=steps, config="not kept"))

    assert [node["path"] for node in shown["nodes"]] == ["condition/0", "action/0/choose/1"]
    assert shown["nodes"][0]["entries"][0]["reason"] == "it is dark"


def test_a_firing_that_set_nothing_off_tells_its_reason_and_conditions(view: TraceView) -> None:
    row = view.not_run(
        {
            "automation_id": "a",
            "time": "2026-01-01T01:00:00+01:00",
            "trigger": {"platform": "event"},
            "reason": "conditions",
            "text": "light.hall is off, not on",
            "steps": {"condition/0": [{"result": {"holds": False, "reason": "light.hall is off, not on"}}]},
        }
    )

    assert row["reason_text"] == "a condition was not met"
    assert row["conditions"] == [{"path": "condition/0", "holds": False, "reason": "light.hall is off, not on"}]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0124, "12 ms"),
        (3.44, "3.4 s"),
        (59.97, "1 min"),
        (125, "2 min 5 s"),
        (724, "12 min"),
        (1799.9, "30 min"),
        (3723, "1 h 2 min"),
        (7200, "2 h"),
        (190_000, "2 d 5 h"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
