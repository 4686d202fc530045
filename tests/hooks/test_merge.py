"""What handlers change: a fold over their answers, in the order of their priorities."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest
from hub.core.tasks import TaskOwner
from hub.hooks.contract import HOOKS, BeforePromptBuild, BeforeToolCall, HookKind, HookPayload
from hub.hooks.merge import TEXT_LIMIT, merge
from hub.hooks.registry import Hook, Hooks

CONTEXT = Context(SYSTEM)


def call(**arguments: Any) -> BeforeToolCall:
    return BeforeToolCall(
        context=CONTEXT, run_id="r", session_key="s", agent_id="main", call_id="c", name="read", arguments=arguments
    )


def prompt(append: str = "") -> BeforePromptBuild:
    return BeforePromptBuild(
        context=CONTEXT, run_id="r", session_key="s", agent_id="main", model="m", text="hi", append=append
    )


def test_none_and_an_empty_mapping_change_nothing() -> None:
    payload = call(path="a")

    assert merge(payload, None) is payload
    assert merge(payload, {}) is payload


def test_a_text_is_joined_and_arguments_are_replaced() -> None:
    assert merge(prompt("one"), {"append": "two"}).append == "one\n\ntwo"
    assert merge(prompt("one"), {"append": ""}).append == "one"
    assert merge(call(path="a"), {"arguments": {"limit": 1}}).arguments == {"limit": 1}


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("no", "it returned str; expected None or a mapping"),
        ({"name": "shell"}, "it returned 'name'; before_tool_call lets change arguments, block"),
        ({"arguments": []}, "it returned list as arguments; expected dict"),
        ({"block": "x" * (TEXT_LIMIT + 1)}, f"it returned {TEXT_LIMIT + 1} characters as block"),
    ],
)
def test_what_a_handler_may_not_change_is_named(answer: Any, complaint: str) -> None:
    with pytest.raises(InvalidRequest, match=complaint):
        merge(call(), answer)


def test_only_hooks_that_modify_let_change_something_and_name_what_it_means() -> None:
    for name, payload in HOOKS.items():
        assert payload.hook == name
        assert bool(payload.changes) == (payload.kind is not HookKind.OBSERVE)
        assert all(rule.means and rule.type in {str, dict} for rule in payload.changes.values())


Answers = st.lists(
    st.tuples(
        st.integers(-3, 3),
        st.one_of(
            st.none(),
            st.just({}),
            st.just("nonsense"),
            st.fixed_dictionaries({"append": st.text("abc", max_size=3)}),
            st.fixed_dictionaries({"text": st.text("abc", max_size=3)}),
        ),
    ),
    max_size=8,
)


@given(answers=Answers)
def test_handlers_are_asked_by_priority_and_their_answers_are_folded(answers: list[tuple[int, Any]]) -> None:
    asked: list[int] = []
    seen: list[str] = []

    async def ask() -> HookPayload:
        hooks = Hooks(TaskOwner("test"))
        for at, (priority, answer) in enumerate(answers):

            def handler(payload: BeforePromptBuild, at: int = at, answer: Any = answer) -> Any:
                asked.append(at)
                seen.append(payload.append)
                return answer

            hooks.add(Hook("before_prompt_build", handler, "test", priority))
        result = await hooks.modify(prompt())
        assert hooks.settle(prompt()) == result
        return result

    result = asyncio.run(ask())

    expected = sorted(range(len(answers)), key=lambda at: (-answers[at][0], at))
    texts = [
        answers[at][1]["append"] for at in expected if isinstance(answers[at][1], dict) and "append" in answers[at][1]
    ]
    assert asked == [*expected, *expected]
    assert result == prompt("\n\n".join(text for text in texts if text))
    assert all(result.append.startswith(each) for each in seen)


@given(answers=st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(["", "no", "never"])), max_size=6))
def test_the_first_block_ends_the_asking(answers: list[tuple[int, str]]) -> None:
    asked: list[str] = []

    async def ask() -> BeforeToolCall:
        hooks = Hooks(TaskOwner("test"))
        for priority, block in answers:

            def handler(payload: BeforeToolCall, block: str = block) -> Any:
                asked.append(block)
                return {"block": block}

            hooks.add(Hook("before_tool_call", handler, "test", priority))
        return await hooks.modify(call())

    result = asyncio.run(ask())

    ordered = [block for _, block in sorted(answers, key=lambda each: -each[0])]
    first = next((at for at, block in enumerate(ordered) if block), len(ordered) - 1)
    assert asked == ordered[: first + 1]
    assert result.block == (ordered[first] if ordered else "")
