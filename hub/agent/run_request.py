"""The request, the end and the result of a run: plain data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct, field

from hub.agent.budgets.limits import LimitHit
from hub.core.context import Context
from hub.core.errors import HubError, InvalidRequest
from hub.core.lanes import MAIN, Priority
from hub.core.sql import SqlConnection
from hub.models.answer_form import AnswerForm
from hub.models.contract import Message, ToolCallBlock, ToolSpec, Usage
from hub.models.thinking import LEVELS
from hub.sessions.entry import TranscriptEntry
from hub.sessions.session import SessionOrigin

Kind = Literal["message", "request"]

EMPTY = "MODEL_EMPTY"
"""The code of a run whose model said nothing in the end."""


class RunStatus(StrEnum):
    """How a run ended."""

    OK = "ok"
    ERROR = "error"
    ABORTED = "aborted"
    TIMEOUT = "timeout"


class RunResult(Struct, frozen=True):
    """The result of a run.

    Attributes:
        run_id: The run.
        session_key: The conversation it happened in.
        status: How it ended.
        reply: Its last message; with a status other than ok, its text until then.
        messages: Its additions to the conversation after the user's message, in order; empty when read from storage.
        usage: The usage of all its model calls.
        stop: Why it stopped: end, length, refused, tool_calls, aborted, limit, timeout, error.
        error: `{code, message, …}` unless the status is ok.
        model: `provider/id` of the model that spoke last.
        tainted: Whether words from outside were in the model's window; true when unknown.
        notices: Notices for people beside the answer: `{kind, …}`.
        calls: Calls of the caller's tools, with `tool_calls`; a run with their `results` continues.
        entries: An ephemeral run's conversation, for whoever stores it; the first `heard` of them are its input.
    """

    run_id: str
    session_key: str
    status: RunStatus
    reply: str = ""
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stop: str = "end"
    error: Mapping[str, Any] | None = None
    model: str | None = None
    tainted: bool = True
    notices: tuple[Mapping[str, Any], ...] = ()
    calls: tuple[ToolCallBlock, ...] = ()
    entries: tuple[TranscriptEntry, ...] = ()
    heard: int = 0

    def as_event(self) -> dict[str, Any]:
        """Return the data of its event."""
        return {
            "run_id": self.run_id,
            "session_key": self.session_key,
            "status": self.status.value,
            "reply": self.reply,
            "usage": self.usage.as_dict(),
            "error": dict(self.error) if self.error is not None else None,
            "stop": self.stop,
            "model": self.model,
        }


class RunOutcome(Struct, frozen=True):
    """How a run ends; `error` as `HubError.as_dict` shows it, None for an answer."""

    status: RunStatus = RunStatus.OK
    stop: str = "end"
    error: Mapping[str, Any] | None = None

    @classmethod
    def failed(cls, error: HubError) -> RunOutcome:
        """Return the outcome of an error."""
        return cls(RunStatus.ERROR, "error", error.as_dict())

    @classmethod
    def broken(cls, code: str, message: str, stop: str = "error") -> RunOutcome:
        """Return the outcome of a failure without an exception."""
        return cls(RunStatus.ERROR, stop, {"code": code, "message": message})

    @classmethod
    def aborted(cls) -> RunOutcome:
        """Return the outcome of a run that somebody stopped."""
        return cls(RunStatus.ABORTED, "aborted", {"code": "ABORTED", "message": "The run was stopped on request."})

    def of(self, run_id: str, session_key: str) -> RunResult:
        """Return the result of a run that ended like this before it began."""
        return RunResult(run_id, session_key, self.status, stop=self.stop, error=self.error)

    @classmethod
    def limited(cls, hit: LimitHit) -> RunOutcome:
        """Return the outcome of a reached limit."""
        error = {"code": "LIMIT_EXCEEDED", "message": hit.message, "details": hit.details}
        return cls(RunStatus.ERROR, "limit", error)

    @classmethod
    def timed_out(cls, seconds: float, *, asked_for: bool) -> RunOutcome:
        """Return the outcome of a run that exceeded the agent's time limit, or the requested one."""
        limit = LimitHit("seconds", seconds, seconds)
        if asked_for:
            message = f"This run was stopped after {seconds:g} seconds, as was asked for."
            return cls(RunStatus.TIMEOUT, "timeout", {"code": "TIMEOUT", "message": message})
        error = {"code": "TIMEOUT", "message": limit.message, "details": limit.details}
        return cls(RunStatus.TIMEOUT, "timeout", error)


Answered = Callable[[RunResult], None]


class SteeredMessage(Struct, frozen=True):
    """A message that a running turn hears before its next step; the run's rights apply."""

    inbox_id: str
    message: Message
    sender_name: str | None = None
    run_id: str | None = None
    """The run that was to answer it."""


class Steering(Struct, frozen=True):
    """The messages for a running turn.

    Attributes:
        waits: Whether there are any: tool calls that have not begun are skipped then.
        take: Returns them; from then on the run answers them.
    """

    waits: Callable[[], bool]
    take: Callable[[], Awaitable[Sequence[SteeredMessage]]]


OnFinal = Callable[[SqlConnection, RunResult], None]


class RunRequest(Struct, frozen=True):
    """A requested run of an agent.

    Attributes:
        run_id: Names the run and is its idempotency key: asking twice runs once.
        agent_id: The agent that answers.
        session_key: The conversation.
        message: The message; without content only `results` are heard.
        load: Called at the run's turn; returns the message in place of `message`, such as with what had to
            be fetched first.
        context: The cause, and the authority.
        model: Instead of the session's and the agent's.
        thinking: off | minimal | low | medium | high, instead of the session's and the agent's.
        configured_prompt: What the configuration says of the conversation, such as of a group; follows the agent's
            own prompt.
        extra_system_prompt: Appended to the agent's own prompt.
        skills: Names of the skills that there are in this conversation; None is those of the agent.
        history: The conversation so far, for an ephemeral run, which leaves no transcript; None for a session. What
            earlier runs of it added is given as their entries, so that it stays known whose words they were.
        inbox_id: The inbox row it answers.
        kind: `message` is run again after a crash when that is safe; `request` never is.
        lane: The shared lane it runs in.
        priority: Whether a person waits for it.
        timeout_s: Instead of the agent's limit, when it is shorter.
        sender_name: For the envelope; never authorises.
        channel: For the envelope.
        area: Name of the area of the home that the speaker is in; for the envelope, and for tools.
        origin: Where a person's message came from, for lists of sessions.
        by_hub: Whether the words are the hub's own, so that none of a person's are kept of them.
        on_final: Called in the transaction that ends the run, in the database's thread.
        quoted: Whether words from outside in the message are quoted in it; what is said under a tainted authority is
            else quoted as a whole.
        steering: Messages it takes while it runs.
        client_tools: Tools of the caller, offered beside the agent's; a call to one ends the run.
        tool_choice: `required`, or the name of the one to call.
        results: Results of the calls that the run before ended with.
        form: The form of the answer.
        parts: The planned runs of the messages that it answers together; empty for one message.
    """

    run_id: str
    agent_id: str
    session_key: str
    message: Message
    context: Context
    model: str | None = None
    thinking: str | None = None
    configured_prompt: str | None = None
    extra_system_prompt: str | None = None
    history: tuple[Message | TranscriptEntry, ...] | None = None
    inbox_id: str | None = None
    kind: Kind = "request"
    lane: str = MAIN
    priority: Priority = Priority.INTERACTIVE
    timeout_s: float | None = None
    sender_name: str | None = None
    channel: str | None = None
    area: str | None = None
    origin: SessionOrigin | None = None
    by_hub: bool = False
    on_final: OnFinal | None = None
    quoted: bool = False
    load: Callable[[], Awaitable[Message]] | None = None
    steering: Steering | None = None
    skills: tuple[str, ...] | None = None
    client_tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | None = None
    results: tuple[Message, ...] = ()
    form: AnswerForm | None = None
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.thinking not in (None, *LEVELS):  # it is named in the system prompt
            raise InvalidRequest(f"thinking: expected one of {', '.join(LEVELS)}", details={"param": "thinking"})

    @property
    def ephemeral(self) -> bool:
        """Whether it leaves no transcript."""
        return self.history is not None


class ActiveRun(Struct, frozen=True):
    """A run that is queued or running; times in ms since the epoch."""

    run_id: str
    session_key: str
    agent_id: str
    kind: Kind
    state: str
    created_ms: int
    started_ms: int | None = None
    model: str | None = None


class Recovered(Struct, frozen=True):
    """Ids of the runs that a stop or a crash had left open, by what happened to them.

    Attributes:
        rerun: Nothing was lost: `run()` is to be called again with the same request.
        interrupted: They had started to change things; not run again, and their users should be notified.
        completed: They had been answered; `run()` with the same request returns the answer and calls `on_final`.
        heard: The ones to be run again whose message is in the transcript already.
        heard_by: The inbox rows whose words are in the transcript of an interrupted run; None when it is unreadable.
    """

    rerun: tuple[str, ...] = ()
    interrupted: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    heard_by: Mapping[str, frozenset[str] | None] = {}
