"""History: recorded in the background, kept for a while, and never in the way."""

# ruff: noqa: ASYNC240 - a test may block its own loop
from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.secret import Secret
from hub.security.redaction import Redactor
from hub.storage.history import BUFFER_LIMIT, HistoryStore
from hub.storage.history_retention import Retention

NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Used:
    input_tokens: int = 10
    output_tokens: int = 5
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.01


class Opaque:
    def __repr__(self) -> str:
        return "an opaque thing"


async def test_events_are_told_newest_first(history: HistoryStore) -> None:
    history.record_event("a", {"n": 1}, "c1", NOON - 2)
    history.record_event("b", {"n": 2}, None, NOON - 1)

    found = await history.recent_events(10)

    assert [(each["type"], each["data"]) for each in found] == [("b", {"n": 2}), ("a", {"n": 1})]
    assert found[1]["context_id"] == "c1"
    assert found[1]["time"] == NOON - 2


async def test_events_can_be_asked_for_by_type(history: HistoryStore) -> None:
    for number in range(6):
        history.record_event("even" if number % 2 == 0 else "odd", {"n": number}, None, NOON)

    found = await history.recent_events(2, types=["even"])

    assert [each["data"]["n"] for each in found] == [4, 2]


async def test_usage_is_summed_by_day_agent_and_model(history: HistoryStore) -> None:
    history.record_usage("main", "agent:main:main", "r1", "openai/x", Used(), NOON)
    history.record_usage("main", "agent:main:main", "r2", "openai/x", Used(cost_usd=None), NOON - 60)
    history.record_usage("main", None, None, "openai/x", Used(), NOON - DAY)
    history.record_usage("main", None, None, "openai/x", Used(), NOON - 9 * DAY)

    found = await history.usage_by_day(2)

    assert [(each["day"], each["calls"], each["input_tokens"]) for each in found] == [
        ("2026-01-01", 2, 20),
        ("2025-12-31", 1, 10),
    ]
    assert found[0]["cost_usd"] == pytest.approx(0.01)


async def test_usage_is_summed_by_session_too(history: HistoryStore) -> None:
    for key in ("agent:main:main", "agent:main:main", None):
        history.record_usage("main", key, None, "openai/x", Used(), NOON)

    found = await history.usage_by_day(1, sessions=True)

    assert {(each["session_key"], each["calls"]) for each in found} == {("agent:main:main", 2), (None, 1)}


async def test_days_end_at_the_midnight_of_the_home(history: HistoryStore) -> None:
    history.record_usage("main", None, None, "m", Used(cost_usd=None), NOON - 6.6 * 3600)

    found = await history.usage_by_day(1, ZoneInfo("Asia/Kathmandu"))

    assert [(each["day"], each["cost_usd"]) for each in found] == [("2026-01-01", None)]


async def test_data_that_is_not_plain_is_shown_as_text(history: HistoryStore) -> None:
    history.record_event("odd", {"thing": Opaque(), "set": {2, 1}, "surrogate": "\ud800"}, None, NOON)
    mixed: dict[Any, Any] = {"thing": Opaque(), 3: "x"}
    history.record_event("odd", mixed, None, NOON)

    found = await history.recent_events(2)

    assert found[0]["data"] == {"thing": "an opaque thing", "3": "x"}
    assert "an opaque thing" in str(found[1]["data"])


async def test_data_that_is_too_large_is_cut_and_says_so(history: HistoryStore) -> None:
    history.record_event("big", {"text": "x" * 100_000}, None, NOON)

    found = await history.recent_events(1)

    assert found[0]["data"]["truncated"] is True
    assert len(str(found[0]["data"])) < 2_000


async def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.register(Secret("correct-horse-battery"))
    history = HistoryStore(tmp_path / "history.db", redact=redactor.redact)
    await history.open()

    history.record_event("said", {"text": "it is correct-horse-battery"}, None, NOON)
    await history.close()

    assert b"correct-horse" not in (tmp_path / "history.db").read_bytes()
    assert b"[redacted]" in (tmp_path / "history.db").read_bytes()


class Pieced:
    """The trace of a run whose models were sent some words."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def as_dict(self) -> dict[str, object]:
        return {"steps": []}

    def pieces(self) -> dict[str, str]:
        return {f"piece-{text[:3]}": text for text in self.texts}


async def test_what_models_were_sent_is_kept_once_for_all_runs_and_without_secrets(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.register(Secret("correct-horse-battery"))
    now = [NOON]
    history = HistoryStore(tmp_path / "history.db", redact=redactor.redact, wall_time=lambda: now[0])
    await history.open()
    for run in ("one", "two"):
        history.record_run(run, Pieced("Be kind.", "Use correct-horse-battery."), NOON)

    found = await history.run_pieces(["piece-Be ", "piece-Use", "piece-gone"])

    assert found == {"piece-Be ": "Be kind.", "piece-Use": "Use [redacted]."}
    now[0] += 100 * DAY
    history.record_run("late", Pieced("Be kind."), now[0])
    await history.run_trace("late")
    history.set_retention(Retention(traces_s=DAY))
    await history.close()
    with sqlite3.connect(tmp_path / "history.db") as stranger:
        assert stranger.execute("SELECT name FROM run_pieces").fetchall() == [("piece-Be ",)]


async def test_what_is_too_old_is_deleted_by_class(tmp_path: Path) -> None:
    history = HistoryStore(
        tmp_path / "history.db", retention=Retention(events_s=DAY, states_s=3 * DAY), wall_time=lambda: NOON
    )
    await history.open()
    for age in (0.5, 2, 5):
        history.record_event("e", {"age": age}, None, NOON - age * DAY)
        history.record_state("light.hall", "on", {"age": age}, None, NOON - age * DAY)

    history.set_retention(Retention(events_s=DAY, states_s=3 * DAY))
    await history.recent_events(1)
    history.set_retention(Retention(events_s=DAY, states_s=3 * DAY))
    await history.close()

    with sqlite3.connect(tmp_path / "history.db") as stranger:
        assert stranger.execute("SELECT COUNT(*) FROM events").fetchone() == (1,)
        assert stranger.execute("SELECT COUNT(*) FROM states").fetchone() == (2,)


async def test_more_than_the_buffer_holds_is_dropped_and_counted(history: HistoryStore) -> None:
    for number in range(BUFFER_LIMIT + 25):
        history.record_event("many", {"n": number}, None, NOON)

    status = history.status()

    assert status["recording"] is True
    assert status["waiting"] + status["dropped"] >= 25
    assert status["waiting"] <= BUFFER_LIMIT


async def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"no database at all")
    history = HistoryStore(path, wall_time=lambda: NOON)

    await history.open()
    history.record_event("a", {}, None, NOON)
    found = await history.recent_events(5)
    await history.close()

    assert len(found) == 1
    assert [each.read_bytes() for each in tmp_path.glob("history.db.damaged-*")] == [b"no database at all"]


async def test_a_newer_file_is_set_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    first = HistoryStore(path)
    await first.open()
    await first.close()
    with sqlite3.connect(path) as newer:
        newer.execute("UPDATE meta SET value = '99'")
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    history = HistoryStore(path)

    await history.open()
    recording = history.status()["recording"]
    await history.close()

    assert recording
    assert len(list(tmp_path.glob("history.db.damaged-*"))) == 1


async def test_only_the_last_damaged_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for number in range(3):
        path.write_bytes(f"damaged {number}".encode())
        history = HistoryStore(path)
        await history.open()
        await history.close()

    assert [each.read_bytes() for each in tmp_path.glob("history.db.damaged-*")] == [b"damaged 2"]


async def test_without_a_place_to_write_the_hub_goes_on(tmp_path: Path) -> None:
    history = HistoryStore(tmp_path / "nowhere" / "history.db")

    await history.open()
    history.record_event("a", {}, None, NOON)
    found = await history.recent_events(5)
    await history.close()

    assert found == []
    assert history.dropped == 1
    assert "nowhere" in str(history.off)
