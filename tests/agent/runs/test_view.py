"""What a run shows, folded from its events."""

from __future__ import annotations

from typing import Any

from hub.agent.runs.view import PARTS_LIMIT, RunView

EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("run_thinking", {"text": "Let me "}),
    ("run_thinking", {"text": "look."}),
    ("run_delta", {"text": "I look"}),
    ("run_delta", {"text": "."}),
    ("run_tool_started", {"call_id": "c1", "name": "read", "arguments": {"path": "a"}}),
    ("run_tool_started", {"call_id": "c2", "name": "read", "arguments": {"path": "b"}}),
    ("run_tool_finished", {"call_id": "c2", "output": "milk", "is_error": False}),
    ("run_delta", {"text": "Milk."}),
]


def folded(events: list[tuple[str, dict[str, Any]]]) -> tuple[RunView, list[int | None]]:
    view = RunView("r", "agent:main:main")
    return view, [view.apply(*event) for event in events]


def test_text_thinking_and_tools_become_parts_in_order() -> None:
    view, changed = folded(EVENTS)

    assert [(part.kind, part.text or part.call_id) for part in view.parts] == [
        ("thinking", "Let me look."),
        ("text", "I look."),
        ("tool", "c1"),
        ("tool", "c2"),
        ("text", "Milk."),
    ]
    assert changed == [0, 0, 1, 1, 2, 3, 3, 4]
    assert view.text == "I look.Milk."
    assert [part.output for part in view.parts if part.kind == "tool"] == [None, "milk"]


def test_its_end_tells_how_it_ended_and_why() -> None:
    view, changed = folded([*EVENTS, ("run_finished", {"status": "error", "error": {"code": "X", "message": "no"}})])

    assert (view.status, view.error["code"], changed[-1]) == ("error", "X", None)


def test_a_call_is_shown_once_and_the_end_of_an_unknown_one_changes_nothing() -> None:
    start = ("run_tool_started", {"call_id": "c1", "name": "read"})
    view, changed = folded([start, start, ("run_tool_finished", {"call_id": "other", "output": ""})])

    assert (len(view.parts), changed) == (1, [0, None, None])


def test_the_parts_are_bounded_and_the_text_goes_on() -> None:
    events = [(("run_delta", "run_thinking")[number % 2], {"text": "x"}) for number in range(PARTS_LIMIT + 10)]

    view, changed = folded(events)

    assert len(view.parts) == PARTS_LIMIT
    assert changed[-10:] == [None] * 10
    assert len(view.text) == (PARTS_LIMIT + 10) // 2


def test_a_call_shows_what_there_is_of_its_result_and_what_it_waits_for_until_it_ends() -> None:
    start = ("run_tool_started", {"call_id": "c1", "name": "build"})
    update = ("run_tool_updated", {"call_id": "c1", "output": "half", "waits": True})
    end = ("run_tool_finished", {"call_id": "c1", "output": "all", "is_error": False})

    going, _ = folded([start, update])
    ended, changed = folded([start, update, end, update])

    assert (going.parts[0].update, going.parts[0].waits, going.parts[0].output) == ("half", True, None)
    assert (ended.parts[0].output, changed[-1]) == ("all", None)


def test_a_summary_of_what_was_before_is_a_part_in_its_place() -> None:
    begun: tuple[str, dict[str, Any]] = ("compaction_started", {})
    done: tuple[str, dict[str, Any]] = ("compaction_finished", {"messages": 12})
    failed: tuple[str, dict[str, Any]] = ("compaction_finished", {"error": "no summary"})

    view, changed = folded([begun, done, ("run_delta", {"text": "So."}), begun, failed])

    assert [(part.kind, part.text, part.is_error) for part in view.parts] == [
        ("compaction", "12", False),
        ("text", "So.", False),
        ("compaction", "0", True),
    ]
    assert changed == [0, 0, 1, 2, 2]
