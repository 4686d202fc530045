"""One run of an agent: its whole state, and how it is stopped from outside.

`prepare`, `record` and `steps` are functions over it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agent
from hub.agent.answer.answer_check import strip_fence
from hub.agent.budgets.ledger import Spender
from hub.agent.budgets.limits import RunLimits, RunSpent
from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.window import Window
from hub.agent.loop import AnswerDraft, DraftTurn
from hub.agent.prompt.prompts import Prompt
from hub.agent.run_request import ActiveRun, RunOutcome, RunRequest, RunResult
from hub.agent.runs.trace import RunTrace
from hub.core.context import Context
from hub.models.contract import Message, ToolCallBlock, ToolSpec, Usage
from hub.models.resolved import Resolved
from hub.sessions.session import Session
from hub.sessions.transcript import Transcript
from hub.skills.registry import SkillSnapshot
from hub.tools.contract import ToolResult


class Phase(StrEnum):
    """The phase of a run; one that is ending can no longer be stopped."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDING = "ending"


class RunConfig(Struct, frozen=True):
    """The settings of a run: agent, prompt, models, tools and limits.

    Attributes:
        agent: The agent that answers.
        prompt: The system prompt and the tools in it.
        candidates: Models to try, in order.
        thinking: How much it thinks.
        skills: The usable skills.
        limits: Its limits.
        speaker: The speaker, as stored with their words.
        turns: How many turns of the conversation a model is sent; None for all that fit.
    """

    agent: Agent
    prompt: Prompt
    candidates: Sequence[Resolved]
    thinking: str | None
    skills: SkillSnapshot
    limits: RunLimits
    speaker: str
    turns: int | None = None


class AgentRun:
    """The whole state of one run.

    Attributes:
        request: The request.
        ephemeral: Whether it leaves no transcript.
        context: The run's own link in the chain of reasons.
        facts: The ids of run, session and agent, included in every event of the run.
        phase: Its progress.
        created_ms, started_ms: Milliseconds since the epoch.
        task: The task that does it.
        session: The session, unless the run is ephemeral or has not come so far.
        is_new: Whether the session was made by this run.
        transcript: Stores its entries, once the session is open.
        conversation: That transcript as a model is sent it; set with it.
        config: Its settings, once it is prepared.
        messages: Its additions to the transcript after the user's words.
        text: The model's last message.
        asked: The model that was asked last.
        model: Its `provider/id`, once known.
        degraded: The cheaper model that a budget has chosen.
        offered: The tools that were offered to a model, by its name, when the caller has some of their own.
        failed_models: The models that failed before the next answer: `{model, reason}`.
        window: The messages that model was sent.
        fixed_tokens: Tokens of prompt and tools, which every window has before it.
        heard_outside: Whether the model has seen words from outside; its output since may repeat them.
        tainted: Whether they restrict what it may do; not while the owner has lifted the taint.
        draft: The unfinished message, while the model speaks.
        answer: The turn that ends the run.
        open_calls: Tool calls that have no result in the transcript yet.
        results: Results of tool calls that have ended, by the identity of the call.
        spent: Its spending.
        calls: Usage of each model call that ended, with the model.
        notices: Notices for people beside the answer: `{kind, …}`, as `budget_near` or `budget_degraded`.
        handed: Calls of the caller's tools, which end it.
        asked_again: Whether its model was asked a second time, for an answer in the requested form.
        heard: How many entries the transcript had when it had heard its input.
        fell_back: The notice that another model answered instead of the requested one.
        trace: When each step of it began and ended.
        clocked: Until when its time is charged to budgets, on the monotonic clock.
    """

    __slots__ = (
        *("_begun", "_stopped", "answer", "asked", "asked_again", "calls", "clocked", "config", "context"),
        *("conversation", "created_ms", "degraded", "draft", "ephemeral", "facts", "failed_models", "fell_back"),
        *("fixed_tokens", "handed", "heard", "heard_outside", "is_new", "messages", "model", "notices", "offered"),
        *("open_calls", "phase", "request", "results", "session", "spent", "started_ms", "tainted", "task", "text"),
        *("trace", "transcript", "window"),
    )

    asked: Resolved
    config: RunConfig
    conversation: RunConversation

    def __init__(self, request: RunRequest, context: Context, created_ms: int, trace: RunTrace) -> None:
        self.request = request
        self.ephemeral = request.ephemeral
        self.trace = trace
        self.context = context
        self.facts: Mapping[str, Any] = {
            "run_id": request.run_id,
            "session_key": request.session_key,
            "agent_id": request.agent_id,
        }
        self.phase = Phase.QUEUED
        self.created_ms = created_ms
        self.started_ms: int | None = None
        self.task: asyncio.Task[RunResult] | None = None
        self.session: Session | None = None
        self.is_new = False
        self.transcript: Transcript | None = None
        self.messages: list[Message] = []
        self.text = ""
        self.model: str | None = None
        self.degraded: str | None = None
        self.offered: dict[str, tuple[ToolSpec, ...]] = {}
        self.failed_models: list[dict[str, str]] = []
        self.window: Window | None = None
        self.fixed_tokens = 0
        self.heard_outside = False
        self.tainted = False
        self.draft: AnswerDraft | None = None
        self.answer: DraftTurn | None = None
        self.open_calls: list[ToolCallBlock] = []
        self.results: dict[int, ToolResult] = {}
        self.spent = RunSpent()
        self.calls: list[tuple[str, Usage]] = []
        self.notices: list[dict[str, Any]] = []
        self.handed: tuple[ToolCallBlock, ...] = ()
        self.asked_again = False
        self.heard = 0
        self.fell_back: dict[str, Any] | None = None
        self.clocked: float | None = None
        self._begun = False
        self._stopped: RunOutcome | None = None

    def take_failed_models(self) -> dict[str, Any]:
        """Return the data of an answer's entry: the models that failed before it."""
        failed, self.failed_models = self.failed_models, []
        return {"failed_models": failed} if failed else {}

    @property
    def person(self) -> str | None:
        """The owner of its session, when known."""
        return self.session.person if self.session is not None else None

    @property
    def spender(self) -> Spender:
        """The ids that budgets charge."""
        request = self.request
        session_id = self.session.session_id if self.session is not None else None
        return Spender(request.run_id, request.session_key, session_id, request.agent_id, request.channel)

    @property
    def context_tokens(self) -> int:
        """The estimated tokens last sent to the model."""
        return self.fixed_tokens + (self.window.tokens if self.window is not None else 0)

    def begin(self) -> RunOutcome | None:
        """Begin the run; return the outcome if `stop` was called before."""
        self._begun = True
        return self._stopped

    def stop(self, outcome: RunOutcome) -> bool:
        """Stop the run with this outcome; return whether that was still possible."""
        if self._stopped is not None or self.phase is Phase.ENDING:
            return False
        self._stopped = outcome
        if self._begun and self.task is not None:  # a task that is cancelled before its first step never takes one
            self.task.cancel()
        return True

    def take_stop_outcome(self) -> RunOutcome | None:
        """Return the outcome passed to `stop`, and uncancel the task; None when the hub itself stops.

        Called in the run's task where it was cancelled.
        """
        task = asyncio.current_task()
        if self._stopped is not None and task is not None:
            task.uncancel()
        return self._stopped

    def snapshot(self) -> ActiveRun:
        """Return the run as plain data."""
        return ActiveRun(
            self.request.run_id,
            self.request.session_key,
            self.request.agent_id,
            self.request.kind,
            "queued" if self.phase is Phase.QUEUED else "running",
            self.created_ms,
            self.started_ms,
            self.model,
        )

    def result(self, outcome: RunOutcome, error: Mapping[str, Any] | None) -> RunResult:
        """Return the result for this outcome; `error` is the outcome's without secrets."""
        transcript, form = self.transcript, self.request.form
        entries = transcript.branch() if transcript is not None and self.ephemeral else ()
        return RunResult(
            self.request.run_id,
            self.request.session_key,
            outcome.status,
            self.text if form is None else strip_fence(self.text),
            tuple(self.messages),
            self.spent.usage,
            outcome.stop,
            error,
            self.model,
            self.heard_outside or self.request.context.authority.tainted,
            (*self.notices, *([self.fell_back] if self.fell_back is not None else [])),
            self.handed,
            tuple(entries),
            self.heard,
        )
