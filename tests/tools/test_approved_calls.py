"""Calls that need the owner's word: asked about exactly what will run, and done only after a yes to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hub.core.context import SCOPES, Authority, Context, system_context
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.events import EventBus
from hub.core.schema import Required, Schema, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.core.tasks import TaskOwner
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask
from hub.tools.approval_questions import CALL_TIMEOUT_S, ask_about_services
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.parameters import from_schema
from hub.tools.policy import ToolRules
from hub.tools.registry import ToolRegistry

OWNER = Authority("peer:t:user:1", "me", SCOPES, owner=True)
TAINTED = OWNER.narrow(tainted=True)
STRANGER = Authority("peer:t:user:9", tainted=True)
YES = ApprovalDecision(True, ApprovalState.APPROVED, "owner")
NO = ApprovalDecision(False, ApprovalState.DENIED, "owner")


class Bench:
    """A registry with a tool that sends, an owner who is asked, and what both saw."""

    def __init__(self, decision: ApprovalDecision | None = YES) -> None:
        self.bus = EventBus(TaskOwner("test"))
        self.decision = decision
        self.asked: list[Ask] = []
        self.done: list[ToolCall] = []
        self.meanwhile: Callable[[], Any] = lambda: None
        self.registry = ToolRegistry(self.bus, ask=self._ask if decision is not None else None)
        self.remove = self.registry.register(self.tool())

    def tool(self) -> Tool:
        annotations = Annotations(open_world=True, owner_only=False)
        return Tool("send", "", from_schema({Required("to"): string}), self._send, "message", annotations)

    async def call(self, arguments: dict[str, Any] | None = None, authority: Authority = TAINTED) -> ToolResult:
        arguments = {"to": "bob"} if arguments is None else arguments
        request = ToolCallRequest("c", "send", arguments, Context(authority), "main", "agent:main:main", "r1")
        return await invoke_tool(self.registry, request)

    async def _send(self, call: ToolCall) -> ToolResult:
        self.done.append(call)
        return ToolResult("sent")

    async def _ask(self, ask: Ask) -> ApprovalDecision:
        self.asked.append(ask)
        self.meanwhile()
        assert self.decision is not None
        return self.decision


async def test_a_tainted_turn_asks_about_exactly_what_will_run_and_does_it_after_a_yes() -> None:
    bench = Bench()

    result = await bench.call()

    (ask,) = bench.asked
    assert not result.is_error
    assert [dict(call.arguments) for call in bench.done] == [{"to": "bob"}]
    assert ask.details == {"tool": "send", "arguments": {"to": "bob"}, "agent": "main"}
    assert (ask.kind, ask.session_key, ask.run_id) == ("tool", "agent:main:main", "r1")
    assert ask.timeout_s == CALL_TIMEOUT_S == 300
    assert not ask.survives
    assert bench.done[0].context.authority.tainted


@pytest.mark.parametrize(
    "decision",
    [
        NO,
        ApprovalDecision(False, ApprovalState.EXPIRED, None, "no one answered in time"),
        ApprovalDecision(False, ApprovalState.PENDING),
    ],
)
async def test_without_a_yes_it_is_not_done(decision: ApprovalDecision) -> None:
    bench = Bench(decision)

    result = await bench.call()

    assert result.is_error
    assert "owner" in result.output
    assert bench.done == []


async def test_nothing_is_asked_where_nothing_needs_to_be() -> None:
    bench = Bench()

    await bench.call(authority=OWNER)

    assert (bench.asked, len(bench.done)) == ([], 1)


async def test_with_nobody_to_ask_it_is_refused() -> None:
    bench = Bench(None)

    result = await bench.call()

    assert result.details["code"] == "FORBIDDEN"
    assert bench.done == []


async def test_a_stranger_cannot_keep_the_owner_busy() -> None:
    bench = Bench()
    bench.registry.configure(ToolRules.from_config({"strangers": "full"}))

    result = await bench.call(authority=STRANGER)

    assert result.is_error
    assert (bench.asked, bench.done) == ([], [])


async def test_arguments_that_are_wrong_are_not_asked_about() -> None:
    bench = Bench()

    result = await bench.call({"to": 1, "x": 2})

    assert result.details["code"] == "INVALID_REQUEST"
    assert bench.asked == []


async def test_a_tool_that_was_exchanged_meanwhile_is_not_run() -> None:
    bench = Bench()

    def exchange() -> None:
        bench.remove()
        bench.registry.register(bench.tool())

    bench.meanwhile = exchange

    assert (await bench.call()).is_error
    assert bench.done == []


async def test_a_tool_that_was_switched_off_meanwhile_is_not_run() -> None:
    bench = Bench()
    bench.meanwhile = lambda: bench.registry.configure(ToolRules.from_config({"deny": ["send"]}))

    assert (await bench.call()).is_error
    assert bench.done == []


async def test_arguments_that_were_changed_meanwhile_are_not_run() -> None:
    bench = Bench()
    kept: list[dict[str, Any]] = []
    validate = from_schema({Required("to"): string}).validate

    def remember(arguments: Any) -> dict[str, Any]:
        valid = validate(arguments)
        kept.append(valid)
        return valid

    bench.remove()
    tool = bench.tool()
    parameters = type(tool.parameters)(tool.parameters.json_schema, remember)
    annotations = Annotations(open_world=True, owner_only=False)
    bench.registry.register(Tool("send", "", parameters, bench._send, "message", annotations))
    bench.meanwhile = lambda: kept[0].update({"to": "mallory"})

    assert (await bench.call()).is_error
    assert bench.done == []


class Services:
    """A registry with a service that asks."""

    def __init__(self, decision: ApprovalDecision = YES) -> None:
        self.asked: list[Ask] = []
        self.called: list[ServiceCall] = []
        self.meanwhile: Callable[[], Any] = lambda: None
        self.decision = decision
        self.registry = ServiceRegistry(EventBus(TaskOwner("test")), ask_about_services(self._ask))
        self.register()

    def register(self) -> None:
        schema = Schema({Required("door"): string})
        self.registry.register("lock", "open", self._open, schema, ResponseMode.NONE, AgentRule.ASK)

    async def call(self, data: dict[str, Any] | None = None, authority: Authority = OWNER) -> Any:
        context = Context(authority)
        data = {"door": "front"} if data is None else data
        return await self.registry.call_for_agent("lock", "open", data, context=context, session_key="s", run_id="r")

    async def _open(self, call: ServiceCall) -> None:
        self.called.append(call)

    async def _ask(self, ask: Ask) -> ApprovalDecision:
        self.asked.append(ask)
        self.meanwhile()
        return self.decision


async def test_a_service_that_asks_is_called_with_what_was_approved() -> None:
    services = Services()

    await services.call()

    (ask,) = services.asked
    assert ask.details == {"service": "lock.open", "data": {"door": "front"}}
    assert (ask.kind, ask.session_key, ask.run_id) == ("service", "s", "r")
    assert [dict(call.data) for call in services.called] == [{"door": "front"}]


async def test_a_service_is_not_called_after_a_no() -> None:
    services = Services(NO)

    with pytest.raises(Forbidden, match="owner said no"):
        await services.call()

    assert services.called == []


async def test_a_service_that_was_exchanged_meanwhile_is_not_called() -> None:
    services = Services()
    services.meanwhile = services.register

    with pytest.raises(Forbidden, match="changed"):
        await services.call()

    assert services.called == []


async def test_wrong_data_and_strangers_are_not_asked_about() -> None:
    services = Services()

    with pytest.raises(InvalidRequest):
        await services.call({"door": 1, "x": 2})
    with pytest.raises(Forbidden):
        await services.call(authority=STRANGER)

    assert (services.asked, services.called) == ([], [])


async def test_what_no_model_asks_for_needs_no_approval() -> None:
    services = Services()

    await services.registry.call("lock", "open", {"door": "front"}, context=system_context())

    assert (services.asked, len(services.called)) == ([], 1)


async def test_people_see_that_a_call_waits_for_a_word_and_that_it_goes_on() -> None:
    bench = Bench()
    seen: list[tuple[str, bool]] = []

    def update(output: str = "", *, waits: bool = False) -> None:
        seen.append((output, waits))

    arguments, context = {"to": "bob"}, Context(TAINTED)
    request = ToolCallRequest("c", "send", arguments, context, "main", "agent:main:main", "r1", update=update)
    bench.meanwhile = lambda: seen.append(("asked", True))
    await invoke_tool(bench.registry, request)

    assert seen == [("", True), ("asked", True), ("", False)]
