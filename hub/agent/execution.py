"""One run from the user's message to its end: stores, publishes and counts what the loop does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agent
from hub.agent.answer_check import asked_again, asked_form, problem_of
from hub.agent.budgets.budgets import Spending
from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.ephemeral import ephemeral_transcript
from hub.agent.conversation.window import estimate_text
from hub.agent.deltas import SAID, THOUGHT, Deltas
from hub.agent.draft import DraftTurn
from hub.agent.limits import RunLimits
from hub.agent.loop import HandedOver, Limited, ToolEnded, TurnBegun, TurnEnded, agent_loop
from hub.agent.outcome import EMPTY, RunOutcome
from hub.agent.parts import RunDependencies
from hub.agent.prompt.facts import PromptScene, prompt_facts
from hub.agent.prompt.prompt import PromptFile
from hub.agent.prompt.prompts import Prompt
from hub.agent.record import RunRecord
from hub.agent.run import AgentRun
from hub.agent.run_ports import RunConfig, RunPorts
from hub.agent.run_request import RunResult, RunStatus
from hub.agent.taint.authorship import check_extra_prompt
from hub.hooks.contract import (
    AgentBootstrap,
    BeforeAgentStart,
    BeforeModelResolve,
    BeforePromptBuild,
    LlmOutput,
    ToolResultPersist,
)
from hub.models.contract import StopReason, TextDelta, TextWasThinking, ThinkingDelta, ToolCallBlock
from hub.sessions.entry import TranscriptEntry
from hub.sessions.repair import INTERRUPTED
from hub.sessions.transcript_file import FileSync
from hub.skills.registry import NO_SKILLS, SkillSnapshot
from hub.tools.contract import ToolResult
from hub.tools.policy import belongs_here

_log = logging.getLogger(__name__)

STOPPED_CALL = "stopped: the run was ended before this call had a result; it may or may not have taken effect"


class Prepared(Struct, frozen=True):
    """A run that is ready to begin."""

    ports: RunPorts
    limits: RunLimits


class Execution:
    """Does one run: `prepare`, `work`, `finish`. How far it has come is in the run itself.

    Args:
        parts: What it works with.
        run: The run.
    """

    def __init__(self, parts: RunDependencies, run: AgentRun) -> None:
        self._parts = parts
        self._run = run
        self._request = run.request

    async def prepare(self) -> Prepared:
        """Store the user's words, then decide on prompt, tools, model and limits.

        Raises:
            HubError: There is no such agent or model, or the transcript cannot be read.
        """
        parts, run = self._parts, self._run
        if run.request.load is not None:
            self._request = run.request = replace(run.request, message=await run.request.load(), load=None)
        request = self._request
        check_extra_prompt(request)
        conversation = await self._conversation()
        person = run.session.person if run.session is not None else None
        run.record = RunRecord(parts, request, run.context, conversation.transcript, person)
        if parts.before and not request.ephemeral and request.message.content and not run.record.has_heard:
            await self._ask_before(run.record)
        await run.record.hear()
        run.heard = len(conversation.transcript.branch())
        agent = parts.agents.get(request.agent_id)
        if not parts.workspaces.is_ready(agent.id):
            await asyncio.to_thread(parts.workspaces.ensure, agent.id)
        session, authority = run.session, request.context.authority
        candidates = await parts.models.candidates(
            await self._model(request.model or (session and session.model) or agent.model),
            session_key=request.session_key,
            credentials=agent.credentials,
        )
        candidates = agent.within(parts.windows.usable(candidates))
        rules, ref, key = parts.tools.rules, candidates[0].ref, request.session_key
        tools = parts.tools.available(authority, agent.policies_in(key, authority, rules, ref))
        skills = await self._skills(agent)
        thinking = request.thinking or (session and session.thinking) or agent.thinking
        facts = prompt_facts(parts, PromptScene(agent, key, authority, ref, session, thinking, skills.listing))
        facts = replace(facts, files=await self._files(facts.files))
        extra = await self._extra_prompt(ref)
        prompt = parts.prompts.of(facts, tools, request.configured_prompt, extra)
        prompt = await self._started(prompt, ref)
        run.clocked = parts.clock.monotonic()
        ports = RunPorts(parts, run, conversation, RunConfig(agent, prompt, candidates, thinking, skills))
        limits = agent.limits
        if request.timeout_s is not None and request.timeout_s < limits.seconds:
            limits = replace(limits, seconds=request.timeout_s)
        return Prepared(ports, limits)

    async def work(self, prepared: Prepared, record: Callable[[], Awaitable[None]] | None) -> RunOutcome:
        """Run the loop to its end.

        Args:
            prepared: What `prepare` returned.
            record: Puts the run's row on the disk; called once, before the first tool is started.

        Raises:
            HubError: The model failed for good, or the disk did.

        Cancelling it leaves what was said and done so far to `finish` or `leave`.
        """
        run, ports = self._run, prepared.ports
        deltas = Deltas(self._parts.bus, self._parts.redactor, run)
        async with aclosing(agent_loop(ports, prepared.limits)) as events:
            async for event in events:
                if isinstance(event, (TextDelta, ThinkingDelta)):
                    run.trace.spoke()
                    deltas.add(SAID if isinstance(event, TextDelta) else THOUGHT, event.text)
                elif isinstance(event, TextWasThinking):
                    deltas.begin()  # who shows the answer while it is written begins again
                elif isinstance(event, TurnBegun):
                    run.draft = event.draft
                    deltas.begin()
                    if ports.asks_a_program and run.record is not None:
                        if record is not None:
                            await record()
                            record = None
                        await run.record.ask_program()
                elif isinstance(event, TurnEnded):
                    deltas.end()
                    ports.note_usage(event.turn.usage)
                    self._ended(event)
                    if not event.turn.calls:
                        if not await self._ask_again(event.turn):
                            return self._answered(event.turn)
                        continue
                    if record is not None:
                        await record()
                        record = None
                    await self._asked(event.turn)
                elif isinstance(event, ToolEnded):
                    await self._done(event.call, event.result)
                elif isinstance(event, (HandedOver, Limited)):
                    return self._over(event)
        raise AssertionError("the loop ends with an answer or a limit")

    async def finish(self, outcome: RunOutcome) -> FileSync | None:
        """Write the end into the transcript; return what waits until the disk has it, if there is anything.

        Raises:
            HubError: The disk did not take it.
        """
        run = self._run
        if run.record is None:
            return None
        await run.record.store(self._last_entries(run.record, outcome))
        return run.record.transcript.begin_sync()

    def result(self, outcome: RunOutcome) -> RunResult:
        """Return the result of the run with this end."""
        return self._run.result(outcome, self._parts.redactor.redact_data(outcome.error))

    async def leave(self) -> None:
        """Make the transcript whole when the hub stops in the middle; the run stays open. Does not wait."""
        run = self._run
        if run.record is not None:
            record = run.record
            await record.transcript.append(
                [*self._closed_calls(record, INTERRUPTED), *self._partial(record, "interrupted")]
            )

    # -- below: in the order in which it happens -------------------------------------------------------------------

    async def _conversation(self) -> RunConversation:
        run = self._run
        parts, request = self._parts, self._request
        authority = request.context.authority
        if request.history is not None:
            trusted = belongs_here(authority)
            owner = authority.owner and not authority.tainted
            history = ephemeral_transcript(request.history, parts.redactor.redact, trusted=trusted, owner=owner)
            return RunConversation(history, parts.zone())
        run.is_new = parts.sessions.get(request.session_key) is None
        session = run.session = await parts.sessions.ensure(request.session_key, person=authority.person)
        transcript = await parts.sessions.open_transcript(session)
        # What a crash cut off goes on in the conversation that has heard it.
        if request.kind == "message" and transcript.get(f"{request.run_id}-user") is None:
            session = run.session = await parts.sessions.hear(request.session_key, request.channel)
            transcript = await parts.sessions.open_transcript(session)
        if not request.results and not parts.conversations.knows(session.session_id, transcript):
            await transcript.repair(ts_ms=parts.now_ms())
        return parts.conversations.of(session.session_id, transcript, parts.zone())

    async def _skills(self, agent: Agent) -> SkillSnapshot:
        registry, request, session = self._parts.skills, self._request, self._run.session
        if registry is None:
            return NO_SKILLS
        session_id = session.session_id if session is not None else None
        return await registry.snapshot(agent.id, request.session_key, session_id, agent.skills, request.skills)

    async def _model(self, model: str | None) -> str | None:
        """Return the model that is asked for, or the one that a hook chose instead."""
        hooks, run = self._parts.hooks, self._run
        if hooks is None or not hooks.wants(BeforeModelResolve):
            return model
        text = self._request.message.text
        return (await hooks.modify(BeforeModelResolve(**run.facts, context=run.context, text=text, model=model))).model

    async def _files(self, files: tuple[PromptFile, ...]) -> tuple[PromptFile, ...]:
        """Return the workspace's files for the prompt, or those that a hook put in their place."""
        hooks, run = self._parts.hooks, self._run
        if hooks is None or not hooks.wants(AgentBootstrap):
            return files
        known = {file.name: file for file in files}
        texts = {file.name: file.text or "" for file in files}
        chosen = (await hooks.modify(AgentBootstrap(**run.facts, context=run.context, files=dict(texts)))).files
        return tuple(
            known[name] if texts.get(name) == text else PromptFile(str(name), str(text), len(str(text)))
            for name, text in chosen.items()
        )

    async def _started(self, prompt: Prompt, model: str) -> Prompt:
        """Return the prompt, or the one that a hook put in its place."""
        hooks, run = self._parts.hooks, self._run
        if hooks is None or not hooks.wants(BeforeAgentStart):
            return prompt
        asked = BeforeAgentStart(**run.facts, context=run.context, model=model, system=prompt.system)
        system = (await hooks.modify(asked)).system
        tokens = prompt.tokens + estimate_text(system) - estimate_text(prompt.system)
        return replace(prompt, system=system, tokens=tokens)

    async def _extra_prompt(self, model: str) -> str | None:
        """Return what the caller and hooks put behind the system prompt."""
        hooks, run, extra, form = self._parts.hooks, self._run, self._request.extra_system_prompt, self._request.form
        if form is not None:
            extra = "\n\n".join(each for each in (extra, asked_form(form)) if each)
        if hooks is None or not hooks.wants(BeforePromptBuild):
            return extra
        text = self._request.message.text
        asked = BeforePromptBuild(**run.facts, context=run.context, model=model, text=text)
        added = (await hooks.modify(asked)).append
        return "\n\n".join(each for each in (extra, added) if each)

    async def _ask_before(self, record: RunRecord) -> None:
        for before in self._parts.before:
            try:
                await before(self._request, record.store)
            except Exception:  # the preface helps, but the message can be answered without it
                _log.exception("run %s goes on without what %r had for it", self._request.run_id, before)

    def _ended(self, event: TurnEnded) -> None:
        run = self._run
        usage = event.turn.usage
        run.trace.used(usage)
        run.trace.model_ended()
        self._charge(Spending(1, event.spent.tokens - run.spent.tokens, usage.cost_usd or 0.0))
        run.spent = event.spent
        run.draft = None
        run.calls.append((run.model or "", event.turn.usage))
        hooks, message = self._parts.hooks, event.turn.message
        if hooks is not None and hooks.wants(LlmOutput):
            tools = [call.name for call in event.turn.calls]
            told = {**run.facts, "model": run.model, "text": message.text, "tools": tools, "usage": usage.as_dict()}
            hooks.observe(LlmOutput(**told, context=run.context))

    def _over(self, event: HandedOver | Limited) -> RunOutcome:
        if isinstance(event, Limited):
            return RunOutcome.limited(event.hit)
        self._run.handed = event.calls
        return RunOutcome(stop=StopReason.TOOL_CALLS.value)

    async def _ask_again(self, turn: DraftTurn) -> bool:
        """Ask the model once more when its answer is not in the form that was asked for; return whether it was."""
        run, form, text = self._run, self._request.form, turn.message.text
        if run.record is None or form is None or run.asked_again or turn.stop is not StopReason.END or not text.strip():
            return False
        if (problem := problem_of(text, form)) is None:
            return False
        run.asked_again = True
        data, derived = run.take_failed_models(), run.heard_outside
        said = run.record.said(turn.message, run.model, turn.usage, data, derived=derived)
        await run.record.store([said, run.record.asked(asked_again(problem))])
        return True

    def _answered(self, turn: DraftTurn) -> RunOutcome:
        run, form = self._run, self._request.form
        if form is not None and turn.stop is StopReason.END and (problem := problem_of(turn.message.text, form)):
            return RunOutcome.broken("MODEL_FORMAT", f"{run.model} did not answer in the form asked for: {problem}.")
        if turn.message.text.strip():
            run.answer = turn
            return RunOutcome(stop=turn.stop.value)
        if turn.stop is StopReason.REFUSED:
            return RunOutcome.broken("MODEL_REFUSED", f"{run.model} declined to answer. Ask in another way.", "refused")
        return RunOutcome.broken(EMPTY, f"{run.model} answered with nothing. Ask again, or choose another model.")

    async def _asked(self, turn: DraftTurn) -> None:
        """Store what the model said together with the tool calls it asks for, before any of them begins."""
        run = self._run
        if run.record is None:
            raise AssertionError("prepared first")
        run.results.clear()
        data = run.take_failed_models()
        said = run.record.said(turn.message, run.model, turn.usage, data, derived=run.heard_outside)
        await run.record.store([said])
        theirs = {spec.name for spec in self._request.client_tools}
        run.open_calls = [call for call in turn.calls if call.name not in theirs]
        if not self._request.ephemeral:
            # Once per turn, in parallel with the tools, so that nothing waits for the disk before the answer.
            sync = run.record.transcript.sync()
            self._parts.tasks.spawn(sync, name=f"sync the transcript of run {self._request.run_id}")

    def _charge(self, spending: Spending) -> None:
        """Charge to budgets what was spent, with the time since the last charge."""
        ledger, run = self._parts.budgets, self._run
        if ledger is None:
            return
        now = self._parts.clock.monotonic()
        since, run.clocked = run.clocked if run.clocked is not None else now, now
        ledger.charge(run.spender, replace(spending, seconds=now - since))

    async def _done(self, call: ToolCallBlock, result: ToolResult) -> None:
        run = self._run
        if run.record is None:
            raise AssertionError("prepared first")
        await run.record.store([run.record.answered(call, self._to_persist(call, result))])
        run.open_calls.pop(0)
        self._charge(Spending(calls=1))

    def _to_persist(self, call: ToolCallBlock, result: ToolResult) -> ToolResult:
        hooks, run = self._parts.hooks, self._run
        if hooks is None or not hooks.wants(ToolResultPersist):
            return result
        about = {**run.facts, "call_id": call.id, "name": call.name, "is_error": result.is_error}
        settled = hooks.settle(ToolResultPersist(**about, context=run.context, output=result.output))
        return replace(result, output=settled.output)

    def _last_entries(self, record: RunRecord, outcome: RunOutcome) -> list[TranscriptEntry]:
        run = self._run
        answer = run.answer
        if run.handed and outcome.status is RunStatus.OK:
            return []  # the turn with the calls is stored
        if outcome.status is RunStatus.OK and answer is not None:
            data = {"final": True, "status": "ok", "stop": outcome.stop, **run.take_failed_models()}
            # A model that failed in this run is in `failed_models`, one that was not asked is nowhere else.
            before = [run.fell_back] if run.fell_back is not None and run.fell_back["kind"] != "failover" else []
            if notices := [*run.notices, *before]:
                data["notices"] = notices
            return [record.said(answer.message, run.model, answer.usage, data, derived=run.heard_outside)]
        return [
            *self._closed_calls(record, STOPPED_CALL),
            *self._partial(record, outcome.status.value),
            record.ended(outcome),
        ]

    def _closed_calls(self, record: RunRecord, why: str) -> list[TranscriptEntry]:
        """Return results for the calls that have none in the transcript: their own when they had ended."""
        run = self._run
        results, calls, run.open_calls = run.results, run.open_calls, []
        return [
            record.answered(call, self._to_persist(call, results[id(call)]))
            if id(call) in results
            else record.unanswered(call, why)
            for call in calls
        ]

    def _partial(self, record: RunRecord, status: str) -> list[TranscriptEntry]:
        """Return what the model had said when it was broken off, marked as such."""
        run = self._run
        draft, run.draft = run.draft, None
        message = draft.partial() if draft is not None else None
        if draft is None or message is None:
            return []
        usage = draft.usage if draft.usage.total_tokens else None
        if usage is not None and run.model is not None:
            run.spent = run.spent.plus(usage, 0)
            self._charge(Spending(1, usage.total_tokens, usage.cost_usd or 0.0))
            run.calls.append((run.model, usage))
            run.trace.used(usage)
        return [record.said(message, run.model, usage, {"status": status}, derived=run.heard_outside)]
