"""The steps of a prepared run: calls the model and tools, and stores, publishes and counts what happens.

`work` drives the loop to its end through `RunPorts`; `finish` writes the end, `leave` what a stop of the hub cuts off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from hub.agent import record
from hub.agent.answer.answer_check import problem_of, retry_instruction
from hub.agent.budgets.budgets import Spending
from hub.agent.budgets.limits import LimitHit
from hub.agent.compaction.compact import CompactionReason, CompactionRequest, compact
from hub.agent.conversation.old_results import GUARD_SHARE, guard, prune
from hub.agent.conversation.window import budget_for
from hub.agent.loop import DraftTurn, HandedOver, Limited, ToolEnded, TurnBegun, TurnEnded, agent_loop
from hub.agent.parts import RunDependencies
from hub.agent.run import AgentRun
from hub.agent.run_request import EMPTY, RunOutcome, RunResult, RunStatus
from hub.agent.tools.find_tools import resolve_call
from hub.core.errors import HubError
from hub.hooks.contract import LlmInput, LlmOutput
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelRequest,
    StopReason,
    TextDelta,
    TextWasThinking,
    ThinkingDelta,
    ToolCallBlock,
    ToolSpec,
)
from hub.models.failover import Attempt, stream_with_failover
from hub.models.final_tags import with_final_tags
from hub.models.resolved import Resolved
from hub.models.vendors import OFFLINE
from hub.security.redaction import RedactedPieces
from hub.sessions.entry import TranscriptEntry, user_entry_id
from hub.sessions.repair import INTERRUPTED
from hub.sessions.transcript_file import PendingSync
from hub.tools.contract import ToolResult
from hub.tools.invoke import ResultRoom, ToolCallRequest, invoke_tool

SAID = "run_delta"
THOUGHT = "run_thinking"

RESULT_SHARE = 0.5
CHARS_PER_TOKEN = 2
"""One tool result has at most half the window, at two characters a token: what tools give is seldom prose."""

UPDATE_CHARS = 20_000
"""What is shown of a result before it is whole: its end."""

STOPPED_CALL = "stopped: the run was ended before this call had a result; it may or may not have taken effect"

_IS_PROGRAM = attrgetter("info.program")
_log = logging.getLogger(__name__)


# -- from the first model call to the end ------------------------------------------------------------------------------


async def work(parts: RunDependencies, run: AgentRun, note_start: Callable[[], Awaitable[None]] | None) -> RunOutcome:
    """Run the loop to its end.

    Args:
        parts: The dependencies of runs.
        run: The run, prepared.
        note_start: Puts the run's row on the disk; called once, before the first tool is started.

    Raises:
        HubError: The model failed for good, or the disk did.

    Cancelling it leaves what was said and done so far to `finish` or `leave`.
    """
    deltas = _Deltas(parts, run)
    async with aclosing(agent_loop(RunPorts(parts, run), run.config.limits)) as events:
        async for event in events:
            if isinstance(event, (TextDelta, ThinkingDelta)):
                run.trace.spoke()
                deltas.add(SAID if isinstance(event, TextDelta) else THOUGHT, event.text)
            elif isinstance(event, TextWasThinking):
                deltas.begin()  # who shows the answer while it is written begins again
            elif isinstance(event, TurnBegun):
                run.draft = event.draft
                deltas.begin()
                if _asks_a_program(run):
                    if note_start is not None:
                        await note_start()
                        note_start = None
                    await record.note_program(parts, run)
            elif isinstance(event, TurnEnded):
                deltas.end()
                _count_turn(parts, run, event)
                if not event.turn.calls:
                    if not await _ask_again(parts, run, event.turn):
                        return _answered(run, event.turn)
                    continue
                if note_start is not None:
                    await note_start()
                    note_start = None
                await _store_calls(parts, run, event.turn)
            elif isinstance(event, ToolEnded):
                await record.store(parts, run, [record.result_entry(parts, run, event.call, event.result)])
                run.open_calls.pop(0)
                _charge(parts, run, Spending(calls=1))
            elif isinstance(event, HandedOver):
                run.handed = event.calls
                return RunOutcome(stop=StopReason.TOOL_CALLS.value)
            elif isinstance(event, Limited):
                return RunOutcome.limited(event.hit)
    raise AssertionError("the loop ends with an answer or a limit")


async def finish(parts: RunDependencies, run: AgentRun, outcome: RunOutcome) -> PendingSync | None:
    """Append the end to the transcript; return what makes it durable together with the run's row, if needed.

    Raises:
        HubError: It could not be written.
    """
    if run.transcript is None:
        return None
    await record.store(parts, run, _last_entries(parts, run, outcome), deferred=True)
    return run.transcript.begin_sync()


async def leave(parts: RunDependencies, run: AgentRun) -> None:
    """Complete the transcript when the hub stops mid-run; the run stays open. Does not wait."""
    if run.transcript is not None:
        closed = _closed_calls(parts, run, INTERRUPTED)
        await run.transcript.append([*closed, *_partial(parts, run, "interrupted")])


def result_of(parts: RunDependencies, run: AgentRun, outcome: RunOutcome) -> RunResult:
    """Return the result of the run for this outcome."""
    return run.result(outcome, parts.redactor.redact_data(outcome.error))


class _Deltas:
    """Fires `run_delta` and `run_thinking`; what may be the beginning of a secret is held back until the next piece."""

    __slots__ = ("_parts", "_pieces", "_run", "_so_far", "_type")

    def __init__(self, parts: RunDependencies, run: AgentRun) -> None:
        self._parts = parts
        self._run = run
        self._pieces = RedactedPieces(parts.redactor)
        self.begin()

    def begin(self) -> None:
        """Begin another text; the previous one is shown no further."""
        self._pieces.end()
        self._type, self._so_far = SAID, 0

    def add(self, type: str, text: str) -> None:
        """Publish a piece of what is said (SAID) or thought (THOUGHT)."""
        if type != self._type:
            self.end()
            self._type = type
        self._fire(self._pieces.add(text))

    def end(self) -> None:
        """Publish the held-back text: nothing follows."""
        self._fire(self._pieces.end())

    def _fire(self, text: str) -> None:
        if not text:
            return
        data = {**self._run.facts, "text": text}
        if self._type == SAID:
            self._so_far += len(text)
            data["so_far_chars"] = self._so_far
        self._parts.bus.fire(self._type, data, self._run.context)


def _count_turn(parts: RunDependencies, run: AgentRun, event: TurnEnded) -> None:
    usage = event.turn.usage
    counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    run.conversation.calibrate(counted, run.context_tokens)
    run.trace.record_usage(usage)
    run.trace.model_ended()
    _charge(parts, run, Spending(1, event.spent.tokens - run.spent.tokens, usage.cost_usd or 0.0))
    run.spent = event.spent
    run.draft = None
    run.calls.append((run.model or "", usage))
    hooks, message = parts.hooks, event.turn.message
    if hooks is not None and LlmOutput.hook in hooks.wanted:
        tools = [call.name for call in event.turn.calls]
        told = {**run.facts, "model": run.model, "text": message.text, "tools": tools, "usage": usage.as_dict()}
        hooks.observe(LlmOutput(**told, context=run.context))


def _charge(parts: RunDependencies, run: AgentRun, spending: Spending) -> None:
    """Charge budgets with the spending and time since the last charge."""
    if parts.budgets is None:
        return
    now = parts.clock.monotonic()
    since, run.clocked = run.clocked if run.clocked is not None else now, now
    if parts.budgets.budgets:
        parts.budgets.charge(run.spender, replace(spending, seconds=now - since))


async def _ask_again(parts: RunDependencies, run: AgentRun, turn: DraftTurn) -> bool:
    """Ask the model again if its answer is not in the requested form; return whether it was asked."""
    form, text = run.request.form, turn.message.text
    if form is None or run.asked_again or turn.stop is not StopReason.END or not text.strip():
        return False
    if (problem := problem_of(text, form)) is None:
        return False
    run.asked_again = True
    said = record.assistant_entry(parts, run, turn.message, turn.usage, run.take_failed_models())
    await record.store(parts, run, [said, record.question_entry(parts, run, retry_instruction(problem))])
    return True


def _answered(run: AgentRun, turn: DraftTurn) -> RunOutcome:
    form, text = run.request.form, turn.message.text
    if form is not None and turn.stop is StopReason.END and (problem := problem_of(text, form)):
        return RunOutcome.broken("MODEL_FORMAT", f"{run.model} did not answer in the form asked for: {problem}.")
    if text.strip():
        run.answer = turn
        return RunOutcome(stop=turn.stop.value)
    if turn.stop is StopReason.REFUSED:
        return RunOutcome.broken("MODEL_REFUSED", f"{run.model} declined to answer. Ask in another way.", "refused")
    return RunOutcome.broken(EMPTY, f"{run.model} answered with nothing. Ask again, or choose another model.")


async def _store_calls(parts: RunDependencies, run: AgentRun, turn: DraftTurn) -> None:
    """Store the model's message with its tool calls, before any of them begins."""
    run.results.clear()
    entry = record.assistant_entry(parts, run, turn.message, turn.usage, run.take_failed_models())
    await record.store(parts, run, [entry])
    theirs = {spec.name for spec in run.request.client_tools}
    run.open_calls = [call for call in turn.calls if call.name not in theirs]
    if not run.ephemeral and not all(map(RunPorts(parts, run).read_only, run.open_calls)):
        # Once per turn that may change something, in parallel with it: nothing waits for the disk before the answer.
        sync = run.conversation.transcript.sync()
        parts.tasks.spawn(sync, name=f"sync the transcript of run {run.request.run_id}")


def _last_entries(parts: RunDependencies, run: AgentRun, outcome: RunOutcome) -> list[TranscriptEntry]:
    answer = run.answer
    if run.handed and outcome.status is RunStatus.OK:
        return []  # the turn with the calls is stored
    if outcome.status is RunStatus.OK and answer is not None:
        data = {"final": True, "status": "ok", "stop": outcome.stop, **run.take_failed_models()}
        # A model that failed in this run is in `failed_models`, one that was not asked is nowhere else.
        before = [run.fell_back] if run.fell_back is not None and run.fell_back["kind"] != "failover" else []
        if notices := [*run.notices, *before]:
            data["notices"] = notices
        return [record.assistant_entry(parts, run, answer.message, answer.usage, data)]
    closed = _closed_calls(parts, run, STOPPED_CALL)
    return [*closed, *_partial(parts, run, outcome.status.value), record.end_entry(parts, run, outcome)]


def _closed_calls(parts: RunDependencies, run: AgentRun, why: str) -> list[TranscriptEntry]:
    """Return results for calls without one in the transcript: their own if they had ended."""
    results, calls, run.open_calls = run.results, run.open_calls, []
    return [
        record.result_entry(parts, run, call, results[id(call)])
        if id(call) in results
        else record.no_result_entry(parts, run, call, why)
        for call in calls
    ]


def _partial(parts: RunDependencies, run: AgentRun, status: str) -> list[TranscriptEntry]:
    """Return the model's output before it was broken off, marked as partial."""
    draft, run.draft = run.draft, None
    message = draft.partial() if draft is not None else None
    if draft is None or message is None:
        return []
    usage = draft.usage if draft.usage.total_tokens else None
    if usage is not None and run.model is not None:
        run.spent = run.spent.plus(usage, 0)
        _charge(parts, run, Spending(1, usage.total_tokens, usage.cost_usd or 0.0))
        run.calls.append((run.model, usage))
        run.trace.record_usage(usage)
    return [record.assistant_entry(parts, run, message, usage, {"status": status})]


# -- what the loop acts through ----------------------------------------------------------------------------------------


class RunPorts:
    """The loop's dependencies in a real run (`Ports`): models with failover, and `invoke` for tools."""

    __slots__ = ("_parts", "_run")

    def __init__(self, parts: RunDependencies, run: AgentRun) -> None:
        self._parts = parts
        self._run = run

    def stream(self, *, halvings: int) -> AsyncIterator[ModelEvent]:
        """See `Ports.stream`."""
        parts, run = self._parts, self._run
        return stream_with_failover(
            run.config.candidates,
            lambda resolved: _model_request(parts, run, resolved, halvings),
            policy=parts.models.retry_policy,
            on_attempt=lambda attempt: _attempted(run, attempt),
            sleep=parts.clock.sleep,
        )

    async def allowed(self) -> LimitHit | None:
        """See `Ports.allowed`; an exhausted budget may choose a cheaper model instead.

        Raises:
            HubError: That model is not there.
        """
        parts, run = self._parts, self._run
        if parts.budgets is None or not parts.budgets.budgets:
            return None
        verdict = parts.budgets.judge(run.spender)
        if (over := verdict.stop) is not None:
            return LimitHit(over.measure, over.limit, over.spent, budget=over.budget)
        model = verdict.degrade.budget.model if verdict.degrade is not None else None
        if model is not None and model != run.degraded:
            run.degraded = model
            agent = run.config.agent
            candidates = await parts.models.candidates(
                model, session_key=run.request.session_key, credentials=agent.credentials
            )
            run.config = replace(run.config, candidates=agent.within(candidates))
            run.asked = run.config.candidates[0]
        for state in verdict.told:
            kind = "budget_degraded" if state is verdict.degrade else "budget_near"
            run.notices.append({"kind": kind, **state.as_dict(), "model": model or ""})
        return None

    def parallel_safe(self, call: ToolCallBlock) -> bool:
        """See `Ports.parallel_safe`; an unknown tool counts as safe."""
        tool = self._parts.tools.get(resolve_call(call).name)
        return tool is None or tool.annotations.parallel_safe

    def read_only(self, call: ToolCallBlock) -> bool:
        """See `Ports.read_only`."""
        tool = self._parts.tools.get(resolve_call(call).name)
        return tool is None or tool.annotations.read_only

    def of_client(self, call: ToolCallBlock) -> bool:
        """See `Ports.of_client`; a client's tool takes precedence over ours of the same name."""
        theirs = self._run.request.client_tools
        return bool(theirs) and any(spec.name == call.name for spec in theirs)

    def needs_retry(self) -> bool:
        """See `Ports.needs_retry`; an accepted answer has ended the run before this is called."""
        return self._run.asked_again

    def steered(self) -> bool:
        """See `Ports.steered`."""
        steering = self._run.request.steering
        return steering is not None and steering.waits()

    async def hear(self) -> None:
        """See `Ports.hear`."""
        parts, run = self._parts, self._run
        steering = run.request.steering
        if steering is None or _asks_a_program(run):  # a program answers one message at a time
            return
        for steered in await steering.take():
            run.trace.note("steered", parts.clock.monotonic(), {"inbox_id": steered.inbox_id})
            await record.hear_more(parts, run, steered)

    def estimated_tokens(self) -> int:
        """See `Ports.estimated_tokens`."""
        return self._run.context_tokens

    async def make_room(self, *, overflow: bool = False) -> bool:
        """See `Ports.make_room`; conversations that only the caller keeps are not compacted."""
        parts, run = self._parts, self._run
        config, conversation = run.config, run.conversation
        settings, first = config.agent.compaction, config.candidates[0].info
        tokens = _shorten_results(parts, run)
        if run.ephemeral or not settings.enabled:
            return False
        if not overflow and tokens <= settings.threshold(first.context_window):
            return False
        reason = CompactionReason.OVERFLOW if overflow else CompactionReason.THRESHOLD
        request = CompactionRequest(
            config.agent,
            run.request.session_key,
            run.context,
            config.candidates,
            reason,
            run.spender,
            run.fixed_tokens,
            run.request.run_id,
            trace=run.trace,
        )
        return await compact(parts, conversation, request) is not None

    async def invoke(self, call: ToolCallBlock) -> ToolResult:
        """See `Ports.invoke`; publishes the start and end of each call on the bus."""
        meant = resolve_call(call)
        parts, run = self._parts, self._run
        authority = run.context.authority
        if run.tainted and not authority.tainted:
            authority = authority.narrow(tainted=True)
        context = run.context.child(authority)
        facts: dict[str, Any] = {**run.facts, "call_id": call.id, "name": meant.name}

        ended = False

        def update(output: str = "", *, waits: bool = False) -> None:
            if not ended:
                shown = parts.redactor.redact(output)[-UPDATE_CHARS:]
                parts.bus.fire("run_tool_updated", {**facts, "output": shown, "waits": waits}, context)

        asked = ToolCallRequest.from_block(
            meant,
            context,
            policies=run.config.agent.policies(parts.tools.rules, run.model),
            environment=run.config.skills.environment,
            update=update,
            area=run.request.area,
            **run.facts,
        )
        arguments = meant.arguments if meant.malformed is None else meant.malformed
        parts.bus.fire("run_tool_started", {**facts, "arguments": parts.redactor.redact_data(arguments)}, context)
        step = run.trace.tool_begun(meant.name, call.id)
        room = _result_room(parts, run, meant)
        result = await invoke_tool(parts.tools, asked, redact=parts.redactor.redact, room=room)
        ended = True
        run.results[id(call)] = result
        told = {
            "is_error": result.is_error,
            "output": result.output,
            "details": dict(result.details),
            "duration_ms": run.trace.tool_ended(step, is_error=result.is_error),
        }
        parts.bus.fire("run_tool_finished", {**facts, **told}, context)
        return result


def _asks_a_program(run: AgentRun) -> bool:
    """Return whether the next model is an agentic program (`ModelInfo.program`)."""
    return any(map(_IS_PROGRAM, run.config.candidates))


def _model_request(parts: RunDependencies, run: AgentRun, resolved: Resolved, halvings: int) -> ModelRequest:
    config, conversation, info = run.config, run.conversation, resolved.info
    conversation.called_at = parts.clock.monotonic()
    window = run.window = conversation.window(budget_for(info, run.fixed_tokens), halvings=halvings, turns=config.turns)
    taint = conversation.taint()
    run.heard_outside = run.heard_outside or info.program or taint.is_heard(config.speaker)
    run.tainted = run.tainted or taint.restricts(config.speaker, run.request.run_id)
    on_sent = run.trace.record_request(run.context_tokens, len(window.messages))
    specs = _specs(parts, run, resolved.ref)
    if (hooks := parts.hooks) is not None and LlmInput.hook in hooks.wanted:
        hooks.observe(_input(run, resolved.ref, window.messages, specs))
    request = ModelRequest(
        model=info.id,
        system=config.prompt.system,
        messages=window.messages,
        tools=specs,
        thinking=config.thinking,
        session_key=None if run.ephemeral else run.request.session_key,
        timeout_s=resolved.timeout_s,
        tool_choice=run.request.tool_choice,
        form=run.request.form,
        extra={**resolved.params, **config.agent.params} if config.agent.params else resolved.params,
        on_sent=on_sent,
    )
    if info.final_tags:
        request = with_final_tags(request)
    return _for_program(run, request) if info.program else request


def _for_program(run: AgentRun, request: ModelRequest) -> ModelRequest:
    """Return a request with the extra data for a program: the stored message of the run, and its session."""
    if run.session is None:
        return request
    asked, said = run.request, run.conversation.transcript.get(user_entry_id(run.request.run_id))
    return replace(
        request,
        said=said.message if said is not None else None,
        context=asked.context,
        session_id=run.session.session_id,
        run_id=asked.run_id,
    )


def _input(run: AgentRun, model: str, messages: Sequence[Message], specs: Sequence[ToolSpec]) -> LlmInput:
    tools, system = [spec.name for spec in specs], run.config.prompt.system
    told = {**run.facts, "model": model, "system": system, "messages": messages, "tools": tools}
    return LlmInput(**told, context=run.context)


def _specs(parts: RunDependencies, run: AgentRun, ref: str) -> tuple[ToolSpec, ...]:
    """Return the offered tools: the hub's, then the caller's."""
    theirs = run.request.client_tools
    if not theirs:
        return _own_specs(parts, run, ref)
    names = {spec.name for spec in theirs}
    if run.request.tool_choice in names:
        return tuple(spec for spec in theirs if spec.name == run.request.tool_choice)
    if ref not in run.offered:  # the same object each time, which is put into a provider's form once
        own = (spec for spec in _own_specs(parts, run, ref) if spec.name not in names)
        run.offered[ref] = (*own, *theirs)
    return run.offered[ref]


def _own_specs(parts: RunDependencies, run: AgentRun, ref: str) -> tuple[ToolSpec, ...]:
    """Return the tools of the prompt that may be used while this model answers."""
    config, prompt = run.config, run.config.prompt
    # The offline model finds nothing: it knows by itself what to call.
    specs = (*prompt.specs, *prompt.found) if ref.partition("/")[0] == OFFLINE else prompt.specs
    if ref == config.candidates[0].ref:
        return specs
    policies = config.agent.policies(parts.tools.rules, ref)
    chosen = {tool.name for tool in parts.tools.all() if all(each.permits(tool.name, tool.group) for each in policies)}
    return tuple(spec for spec in specs if spec.name in chosen)


def _shorten_results(parts: RunDependencies, run: AgentRun) -> int:
    """Shorten old tool results when the provider's cache has expired or the window is nearly full.

    Returns:
        About how many tokens the next request has.
    """
    conversation, agent, first = run.conversation, run.config.agent, run.config.candidates[0]
    window = first.info.context_window
    cold = conversation.is_cold(parts.clock.monotonic(), agent.pruning.ttl or first.info.cache_ttl_s)
    if cold and agent.pruning.is_on(first.ref) and not run.ephemeral:
        tokens = conversation.tokens() + run.fixed_tokens
        conversation.show_instead(prune(conversation.items(), tokens, window, agent.pruning))
    tokens = conversation.tokens() + run.fixed_tokens
    if tokens > window * GUARD_SHARE and (removed := guard(conversation.items(), tokens, window)):
        conversation.show_instead(removed)
        tokens = conversation.tokens() + run.fixed_tokens
    return tokens


def _result_room(parts: RunDependencies, run: AgentRun, call: ToolCallBlock) -> ResultRoom:
    """Return the maximum length of a result: half the window; longer ones are kept for reading in slices."""
    kept, request = parts.kept_results, run.request
    chars = int(run.config.candidates[0].info.context_window * RESULT_SHARE * CHARS_PER_TOKEN)
    if kept is None or run.ephemeral:
        return ResultRoom(chars)

    async def keep(output: str, trusted: bool) -> str | None:
        try:
            return await asyncio.to_thread(kept.keep, request.session_key, call.name, output, trusted=trusted)
        except HubError as error:
            _log.warning("a long result of %s is not kept: %s", call.name, error.message)
            return None

    return ResultRoom(chars, keep)


# -- another model answers ---------------------------------------------------------------------------------------------


def _attempted(run: AgentRun, attempt: Attempt) -> None:
    failed, run.asked = run.asked, attempt.candidate
    run.model = attempt.candidate.ref
    if attempt.error is None:
        run.trace.model_started(attempt.candidate.ref)
        run.fell_back = None
        if attempt.candidate.instead_of is not None:
            _fall_back(run, attempt.candidate.instead_of, attempt.candidate)
        return
    before, now = _model_name(run, failed), _model_name(run, attempt.candidate)
    run.trace.model_retried(before, attempt.error, attempt.delay_s, attempt.candidate.ref)
    if failed is not attempt.candidate:
        reason = str(attempt.error.details.get("status") or attempt.error.code)
        named = {"model": before, "reason": reason, "instead": now}
        run.failed_models.append(named)
        if failed.ref != attempt.candidate.ref or failed.pinned:
            _fall_back(run, {"kind": "failover", **named}, attempt.candidate)
    _log.warning(
        "run %s: call %d goes to %s after %.1f s, since the one before failed: %s",
        run.request.run_id,
        attempt.number,
        attempt.candidate.ref,
        attempt.delay_s,
        attempt.error.message,
    )


def _fall_back(run: AgentRun, notice: Mapping[str, Any], candidate: Resolved) -> None:
    """Note that a fallback model answers, unless the first choice is asked after all."""
    meant, name = run.fell_back or notice, _model_name(run, candidate)
    run.fell_back = {**meant, "instead": name} if meant["model"] not in (name, candidate.ref) else None


def _model_name(run: AgentRun, candidate: Resolved) -> str:
    """Return a model's name, with its credential if there are several or it was named."""
    several = candidate.pinned or sum(each.ref == candidate.ref for each in run.config.candidates) > 1
    return f"{candidate.ref}@{candidate.credential}" if several else candidate.ref
