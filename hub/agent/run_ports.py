"""What the loop acts through in a real run: the registry's models with failover, and the one way to invoke a tool."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agent
from hub.agent.compaction.compact import CompactionReason, CompactionRequest, compact
from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.old_results import guard, prune
from hub.agent.conversation.window import budget_for, estimate_text
from hub.agent.limits import LimitHit
from hub.agent.parts import RunDependencies
from hub.agent.prompt.prompts import Prompt
from hub.agent.run import AgentRun
from hub.agent.taint.authorship import is_room, speaker
from hub.agent.tools.find_tools import meant_call
from hub.core.errors import HubError
from hub.hooks.contract import LlmInput
from hub.models.chat_request import chat_tools, plain
from hub.models.contract import Message, ModelEvent, ModelRequest, ToolCallBlock, ToolSpec, Usage
from hub.models.failover import Attempt, stream_with_failover
from hub.models.resolved import Resolved
from hub.models.vendors import OFFLINE
from hub.skills.registry import NO_SKILLS, SkillSnapshot
from hub.tools.contract import ToolResult
from hub.tools.invoke import ResultRoom, ToolCallRequest, invoke_tool

ROOM_TURNS = 100
"""Turns of a group's conversation that a model is sent."""

RESULT_SHARE = 0.5
CHARS_PER_TOKEN = 2
"""One tool result has at most half the window, at two characters a token: what tools give is seldom prose."""

UPDATE_CHARS = 20_000
"""What is shown of a result before it is whole: its end."""

_log = logging.getLogger(__name__)


class RunConfig(Struct, frozen=True):
    """The settings of a run: agent, prompt, models and tools.

    Attributes:
        agent: The agent that answers.
        prompt: The system prompt and the tools in it.
        candidates: Models to try, in order.
        thinking: How much it thinks.
        skills: What it may use of skills.
    """

    agent: Agent
    prompt: Prompt
    candidates: Sequence[Resolved]
    thinking: str | None
    skills: SkillSnapshot = NO_SKILLS


class RunPorts:
    """The ports of one run, which keep nothing themselves: what they find out is noted in the run."""

    def __init__(self, parts: RunDependencies, run: AgentRun, conversation: RunConversation, config: RunConfig) -> None:
        self._parts = parts
        self._run = run
        self._conversation = conversation
        self._config = config
        self._speaker = speaker(run.context.authority)
        in_room = not run.request.ephemeral and is_room(run.request.session_key)
        self._turns = ROOM_TURNS if in_room else None
        self._degraded: str | None = None
        self._asked = config.candidates[0]
        run.model = self._asked.ref
        self._theirs = frozenset(spec.name for spec in run.request.client_tools)
        self._offered: dict[str, tuple[ToolSpec, ...]] = {}
        run.fixed_tokens = config.prompt.tokens
        if theirs := chat_tools(run.request.client_tools):
            run.fixed_tokens += estimate_text(orjson.dumps(theirs, default=plain).decode())
        run.trace.prompt = {
            "tokens": config.prompt.tokens,
            "system_chars": len(config.prompt.system),
            "tools": len(config.prompt.specs),
        }

    def stream(self, *, halvings: int) -> AsyncIterator[ModelEvent]:
        """See `Ports.stream`."""
        return stream_with_failover(
            self._config.candidates,
            lambda resolved: self._model_request(resolved, halvings),
            policy=self._parts.models.retry_policy,
            on_attempt=self._attempted,
            sleep=self._parts.clock.sleep,
        )

    @property
    def asks_a_program(self) -> bool:
        """Whether a model that is asked next acts by itself (`ModelInfo.program`)."""
        return any(each.info.program for each in self._config.candidates)

    async def allowed(self) -> LimitHit | None:
        """See `Ports.allowed`; a budget that is used up may choose a cheaper model instead.

        Raises:
            HubError: That model is not there.
        """
        parts, run, config = self._parts, self._run, self._config
        if parts.budgets is None:
            return None
        verdict = parts.budgets.judge(run.spender)
        if (over := verdict.stop) is not None:
            return LimitHit(over.measure, over.limit, over.spent, budget=over.budget)
        model = verdict.degrade.budget.model if verdict.degrade is not None else None
        if model is not None and model != self._degraded:
            self._degraded = model
            candidates = await parts.models.candidates(
                model, session_key=run.request.session_key, credentials=config.agent.credentials
            )
            self._config = replace(config, candidates=config.agent.within(candidates))
            self._asked = self._config.candidates[0]
        for state in verdict.told:
            kind = "budget_degraded" if state is verdict.degrade else "budget_near"
            run.notices.append({"kind": kind, **state.as_dict(), "model": model or ""})
        return None

    def parallel_safe(self, call: ToolCallBlock) -> bool:
        """See `Ports.parallel_safe`; what does not exist does no harm beside others."""
        tool = self._parts.tools.get(meant_call(call).name)
        return tool is None or tool.annotations.parallel_safe

    def read_only(self, call: ToolCallBlock) -> bool:
        """See `Ports.read_only`."""
        tool = self._parts.tools.get(meant_call(call).name)
        return tool is None or tool.annotations.read_only

    def of_client(self, call: ToolCallBlock) -> bool:
        """See `Ports.of_client`; a tool of the caller takes the place of one of ours that has its name."""
        return call.name in self._theirs

    def asks_again(self) -> bool:
        """See `Ports.asks_again`; an answer that counts has ended the run before this is asked."""
        return self._run.asked_again

    def steered(self) -> bool:
        """See `Ports.steered`."""
        steering = self._run.request.steering
        return steering is not None and steering.waits()

    async def hear(self) -> None:
        """See `Ports.hear`."""
        steering, record = self._run.request.steering, self._run.record
        if steering is None or record is None or self.asks_a_program:  # it answers one message at a time
            return
        for steered in await steering.take():
            self._run.trace.note("steered", self._parts.clock.monotonic(), {"inbox_id": steered.inbox_id})
            await record.hear_more(steered)

    def estimated_tokens(self) -> int:
        """See `Ports.estimated_tokens`."""
        return self._run.context_tokens

    def note_usage(self, usage: Usage) -> None:
        """Note what the provider counted for the last request."""
        counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self._conversation.note_measured(counted, self._run.context_tokens)

    async def make_room(self, *, overflow: bool = False) -> bool:
        """See `Ports.make_room`; what only its caller keeps is not compacted."""
        run, config = self._run, self._config
        settings, first = config.agent.compaction, config.candidates[0].info
        self._shorten_results()
        tokens = self._conversation.tokens() + run.fixed_tokens
        if run.request.ephemeral or not settings.enabled:
            return False
        if not overflow and tokens <= settings.threshold(first.context_window):
            return False
        reason = CompactionReason.OVERFLOW if overflow else CompactionReason.THRESHOLD
        done = await compact(
            self._parts,
            self._conversation,
            CompactionRequest(
                config.agent,
                run.request.session_key,
                run.context,
                config.candidates,
                reason,
                run.spender,
                run.fixed_tokens,
                run.request.run_id,
                trace=run.trace,
            ),
        )
        return done is not None

    async def invoke(self, call: ToolCallBlock) -> ToolResult:
        """See `Ports.invoke`; publishes the start and end of each call on the bus."""
        meant = meant_call(call)
        parts, run = self._parts, self._run
        authority = run.context.authority
        if run.tainted and not authority.tainted:
            authority = authority.narrow(tainted=True)
        context = run.context.child(authority)
        config = self._config
        facts: dict[str, Any] = {**run.facts, "call_id": call.id, "name": meant.name}

        ended = False

        def update(output: str = "", *, waits: bool = False) -> None:
            if not ended:
                shown = parts.redactor.redact(output)[-UPDATE_CHARS:]
                parts.bus.fire("run_tool_updated", {**facts, "output": shown, "waits": waits}, context)

        asked = ToolCallRequest.from_block(
            meant,
            context,
            policies=config.agent.policies(parts.tools.rules, run.model),
            environment=config.skills.environment,
            update=update,
            **run.facts,
        )
        arguments = meant.arguments if meant.malformed is None else meant.malformed
        parts.bus.fire("run_tool_started", {**facts, "arguments": parts.redactor.redact_data(arguments)}, context)
        step = run.trace.tool_begun(meant.name, call.id)
        result = await invoke_tool(parts.tools, asked, redact=parts.redactor.redact, room=self._result_room(meant))
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

    def _model_request(self, resolved: Resolved, halvings: int) -> ModelRequest:
        run, config, info = self._run, self._config, resolved.info
        self._conversation.called_at = self._parts.clock.monotonic()
        window = run.window = self._conversation.window(
            budget_for(info, run.fixed_tokens), halvings=halvings, turns=self._turns
        )
        taint = self._conversation.taint()
        run.heard_outside = run.heard_outside or info.program or taint.is_heard(self._speaker)
        run.tainted = run.tainted or taint.restricts(self._speaker, run.request.run_id)
        run.trace.sent(run.context_tokens)
        self._tell_input(resolved.ref, window.messages)
        request = ModelRequest(
            model=info.id,
            system=config.prompt.system,
            messages=window.messages,
            tools=self._specs(resolved.ref),
            thinking=config.thinking,
            session_key=None if run.request.ephemeral else run.request.session_key,
            timeout_s=resolved.timeout_s,
            tool_choice=run.request.tool_choice,
            form=run.request.form,
            extra={**resolved.params, **config.agent.params} if config.agent.params else resolved.params,
        )
        return self._of_owner(request) if info.program else request

    def _of_owner(self, request: ModelRequest) -> ModelRequest:
        """Return a request with what a program is given: the message of the run as it was stored, and whose it is."""
        run = self._run
        if run.session is None or run.record is None:
            return request
        asked, said = run.request, run.record.transcript.get(f"{run.request.run_id}-user")
        return replace(
            request,
            said=said.message if said is not None else None,
            context=asked.context,
            session_id=run.session.session_id,
            run_id=asked.run_id,
        )

    def _tell_input(self, model: str, messages: Sequence[Message]) -> None:
        hooks, run, prompt = self._parts.hooks, self._run, self._config.prompt
        if hooks is not None and hooks.wants(LlmInput):
            tools = [spec.name for spec in self._specs(model)]
            told = {**run.facts, "model": model, "system": prompt.system, "messages": messages, "tools": tools}
            hooks.observe(LlmInput(**told, context=run.context))

    def _named(self, candidate: Resolved) -> str:
        """Return a model's name, with its credential when there are several for it, or it is named."""
        several = candidate.pinned or sum(each.ref == candidate.ref for each in self._config.candidates) > 1
        return f"{candidate.ref}@{candidate.credential}" if several else candidate.ref

    def _specs(self, ref: str) -> tuple[ToolSpec, ...]:
        """Return the tools that are offered: those of the hub, and those of the caller behind them."""
        request = self._run.request
        if not request.client_tools:
            return self._own_specs(ref)
        if request.tool_choice in self._theirs:
            return tuple(spec for spec in request.client_tools if spec.name == request.tool_choice)
        if ref not in self._offered:  # the same object each time, which is put into a provider's form once
            own = (spec for spec in self._own_specs(ref) if spec.name not in self._theirs)
            self._offered[ref] = (*own, *request.client_tools)
        return self._offered[ref]

    def _own_specs(self, ref: str) -> tuple[ToolSpec, ...]:
        """Return the tools of the prompt that may be used while this model answers."""
        config, tools = self._config, self._parts.tools
        prompt = config.prompt
        # The offline model finds nothing: it knows by itself what to call.
        specs = (*prompt.specs, *prompt.found) if ref.partition("/")[0] == OFFLINE else prompt.specs
        if ref == config.candidates[0].ref:
            return specs
        policies = config.agent.policies(tools.rules, ref)
        chosen = {tool.name for tool in tools.all() if all(each.permits(tool.name, tool.group) for each in policies)}
        return tuple(spec for spec in specs if spec.name in chosen)

    def _shorten_results(self) -> None:
        """Shorten old tool results, when the provider's cache has run out or the window is nearly full."""
        run, conversation, agent = self._run, self._conversation, self._config.agent
        first = self._config.candidates[0]
        window = first.info.context_window
        cold = conversation.is_cold(self._parts.clock.monotonic(), agent.pruning.ttl)
        if cold and agent.pruning.is_on(first.ref) and not run.request.ephemeral:
            tokens = conversation.tokens() + run.fixed_tokens
            conversation.show_instead(prune(conversation.items(), tokens, window, agent.pruning))
        tokens = conversation.tokens() + run.fixed_tokens
        conversation.show_instead(guard(conversation.items(), tokens, window))

    def _result_room(self, call: ToolCallBlock) -> ResultRoom:
        """Return how long a result may be: at most half the window; longer ones are kept to be read on."""
        kept, request = self._parts.kept_results, self._run.request
        chars = int(self._config.candidates[0].info.context_window * RESULT_SHARE * CHARS_PER_TOKEN)
        if kept is None or request.ephemeral:
            return ResultRoom(chars)

        async def keep(output: str, trusted: bool) -> str | None:
            try:
                return await asyncio.to_thread(kept.keep, request.session_key, call.name, output, trusted=trusted)
            except HubError as error:
                _log.warning("a long result of %s is not kept: %s", call.name, error.message)
                return None

        return ResultRoom(chars, keep)

    def _attempted(self, attempt: Attempt) -> None:
        failed, self._asked = self._asked, attempt.candidate
        self._run.model = attempt.candidate.ref
        if attempt.error is None:
            self._run.trace.asked(attempt.candidate.ref)
            self._run.fell_back = None
            if attempt.candidate.instead_of is not None:
                self._fell_back(attempt.candidate.instead_of, attempt.candidate)
        else:
            self._run.trace.asked_again(self._named(failed), attempt.error, attempt.delay_s, attempt.candidate.ref)
            if failed is not attempt.candidate:
                reason = str(attempt.error.details.get("status") or attempt.error.code)
                named = {"model": self._named(failed), "reason": reason, "instead": self._named(attempt.candidate)}
                self._run.failed_models.append(named)
                if failed.ref != attempt.candidate.ref or failed.pinned:
                    self._fell_back({"kind": "failover", **named}, attempt.candidate)
            _log.warning(
                "run %s: call %d goes to %s after %.1f s, since the one before failed: %s",
                self._run.request.run_id,
                attempt.number,
                attempt.candidate.ref,
                attempt.delay_s,
                attempt.error.message,
            )

    def _fell_back(self, notice: Mapping[str, Any], candidate: Resolved) -> None:
        """Note that another model answers than the one that was meant first, unless that is asked after all."""
        meant, name = self._run.fell_back or notice, self._named(candidate)
        self._run.fell_back = {**meant, "instead": name} if meant["model"] not in (name, candidate.ref) else None
