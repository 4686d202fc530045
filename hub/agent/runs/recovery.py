"""What to do about runs that a stop or a crash left open: a pure decision over their rows and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from hub.agent.conversation.conversation import PROGRAM_ASKED, RUN_ENDED
from hub.agent.run_request import Kind, RunResult, RunStatus
from hub.models.contract import Role, Usage
from hub.sessions.entry import TranscriptEntry


class RecoveryVerdict(StrEnum):
    """Ways to handle an unfinished run."""

    COMPLETED = "completed"
    """It had ended in its transcript: the row follows, and what was to be sent is sent."""
    INTERRUPTED = "interrupted"
    """It is not run again, and its user is notified."""
    RERUN = "rerun"
    """Nothing happened that could happen twice: it is run again."""


class Evidence(Struct, frozen=True):
    """What the transcript shows of a run.

    Attributes:
        final: The run's last entry, if the run had ended.
        changed: Whether a tool that may change things, or a program that acts by itself, had been asked.
        usage: The usage of its model calls in the transcript.
        reply: The run's last message.
        model: The model that wrote that message.
        heard: Whether the transcript has the user's message.
        messages: The inbox rows whose text is in the transcript; None when it cannot be read.
    """

    final: TranscriptEntry | None = None
    changed: bool = False
    usage: Usage = field(default_factory=Usage)
    reply: str = ""
    model: str | None = None
    heard: bool = False
    messages: frozenset[str] | None = frozenset()


def gather(entries: Iterable[TranscriptEntry], run_id: str, read_only: Callable[[str], bool]) -> Evidence:
    """Return the evidence of a run in its transcript.

    Args:
        entries: All entries, in the order of writing.
        run_id: The run.
        read_only: Whether a tool with this name changes nothing; False for one that is not known.
    """
    final: TranscriptEntry | None = None
    changed = heard = False
    usage, reply, model = Usage(), "", None
    messages: set[str] = set()
    for entry in entries:
        if entry.run_id != run_id:
            continue
        heard = True
        if is_final(entry):
            final = entry
        if entry.usage is not None:
            usage = usage + entry.usage
        changed = changed or entry.data.get("name") == PROGRAM_ASKED
        message = entry.message
        if message is not None and message.role is Role.USER and entry.inbox_id is not None:
            messages.add(entry.inbox_id)
        if message is None or message.role is not Role.ASSISTANT:
            continue
        model = entry.model or model
        reply = message.text or reply
        # The transcript was written before the tool started; nothing more is known.
        changed = changed or any(not read_only(call.name) for call in message.tool_calls)
    return Evidence(final, changed, usage, reply, model, heard, frozenset(messages))


def decide(kind: Kind, evidence: Evidence) -> RecoveryVerdict:
    """Return how to handle an unfinished run."""
    if evidence.final is not None:
        return RecoveryVerdict.COMPLETED
    if kind == "request" or evidence.changed:
        return RecoveryVerdict.INTERRUPTED
    return RecoveryVerdict.RERUN


def is_final(entry: TranscriptEntry) -> bool:
    """Return whether a run ends with this entry: an answer, or an event that says why there is none."""
    return entry.data.get("final") is True or entry.data.get("name") == RUN_ENDED


def result_of(run_id: str, session_key: str, evidence: Evidence) -> RunResult:
    """Return the result recorded in a transcript.

    Raises:
        ValueError: The run had not ended.
    """
    if evidence.final is None:
        raise ValueError(f"run {run_id} has not ended")
    data = evidence.final.data
    known = {status.value for status in RunStatus}
    status = RunStatus(data["status"]) if data.get("status") in known else RunStatus.ERROR
    error: dict[str, Any] | None = None
    if status is not RunStatus.OK:
        error = {"code": str(data.get("code", "INTERNAL")), "message": str(data.get("message", "It failed."))}
    return RunResult(
        run_id,
        session_key,
        status,
        evidence.reply,
        usage=evidence.usage,
        stop=str(data.get("stop", "end")),
        error=error,
        model=evidence.model,
    )
