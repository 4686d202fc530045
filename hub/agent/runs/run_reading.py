"""Reads a run whole: its trace, its transcript and its rows put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.runner import AgentRunner
from hub.agent.runs.run_rows import RunSurroundings, StoredRun, surroundings
from hub.agent.runs.run_timeline import RunWords, Step, timeline
from hub.sessions.store import SessionStore
from hub.sessions.transcript import Transcript
from hub.storage.database import Database
from hub.storage.history import HistoryStore


class WholeRun(Struct, frozen=True):
    """A run, step by step.

    Attributes:
        deleted: Whether its conversation was deleted: then nothing of it is shown.
        traced: Whether its trace is kept; else its steps come from the transcript alone.
        prompt: What every call is sent before the conversation; None when it is not kept.
        dropped: How many steps its trace had no room for.
    """

    steps: Sequence[Step]
    deleted: bool
    traced: bool
    prompt: Mapping[str, Any] | None
    dropped: int


async def read_run(
    run: StoredRun, runner: AgentRunner, db: Database, history: HistoryStore, sessions: SessionStore
) -> WholeRun:
    """Return a run with its steps, finished or active."""
    trace = runner.trace(run.id) or await history.run_trace(run.id) or {}
    transcript = await transcript_of(run, sessions)
    deleted = transcript is None and run.session_id is not None
    words = RunWords(transcript.entries() if transcript is not None else (), run.id, deleted=deleted)
    around: RunSurroundings = await db.read(partial(surroundings, run_id=run.id))
    traced = "steps" in trace
    steps = timeline(run, trace if traced else None, words, around)
    return WholeRun(steps, deleted, traced, trace.get("prompt") or None, trace.get("dropped", 0))


async def transcript_of(run: StoredRun, sessions: SessionStore) -> Transcript | None:
    """Return the transcript of a run; None if it had none, or its conversation was deleted."""
    session = sessions.get(run.session_key)
    if session is None or run.session_id is None:
        return None
    # A conversation that was reset meanwhile has another transcript than the run.
    return await sessions.open_transcript(replace(session, session_id=run.session_id))
