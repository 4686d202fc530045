"""The registry of hooks: who is called, what a failure costs, and what nobody waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.context import SYSTEM, Context
from hub.core.errors import Forbidden, InvalidRequest, LimitExceeded
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.hooks.contract import AgentEnd, BeforePromptBuild, BeforeToolCall, MessageReceived
from hub.hooks.from_bus import observe_bus
from hub.hooks.registry import HANDLERS_LIMIT, Hook, Hooks
from tests.hooks.test_merge import call, prompt

ENDED: dict[str, Any] = {"status": "ok", "reply": "done", "usage": {}, "error": None, "stop": "end", "model": "m"}


@pytest.fixture
def hooks() -> Hooks:
    return Hooks(TaskOwner("hooks"))


async def never(payload: object) -> None:
    await asyncio.Event().wait()


def broken(payload: object) -> None:
    raise ValueError("oh no")


def test_a_hook_that_does_not_exist_and_a_bad_time_limit_are_refused(hooks: Hooks) -> None:
    with pytest.raises(InvalidRequest, match="there is no hook 'before_tool'; there are message_received"):
        hooks.add(Hook("before_tool", never, "test"))
    with pytest.raises(InvalidRequest, match="timeout_s of a handler of agent_end is 0; expected at most 120"):
        hooks.add(Hook("agent_end", never, "test", timeout_s=0))


def test_a_hook_has_a_bound_of_handlers(hooks: Hooks) -> None:
    for _ in range(HANDLERS_LIMIT):
        hooks.add(Hook("agent_end", never, "test"))

    with pytest.raises(LimitExceeded, match="agent_end has 200 handlers already"):
        hooks.add(Hook("agent_end", never, "test"))


def test_a_removed_handler_leaves_nothing(hooks: Hooks) -> None:
    first, second = (hooks.add(Hook("agent_end", never, name)) for name in ("one", "two"))
    first()
    first()

    assert AgentEnd.hook in hooks.wanted
    assert [each.source for each in hooks.all()] == ["two"]
    second()
    assert AgentEnd.hook not in hooks.wanted


async def test_a_handler_that_fails_or_is_late_is_named_and_skipped(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.add(Hook("before_prompt_build", broken, "integration one", 2))
    hooks.add(Hook("before_prompt_build", never, "integration two", 1, timeout_s=0.01))
    hooks.add(Hook("before_prompt_build", lambda _: {"append": "hello"}, "integration three"))

    assert (await hooks.modify(prompt())).append == "hello"
    assert "before_prompt_build of integration one failed and is skipped" in caplog.text
    assert "before_prompt_build of integration two took too long and is skipped" in caplog.text


@pytest.mark.parametrize("handler", [broken, never, lambda _: {"rights": "all"}])
async def test_a_guard_that_fails_or_is_late_refuses(hooks: Hooks, handler: Any) -> None:
    hooks.add(Hook("before_tool_call", handler, "integration one", timeout_s=0.01))

    with pytest.raises(Forbidden, match="before_tool_call of integration one failed, so this is not done"):
        await hooks.modify(call())


async def test_observers_run_side_by_side_and_nobody_waits_for_them(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[AgentEnd] = []
    both = asyncio.Barrier(2)

    async def observe(payload: AgentEnd) -> None:
        await both.wait()
        seen.append(payload)

    for handler in (observe, broken, observe):
        hooks.add(Hook("agent_end", handler, "test"))
    payload = AgentEnd(context=Context(SYSTEM), run_id="r", session_key="s", agent_id="main", **ENDED)
    hooks.observe(payload)

    assert seen == []
    await hooks.drain(30)
    assert seen == [payload, payload]
    assert "agent_end of test failed and is skipped" in caplog.text


async def test_a_synchronous_hook_does_not_wait_and_names_what_wants_to(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.add(Hook("before_prompt_build", never, "integration slow", 2))
    hooks.add(Hook("before_prompt_build", broken, "integration one", 1))
    hooks.add(Hook("before_prompt_build", lambda _: {"append": "now"}, "integration quick"))

    assert hooks.settle(prompt()).append == "now"
    assert "of integration slow is skipped: it returned an awaitable" in caplog.text


async def test_what_the_bus_tells_is_observed(hooks: Hooks) -> None:
    bus, seen = EventBus(TaskOwner("bus")), list[Any]()
    observe_bus(bus, hooks)
    context = Context(SYSTEM)
    facts: Mapping[str, Any] = {"run_id": "r", "session_key": "s", "agent_id": "main", **ENDED, "further": 1}

    bus.fire("run_finished", dict(facts), context)
    hooks.add(Hook("agent_end", seen.append, "test"))
    bus.fire("run_finished", dict(facts), context)
    await hooks.drain(30)

    assert [(each.run_id, each.reply, each.context) for each in seen] == [("r", "done", context)]


async def test_after_the_end_nothing_is_called(hooks: Hooks, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    seen: list[Any] = []
    hooks.add(Hook("agent_end", seen.append, "test"))
    await hooks.drain(30)

    hooks.observe(AgentEnd(context=Context(SYSTEM), run_id="r", session_key="s", agent_id="main", **ENDED))

    assert seen == []
    assert not any(each.hook in hooks.wanted for each in (BeforePromptBuild, BeforeToolCall, MessageReceived))
