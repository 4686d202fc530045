"""`repeat` and `parallel`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.automation.actions.repeat import ITERATIONS_LIMIT
from hub.automation.contract import RunOutcome
from tests.automation.actions.bench import Bench, results, steps_of
from tests.lengths import examples

ON = {"action": "light.turn_on"}
NOTE = {"action": "light.turn_on", "data": {"repeat": "{{ repeat }}"}}


def noted(bench: Bench) -> list[Any]:
    return [data["repeat"] for name, data in bench.calls if name == "light.turn_on"]


@pytest.mark.parametrize("count", [2, "2", "{{ 1 + 1 }}", "{{ '2' }}"])
async def test_count_repeats_so_often(bench: Bench, count: Any) -> None:
    _, run = await bench.ended([{"repeat": {"count": count, "sequence": [NOTE]}}])

    assert noted(bench) == [
        {"first": True, "index": 1, "last": False},
        {"first": False, "index": 2, "last": True},
    ]
    assert results(run, "action/0") == [{"iterations": 2}]
    assert len(steps_of(run)["action/0/repeat/sequence/0"]) == 2


@pytest.mark.parametrize(
    ("items", "seen"),
    [
        (["a", 1, {"b": 2}], ["a", 1, {"b": 2}]),
        ("{{ range(3) | list }}", [0, 1, 2]),
        (["{{ 1 + 1 }}"], [2]),
        ([], []),
    ],
)
async def test_for_each_goes_through_a_list(bench: Bench, items: Any, seen: list[Any]) -> None:
    await bench.ended([{"repeat": {"for_each": items, "sequence": NOTE}}])

    assert [told["item"] for told in noted(bench)] == seen


async def test_while_asks_before_each_time(bench: Bench) -> None:
    _, run = await bench.ended([{"repeat": {"while": "{{ repeat.index <= 2 }}", "sequence": [NOTE]}}])

    assert noted(bench) == [{"first": True, "index": 1}, {"first": False, "index": 2}]
    assert [told["holds"] for told in results(run, "action/0/repeat/while/0")] == [True, True, False]


async def test_until_asks_after_each_time(bench: Bench) -> None:
    await bench.ended([{"repeat": {"until": ["{{ repeat.index == 2 }}"], "sequence": [NOTE]}}])

    assert [told["index"] for told in noted(bench)] == [1, 2]


async def test_a_loop_in_a_loop_has_its_own_repeat(bench: Bench) -> None:
    inner = {"repeat": {"for_each": ["a", "b"], "sequence": [NOTE]}}

    await bench.ended([{"repeat": {"count": 2, "sequence": [inner, NOTE]}}])

    assert [told.get("item", told["index"]) for told in noted(bench)] == ["a", "b", 1, "a", "b", 2]


async def test_repeat_is_gone_behind_the_loop(bench: Bench) -> None:
    steps = [{"repeat": {"count": 1, "sequence": []}}, {**ON, "data": {"gone": "{{ repeat is not defined }}"}}]

    await bench.ended(steps)

    assert bench.calls == [("light.turn_on", {"gone": True})]


async def test_a_loop_without_end_is_ended(bench: Bench) -> None:
    ended, _ = await bench.ended([{"repeat": {"while": "true", "sequence": []}}])

    assert ended.error == f"action/0: it was repeated {ITERATIONS_LIMIT} times and its `while` never ended it"


async def test_a_tight_loop_lets_others_run(bench: Bench) -> None:
    task = bench.start(bench.run([{"repeat": {"count": 1_000, "sequence": []}}]))
    turns = 0

    while not task.done():
        turns += 1
        await asyncio.sleep(0)

    assert turns > 500


@pytest.mark.parametrize(
    ("repeat", "text"),
    [
        ({"count": "{{ 'many' }}"}, "repeat.count: expected a whole number, got 'many'"),
        ({"count": "{{ 100001 }}"}, "repeat.count: 100001 times are more than 100000"),
        ({"for_each": "{{ 5 }}"}, "repeat.for_each: expected a list, got int"),
    ],
)
async def test_what_cannot_be_repeated_fails(bench: Bench, repeat: dict[str, Any], text: str) -> None:
    ended, _ = await bench.ended([{"repeat": {**repeat, "sequence": []}}])

    assert ended.error == f"action/0: {text}"


async def test_branches_run_at_the_same_time(bench: Bench) -> None:
    run = bench.run([{"parallel": [{"sequence": [{"delay": 10}, ON]}, [{"delay": 10}, ON], ON]}])
    task = bench.start(run)

    await bench.advance()
    assert len(bench.calls) == 1
    await bench.advance(10)

    assert (await task).outcome is RunOutcome.FINISHED
    assert len(bench.calls) == 3
    assert "action/0/parallel/1/sequence/1" in steps_of(run)


async def test_the_first_error_of_a_branch_comes_after_all_have_ended(bench: Bench) -> None:
    task = bench.start(bench.run([{"parallel": [[{"delay": 5}, ON], {"action": "test.fail"}]}, ON]))

    await bench.advance(5)

    ended = await task
    assert ended.error == "action/0/parallel/1/sequence/0: it is out of order"
    assert bench.called == ["test.fail", "light.turn_on"]


async def test_each_branch_has_its_own_wait(bench: Bench) -> None:
    waits = {"wait_template": "{{ true }}"}, {"wait_template": "{{ false }}", "timeout": 1}
    told = {**ON, "data": {"completed": "{{ wait.completed }}"}}

    task = bench.start(bench.run([{"parallel": [[waits[0], {"delay": 5}, told], [waits[1], {"delay": 5}, told]]}]))
    await bench.advance(10)

    await task
    assert [data["completed"] for _, data in bench.calls] == [True, False]


async def test_a_branch_changes_the_variables_of_the_run(bench: Bench) -> None:
    await bench.ended([{"parallel": [{"variables": {"a": 1}}]}, {**ON, "data": {"a": "{{ a }}"}}])

    assert bench.calls == [("light.turn_on", {"a": 1})]


programs = st.recursive(
    st.builds(lambda n: {"call": n}, st.integers(0, 99)),
    lambda inner: st.one_of(
        st.builds(lambda count, body: {"count": count, "body": body}, st.integers(0, 3), st.lists(inner, max_size=3)),
        st.builds(
            lambda test, yes, no: {"test": test, "yes": yes, "no": no},
            st.booleans(),
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3),
        ),
        st.builds(lambda body: {"block": body}, st.lists(st.one_of(inner, st.just({"guard": False})), max_size=4)),
        st.builds(
            lambda items, body: {"items": items, "body": body},
            st.lists(st.integers(), max_size=3),
            st.lists(inner, max_size=2),
        ),
    ),
    max_leaves=12,
)


def written(program: dict[str, Any]) -> dict[str, Any] | str:
    """A program as it is in a file."""
    match program:
        case {"call": n}:
            return {"action": "light.turn_on", "data": {"n": n}}
        case {"count": count, "body": body}:
            return {"repeat": {"count": count, "sequence": [written(each) for each in body]}}
        case {"items": items, "body": body}:
            return {"repeat": {"for_each": items, "sequence": [written(each) for each in body]}}
        case {"test": test, "yes": yes, "no": no}:
            branches = {"then": [written(each) for each in yes], "else": [written(each) for each in no]}
            return {"if": "{{ true }}" if test else "{{ false }}", **branches}
        case {"block": body}:
            return {"sequence": [written(each) for each in body]}
    return "{{ false }}"


def expected(program: list[dict[str, Any]]) -> list[int]:
    """What a program calls, worked out on its own."""
    calls: list[int] = []
    for step in program:
        match step:
            case {"call": n}:
                calls.append(n)
            case {"count": count, "body": body}:
                calls.extend(expected(body) * count)
            case {"items": items, "body": body}:
                calls.extend(expected(body) * len(items))
            case {"test": test, "yes": yes, "no": no}:
                calls.extend(expected(yes if test else no))
            case {"block": body}:
                calls.extend(expected(body))
            case _:
                return calls
    return calls


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(programs, min_size=1, max_size=4))
def test_any_program_calls_what_it_says(program: list[dict[str, Any]]) -> None:
    async def run() -> list[int]:
        bench = Bench()
        await bench.ended([written(each) for each in program])
        return [data["n"] for _, data in bench.calls]

    assert asyncio.run(run()) == expected(program)
