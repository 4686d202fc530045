"""The hooks around a tool call: what they change is validated and judged again, and nothing gets wider by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.context import Authority, ToolPolicy
from hub.core.tasks import TaskOwner
from hub.hooks.contract import AfterToolCall, BeforeToolCall
from hub.hooks.registry import Hook, Hooks
from hub.hooks.tool_calls import ToolCallHooks
from tests.tools.test_invoke import Bench, echo


class HookedBench(Bench):
    """A registry with one tool, with hooks around it."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks = Hooks(TaskOwner("hooks"))
        self.registry.around = ToolCallHooks(self.hooks)

    def before(self, answer: Any, **fields: Any) -> None:
        handler = answer if callable(answer) else lambda _: answer
        self.hooks.add(Hook("before_tool_call", handler, "test", **fields))


@pytest.fixture
def bench() -> HookedBench:
    return HookedBench()


async def test_a_hook_changes_arguments(bench: HookedBench) -> None:
    bench.add(echo)
    bench.before({"arguments": {"path": "b"}})

    assert (await bench.call({"path": "a"})).output == "{'path': 'b', 'limit': 10}"


async def test_changed_arguments_are_validated(bench: HookedBench) -> None:
    bench.add(echo)
    bench.before({"arguments": {"path": "b", "limit": "all", "sudo": True}})

    result = await bench.call({"path": "a"})

    assert result.is_error
    assert result.details["code"] == "INVALID_REQUEST"


async def test_the_owner_is_asked_about_the_changed_arguments(bench: HookedBench) -> None:
    def approval(arguments: Mapping[str, Any], authority: Authority) -> str | None:
        return "it is b" if arguments["path"] == "b" else None

    bench.add(echo, approval=approval)
    bench.before({"arguments": {"path": "b"}})

    result = await bench.call({"path": "a"})

    assert result.is_error
    assert "needs the owner's approval" in result.output


async def test_rules_that_change_while_a_hook_is_asked_hold(bench: HookedBench) -> None:
    bench.add(echo)
    rules = bench.registry.rules

    def forbid(payload: BeforeToolCall) -> dict[str, Any]:
        bench.registry.configure(type(rules)(policies=(ToolPolicy(deny=frozenset({"read"})),)))
        return {"arguments": payload.arguments}

    bench.before(forbid)

    assert (await bench.call()).is_error


async def test_a_tool_that_is_forbidden_is_not_asked_about(bench: HookedBench) -> None:
    asked: list[Any] = []
    bench.add(echo)
    bench.before(asked.append)

    await bench.call(policies=(ToolPolicy(deny=frozenset({"read"})),))
    await bench.call({})

    assert asked == []


async def test_a_block_is_the_reason_that_the_model_reads(bench: HookedBench) -> None:
    bench.add(echo)
    bench.before({"block": "it is night"})

    result = await bench.call()

    assert (result.is_error, result.output) == (True, "error: read was not done: it is night")


async def test_a_hook_that_fails_refuses_the_call(bench: HookedBench) -> None:
    bench.add(echo)
    bench.before("nonsense")

    result = await bench.call()

    assert (result.is_error, result.details["code"]) == (True, "FORBIDDEN")


async def test_what_a_hook_changes_in_place_and_keeps_does_not_count(bench: HookedBench) -> None:
    def tamper(payload: BeforeToolCall) -> None:
        payload.arguments["path"] = "b"

    bench.add(echo)
    bench.before(tamper)

    assert (await bench.call({"path": "a"})).output == "{'path': 'a', 'limit': 10}"


async def test_the_result_is_told_without_secrets(bench: HookedBench) -> None:
    told: list[AfterToolCall] = []
    bench.add(echo)
    bench.hooks.add(Hook("after_tool_call", told.append, "test"))

    await bench.call({"path": "hunter2"}, redact=lambda text: text.replace("hunter2", "***"))
    await bench.hooks.drain(30)

    assert [(each.name, each.call_id, each.is_error, each.output) for each in told] == [
        ("read", "c1", False, "{'path': '***', 'limit': 10}")
    ]
