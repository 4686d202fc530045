from __future__ import annotations

from typing import Any

from hub.agent.budgets.budgets import BudgetPer, BudgetState, RunBudget
from hub.agent.budgets.limits import LimitHit
from hub.agent.run_request import RunOutcome
from web.chat.conversation import NOTED_LIMIT, LiveRun, render_turns, title_of, turns_of
from web.chat.markdown import Markdown
from web.chat.pieces import uses_canvas
from web.chat.shown import ShownPart, ShownTurn


def entry(id: str, run_id: str | None, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": id, "run_id": run_id, "ts_ms": 1_000, "message": message}


def said(role: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "content": list(content), **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


CALL = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "notes.md"}}


def test_the_messages_of_one_run_are_one_turn_with_the_result_in_its_call() -> None:
    turns = turns_of(
        [
            entry("1", "r", said("user", text("what do my notes say?"))),
            entry("2", "r", said("assistant", text("I look."), CALL)),
            entry("3", "r", said("toolResult", text("milk"), toolCallId="c1", isError=False)),
            entry("4", "r", said("assistant", text("They say milk."))),
        ]
    )

    assert [turn.id for turn in turns] == ["u-r", "a-r"]
    assert [(part.kind, part.state, part.result) for part in turns[1].parts] == [
        ("text", "", None),
        ("tool", "done", "milk"),
        ("text", "", None),
    ]
    assert turns[1].parts[1].brief == "notes.md"


def test_an_answer_names_its_model_those_that_failed_and_what_was_asked() -> None:
    failed = {"model": "mock/one", "reason": "500"}
    answer = entry("2", "r", said("assistant", text("Noon.")))

    turns = turns_of(
        [
            entry("1", "r", said("user", text("What time is it?"))),
            answer | {"model": "offline/homarus", "data": {"failed_models": [failed]}},
        ]
    )

    assert (turns[1].model, turns[1].failed_models) == ("offline/homarus", [failed])
    assert turns[1].asked == "What time is it?"


def test_a_model_that_fails_in_each_step_of_a_turn_is_named_once() -> None:
    fails = [{"failed_models": [{"model": "mock/one", "reason": reason}]} for reason in ("500", "timeout")]
    steps = [entry(str(at), "r", said("assistant", text("Step."))) | {"data": data} for at, data in enumerate(fails)]

    (turn,) = turns_of(steps)

    assert turn.failed_models == [{"model": "mock/one", "reason": "500"}]


def test_a_call_without_a_result_is_shown_as_interrupted() -> None:
    turns = turns_of([entry("1", "r", said("assistant", CALL))])

    assert turns[0].parts[0].state == "interrupted"


def test_a_failed_call_is_shown_as_failed() -> None:
    turns = turns_of(
        [
            entry("1", "r", said("assistant", CALL)),
            entry("2", "r", said("toolResult", text("no such file"), toolCallId="c1", isError=True)),
        ]
    )

    assert turns[0].parts[0].state == "error"


def test_entries_that_are_no_messages_are_passed_over() -> None:
    turns = turns_of([{"type": "event", "id": "1", "data": {}}, {"type": "message", "id": "2", "message": None}])

    assert turns == []


def test_ids_of_turns_are_unique_even_when_a_run_speaks_twice() -> None:
    turns = turns_of(
        [
            entry("1", "r", said("user", text("one"))),
            entry("2", "r", said("user", text("two"))),
            entry("3", None, said("assistant", text("three"))),
        ]
    )

    assert len({turn.id for turn in turns}) == 3


def test_strange_run_ids_make_harmless_element_ids() -> None:
    turns = turns_of([entry("1", '"><script>', said("user", text("x")))])

    assert turns[0].id == "u-___script_"


def test_a_live_run_gives_its_parts_the_ids_of_the_stored_turn() -> None:
    run = LiveRun("r", "agent:main:main", Markdown().render)
    run.apply("run_delta", {"text": "I look."})
    run.apply("run_tool_started", {"call_id": "c1", "name": "read", "arguments": {"path": "notes.md"}})
    run.apply("run_tool_finished", {"call_id": "c1", "output": "milk", "is_error": False})
    run.apply("run_delta", {"text": "They say milk."})

    stored = turns_of(
        [
            entry("2", "r", said("assistant", text("I look."), CALL)),
            entry("3", "r", said("toolResult", text("milk"), toolCallId="c1", isError=False)),
            entry("4", "r", said("assistant", text("They say milk."))),
        ]
    )[0]

    live = run.snapshot()
    assert live.id == stored.id
    assert [(part.id, part.kind, part.text, part.state) for part in live.parts] == [
        (part.id, part.kind, part.text, part.state) for part in stored.parts
    ]


def test_a_summary_stands_where_it_was_made_live_and_stored() -> None:
    summary = {"type": "event", "id": "2", "ts_ms": 1_500, "data": {"name": "compaction", "messages": 12}}
    run = LiveRun("r", "agent:main:main", Markdown().render)
    run.apply("compaction_started", {"run_id": "r"})
    summarising = run.turn.parts[0].state
    run.apply("compaction_finished", {"run_id": "r", "messages": 12})
    run.apply("run_delta", {"text": "Noon."})

    stored = turns_of([summary | {"run_id": "r"}, entry("3", "r", said("assistant", text("Noon.")))])
    alone = turns_of([summary])

    shown = [[(part.id, part.kind, part.text, part.state) for part in turn.parts] for turn in (run.turn, stored[0])]
    assert summarising == "running"
    assert shown[0] == shown[1] == [("p-a-r-0", "compaction", "12", "done"), ("p-a-r-1", "text", "Noon.", "")]
    assert (alone[0].role, alone[0].parts[0].text) == ("note", "12")


def test_a_call_that_waits_or_has_a_part_of_its_result_shows_that() -> None:
    run = LiveRun("r", "agent:main:main", Markdown().render)
    run.apply("run_tool_started", {"call_id": "c1", "name": "build"})
    run.apply("run_tool_updated", {"call_id": "c1", "output": "", "waits": True})
    part = run.turn.parts[0]
    waiting = (part.state, part.result)
    run.apply("run_tool_updated", {"call_id": "c1", "output": "half", "waits": False})
    part = run.turn.parts[0]

    assert waiting == ("waiting", None)
    assert (part.state, part.result) == ("running", "half")


def test_a_turn_says_what_its_model_calls_used_and_how_long_it_took() -> None:
    usage = {"input_tokens": 100, "cache_read_tokens": 50, "cache_write_tokens": 0, "output_tokens": 7}
    turns = turns_of(
        [
            entry("1", "r", said("user", text("when?"))),
            entry("2", "r", said("assistant", CALL)) | {"ts_ms": 2_000, "usage": usage},
            entry("3", "r", said("assistant", text("Noon."))) | {"ts_ms": 4_500, "usage": usage},
        ]
    )

    assert (turns[1].input_tokens, turns[1].output_tokens, turns[1].seconds) == (300, 14, 3.5)


def test_a_long_run_that_nobody_looks_at_keeps_few_of_its_events() -> None:
    run = LiveRun("r", "agent:main:main", Markdown().render)

    for _ in range(NOTED_LIMIT + 1):
        run.apply("run_delta", {"text": "x"})

    assert len(run.view.text) == NOTED_LIMIT
    assert len(run.turn.parts[0].text) == NOTED_LIMIT + 1


def test_only_the_blocks_that_changed_are_told_again() -> None:
    run = LiveRun("r", "agent:main:main", Markdown().render)
    run.apply("run_delta", {"text": "First paragraph.\n\nSecond"})
    first = run.changes()
    run.snapshot()
    run.apply("run_delta", {"text": " one."})

    second = run.changes()

    assert [type(what) for _, _, what in first] == [ShownPart]
    assert [(id, parent) for id, parent, _ in second] == [("p-a-r-0-b1", "p-a-r-0")]
    assert "Second one." in str(second[0][2])
    assert run.changes() == []


def test_texts_are_rendered_when_they_are_shown() -> None:
    turns = turns_of([entry("1", "r", said("assistant", text("*x*")))])

    render_turns(turns, Markdown().render)

    assert turns[0].parts[0].html == "<p><em>x</em></p>\n"


def test_a_title_is_the_beginning_of_what_was_said_first() -> None:
    entries = [entry("1", "r", said("user", text("What   is\nthe weather " + "very " * 40)))]

    title = title_of(entries)

    assert title is not None
    assert title.startswith("What is the weather very")
    assert len(title) == 60


def test_a_run_that_failed_says_so_after_a_restart_too() -> None:
    ended = {"name": "run_ended", "status": "error", "code": "MODEL_AUTH", "message": "the key is wrong"}

    turns = turns_of(
        [
            entry("1", "r", said("user", text("hello?"))),
            {"type": "event", "id": "2", "run_id": "r", "ts_ms": 1_000, "data": ended},
        ]
    )

    assert [(turn.id, turn.state, turn.error) for turn in turns] == [
        ("u-r", "done", None),
        ("a-r", "error", "the key is wrong"),
    ]


def test_limits_and_budgets_are_said_in_the_readers_language() -> None:
    hit = LimitHit("turns", 2, 2, budget=RunBudget(BudgetPer.DAY, {"turns": 2}))
    error = RunOutcome.limited(hit).error or {}
    near = {"kind": "budget_near", **BudgetState(RunBudget(BudgetPer.DAY, {}), "turns", 2, 2).as_dict(), "model": ""}

    [turn] = turns_of(
        [
            entry("1", "r", said("assistant", text("I begin"))) | {"data": {"notices": [near]}},
            {"type": "event", "id": "2", "run_id": "r", "data": {"name": "run_ended", "status": "error", **error}},
        ]
    )

    assert turn.why("en").startswith("The budget per day is used up: 2 model calls")
    assert turn.why("zh-CN").startswith("预算（每天）已用完")
    assert turn.notice_texts("zh-CN") == ["预算（每天）已用 100%：2 次模型调用 / 2 次模型调用。"]


def test_a_run_that_was_stopped_keeps_what_it_had_said() -> None:
    turns = turns_of(
        [
            entry("1", "r", said("assistant", text("I begin"))),
            {"type": "event", "id": "2", "run_id": "r", "data": {"name": "run_ended", "status": "aborted"}},
        ]
    )

    assert [(turn.state, turn.error, len(turn.parts)) for turn in turns] == [("aborted", None, 1)]


def test_what_the_hub_puts_before_the_words_is_a_note_and_gives_no_title() -> None:
    note = entry("r-memory", None, said("user", text("Recalled"))) | {"data": {"channel": "memory"}}
    words = entry("r-user", "r", said("user", text("When was it?"))) | {"data": {"channel": "webchat"}}

    turns = turns_of([note, words])

    assert [(turn.id, turn.role) for turn in turns] == [("n-r-memory", "note"), ("u-r", "user")]
    assert title_of([note, words]) == "When was it?"


def test_tags_for_a_chat_app_are_not_shown_live_or_stored() -> None:
    answer = "[[reply_to_current]]Noon. [[media:clock.png]]"
    run = LiveRun("r", "agent:main:main", Markdown().render)
    run.apply("run_delta", {"text": answer[:12]})
    begun = run.turn.parts[0].text
    run.apply("run_delta", {"text": answer[12:]})

    stored = turns_of(
        [entry("1", "r", said("user", text("[[silent]]?"))), entry("2", "r", said("assistant", text(answer)))]
    )

    assert (begun, run.turn.parts[0].text) == ("", "Noon.")
    assert [turn.parts[0].text for turn in stored] == ["[[silent]]?", "Noon."]


def test_a_conversation_knows_whether_its_canvas_was_used() -> None:
    drawn, failed = (ShownPart("tool", name, name="canvas", state=name) for name in ("done", "error"))

    assert uses_canvas([ShownTurn("a-1", "assistant", [drawn])])
    assert not uses_canvas([ShownTurn("a-2", "assistant", [failed])])
