"""To-do lists and calendars at home. A real core has them as entries; here they are lists of memory, and a file."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, ask, call, restart

_LIST = "todo.chores"
_CALENDAR = "calendar.family"


def _todo(service: str, **data: Any) -> list[Any]:
    return call(f"todo.{service}", entity_id=_LIST, **data)


def _items(**data: Any) -> list[Any]:
    return ask("todo.get_items", entity_id=_LIST, **data)


def _calendar(**data: Any) -> list[Any]:
    return call("calendar.create_event", entity_id=_CALENDAR, **data)


def _events(**data: Any) -> list[Any]:
    return ask("calendar.get_events", entity_id=_CALENDAR, **data)


def _event(action: str, of: dict[str, Any] | None = None, **data: Any) -> list[Any]:
    """A change to an event: `of` a summary, the `nth` of a series, with those in the `future` or without."""
    return ["event", action, _CALENDAR, of or {}, data]


def _at(day: str, first: str, last: str) -> dict[str, Any]:
    return {"start": f"2026-{day}T{first}:00+01:00", "end": f"2026-{day}T{last}:00+01:00"}


_ALL = _events(start_date_time="2026-03-01 00:00:00", end_date_time="2026-04-20 00:00:00")

SCENES: list[dict[str, Any]] = [
    {
        "name": "a list of things to do",
        "config": {},
        "entries": {"local_todo": {"todo_list_name": "Chores", "storage_key": "chores"}},
        "watch": ["todo."],
        "steps": [
            _items(),
            _todo("add_item", item="sweep"),
            _items(),
            advance(60),
            _todo("add_item", item="paint", due_date="2026-03-05"),
            advance(60),
            _todo("add_item", item="call", due_datetime="2026-03-05 18:30:00", description="about the fence"),
            _items(),
            _items(status=["completed"]),
            _items(status="needs_action"),
            _todo("update_item", item="sweep", status="completed"),
            _items(),
            _items(status=["completed"]),
            _todo("update_item", item="paint", rename="paint the fence"),
            _items(status=["needs_action"]),
            _todo("update_item", item="paint the fence", due_date=None),
            _todo("update_item", item="call", description=None, due_date="2026-03-06"),
            _items(),
            _todo("update_item", item="call", due_datetime="2026-03-06T10:00:00+00:00"),
            _items(),
            _todo("update_item", item="sweep", status="needs_action", description="the stairs"),
            _items(),
            _todo("update_item", item="nothing", status="completed"),
            _todo("update_item", item="sweep"),
            _todo("update_item", item="sweep", status="done"),
            _todo("update_item", item="sweep", rename=""),
            _todo("add_item", item=""),
            _todo("add_item"),
            _todo("add_item", item="x", due_date="2026-03-05", due_datetime="2026-03-05 10:00:00"),
            _todo("add_item", item="x", due_date="soon"),
            _todo("remove_item", item="nothing"),
            _todo("remove_item", item=["sweep", "nothing"]),
            _items(),
            restart(),
            _items(),
            _todo("update_item", item="call", status="completed"),
            _todo("remove_item", item=["paint the fence"]),
            _items(),
            _todo("remove_completed_items"),
            _items(),
            _todo("remove_completed_items"),
            _todo("remove_item", item="sweep"),
            _items(),
            restart(3_600),
            _items(),
            call("todo.add_item", entity_id="todo.none", item="x"),
        ],
    },
    {
        "name": "a calendar at home",
        "config": {},
        "entries": {"local_calendar": {"calendar_name": "Family", "storage_key": "family"}},
        "watch": ["calendar."],
        "steps": [
            _events(duration={"days": 7}),
            _calendar(summary="Tea", start_date_time="2026-03-02 11:00:00", end_date_time="2026-03-02 12:00:00"),
            _events(duration={"hours": 24}),
            _events(duration={"minutes": 30}),
            _events(start_date_time="2026-03-02 11:30:00", end_date_time="2026-03-02 11:45:00"),
            _events(start_date_time="2026-03-02 12:00:00", end_date_time="2026-03-02 13:00:00"),
            advance(3_000),
            advance(630),
            advance(3_500),
            advance(120),
            _calendar(
                summary="Fair",
                description="with music",
                location="Town hall",
                start_date="2026-03-04",
                end_date="2026-03-06",
            ),
            _events(duration={"days": 7}),
            _calendar(summary="Trip", **{"in": {"days": 1}}),
            _calendar(summary="Later", **{"in": {"weeks": 1}}),
            _events(duration={"days": 30}),
            _calendar(
                summary="Call", start_date_time="2026-03-02T20:00:00+00:00", end_date_time="2026-03-02T21:00:00+00:00"
            ),
            _events(duration={"days": 1}),
            restart(),
            _events(duration={"days": 30}),
            advance(11 * 3_600 + 30),
            advance(2 * 3_600),
            _calendar(summary="x"),
            _calendar(summary="x", start_date="2026-03-05"),
            _calendar(summary="x", start_date="2026-03-05", end_date="2026-03-05"),
            _calendar(summary="x", start_date="2026-03-05", end_date="2026-03-04"),
            _calendar(summary="x", start_date_time="2026-03-05 10:00:00", end_date_time="2026-03-05 10:00:00"),
            _calendar(summary="x", start_date="2026-03-05", end_date="2026-03-06", **{"in": {"days": 1}}),
            _calendar(summary="x", **{"in": {"days": 1, "weeks": 1}}),
            _calendar(start_date="2026-03-05", end_date="2026-03-06"),
            _events(),
            _events(duration={"days": 1}, end_date_time="2026-03-09 00:00:00"),
            _events(start_date_time="2026-03-09 00:00:00", end_date_time="2026-03-08 00:00:00"),
            call("calendar.get_events", entity_id="calendar.none", duration={"days": 1}),
        ],
    },
    {
        "name": "events that are repeated",
        "config": {},
        "entries": {"local_calendar": {"calendar_name": "Family", "storage_key": "family"}},
        "watch": ["calendar."],
        "steps": [
            _event("create", summary="Choir", rrule="FREQ=WEEKLY;COUNT=6", **_at("03-03", "19:00", "20:30")),
            _ALL,
            _event("delete", {"summary": "Choir", "nth": 1}),
            _ALL,
            _event("update", {"summary": "Choir", "nth": 2}, summary="Concert", **_at("03-25", "18:00", "21:00")),
            _ALL,
            _event("delete", {"summary": "Choir", "nth": 3, "future": True}),
            _ALL,
            _event("create", summary="Bins", rrule="FREQ=DAILY;INTERVAL=7", start="2026-03-05", end="2026-03-06"),
            _event("update", {"summary": "Bins"}, summary="Paper", start="2026-03-06", end="2026-03-07"),
            _ALL,
            _event("delete", {"summary": "Paper", "nth": 2}),
            _ALL,
            _event("update", {"summary": "Paper"}, summary="Glass", start="2026-03-06", end="2026-03-07"),
            _ALL,
            _event("delete", {"summary": "Glass", "nth": 2, "future": True}),
            _ALL,
            _event("create", summary="Walk", **_at("03-04", "08:00", "09:00")),
            _event("update", {"summary": "Walk"}, summary="Run", location="Park", **_at("03-04", "07:00", "08:00")),
            _ALL,
            restart(),
            _ALL,
            _event("delete", {"summary": "Run"}),
            _event("delete", {"summary": "Choir"}),
            _event("create", summary="x", rrule="FREQ=HOURLY", **_at("03-04", "08:00", "09:00")),
            _event("create", summary="x", rrule="often", **_at("03-04", "08:00", "09:00")),
            _ALL,
        ],
    },
]
