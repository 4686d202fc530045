"""The trigger `hook`: hooks that observe start automations, and their data is classified by its author."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import SYSTEM, Authority, Context
from hub.core.schema import Invalid
from hub.core.tasks import TaskOwner
from hub.hooks.contract import AfterToolCall, CommandReceived, HookPayload, LlmInput, SessionStart
from hub.hooks.registry import HANDLERS_LIMIT, Hook, Hooks
from hub.models.contract import user_message
from tests.automation.triggers.bench import OWNER, Bench, valid

RUN: dict[str, Any] = {"context": Context(OWNER), "run_id": "r", "session_key": "agent:main:main", "agent_id": "main"}


@pytest.fixture
def hooks(bench: Bench) -> Hooks:
    hooks = Hooks(TaskOwner("hooks"))
    bench.with_source(Hooks, hooks)
    return hooks


def begun(authority: Authority = SYSTEM) -> SessionStart:
    return SessionStart(context=Context(authority), session_key="agent:main:main", reason="reset")


async def call(hooks: Hooks, *payloads: HookPayload) -> None:
    for payload in payloads:
        hooks.observe(payload)
    await hooks.drain(30)


@pytest.mark.parametrize("name", ["nothing", "before_tool_call", "message_sending", "tool_result_persist", []])
def test_only_hooks_that_observe_are_triggers(name: Any) -> None:
    with pytest.raises(Invalid):
        valid({"trigger": "hook", "hook": name})


async def test_a_hook_fires_with_what_it_was_given_until_it_is_disarmed(bench: Bench, hooks: Hooks) -> None:
    site = bench.arm({"trigger": "hook", "hook": ["session_start", "session_end"]})
    payload = begun()

    await call(hooks, payload)
    bench.disarm()
    await call(hooks, begun())

    [fired] = site.fired
    assert fired.trigger == {
        "hook": "session_start",
        "data": {"session_key": "agent:main:main", "reason": "reset"},
        "description": "hook session_start",
    }
    assert (fired.context, fired.tainted, hooks.all()) == (payload.context, False, [])


@pytest.mark.parametrize(
    ("payload", "tainted"),
    [
        (begun(OWNER), False),
        (begun(OWNER.narrow(tainted=True)), True),
        (begun(OWNER.narrow(owner=False)), True),
        (
            AfterToolCall(**RUN, call_id="c", name="web", output="hi", is_error=False, duration_ms=1.0),
            True,
        ),
    ],
)
async def test_words_of_others_and_results_of_tools_are_words_from_outside(
    bench: Bench, hooks: Hooks, payload: HookPayload, tainted: bool
) -> None:
    site = bench.arm({"trigger": "hook", "hook": payload.hook})

    await call(hooks, payload)

    assert [each.tainted for each in site.fired] == [tainted]


@pytest.mark.parametrize("from_owner", [True, False])
async def test_a_command_is_trusted_when_an_owner_wrote_it(bench: Bench, hooks: Hooks, from_owner: bool) -> None:
    site = bench.arm({"trigger": "hook", "hook": "command:*"})
    command = {"name": "new", "arguments": "", "session_key": "s", "agent_id": "main", "channel": "c", "sender": "x"}

    await call(hooks, CommandReceived(context=Context(OWNER), **command, from_owner=from_owner))

    assert [each.tainted for each in site.fired] == [not from_owner]


async def test_what_is_large_or_no_plain_data_is_left_out(bench: Bench, hooks: Hooks) -> None:
    site = bench.arm({"trigger": "hook", "hook": "llm_input"})
    messages = (user_message("hello"),)

    await call(
        hooks,
        LlmInput(**RUN, model="m", system="x" * 90_000, messages=messages, tools=["a" * 90_000]),
    )

    data = site.fired[0].trigger["data"]
    assert sorted(data) == ["agent_id", "model", "run_id", "session_key", "system"]
    assert len(data["system"]) == 16_384


async def test_a_hook_that_takes_no_more_is_said_and_nothing_is_left(bench: Bench, hooks: Hooks) -> None:
    for _ in range(HANDLERS_LIMIT):
        hooks.add(Hook("session_end", lambda _: None, "integration test"))

    site = bench.arm({"trigger": "hook", "hook": ["session_start", "session_end"]})

    assert "has 200 handlers already" in site.failures[0]
    assert len(hooks.all()) == HANDLERS_LIMIT
