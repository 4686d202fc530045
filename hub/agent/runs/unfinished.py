"""Settles the runs that a stop or a crash left open: `hub.agent.runs.recovery` decides, this acts."""

from __future__ import annotations

import logging
from collections.abc import Collection

from msgspec.structs import replace

from hub.agent.conversation.conversation import RUN_ENDED
from hub.agent.parts import RunDependencies
from hub.agent.run_request import Recovered, RunResult, RunStatus
from hub.agent.runs.recovery import Evidence, RecoveryVerdict, decide, gather, result_of
from hub.agent.runs.store import INTERRUPTED_ERROR, RunRow, RunStore
from hub.core.errors import HubError
from hub.sessions.entry import event_entry, user_entry_id
from hub.sessions.transcript import Transcript

_log = logging.getLogger(__name__)


async def settle_left_open(
    parts: RunDependencies, runs: RunStore, active: Collection[str]
) -> tuple[Recovered, dict[str, RunResult]]:
    """Settle every run that is open in the database and not active.

    Returns:
        What happened to them, and the answered results that have yet to be delivered.

    Raises:
        HubError: The database cannot be read or written.
    """
    found: dict[RecoveryVerdict, list[str]] = {verdict: [] for verdict in RecoveryVerdict}
    answered: dict[str, RunResult] = {}
    heard: list[str] = []
    heard_by: dict[str, frozenset[str] | None] = {}
    for row in await runs.unnotified_runs():
        found[RecoveryVerdict.INTERRUPTED].append(row.id)
        heard_by[row.id] = (await _judge(parts, row))[1].messages
    for row in await runs.open_rows():
        if row.id in active:
            continue
        verdict, evidence = await _judge(parts, row)
        found[verdict].append(row.id)
        if verdict is RecoveryVerdict.INTERRUPTED:
            heard_by[row.id] = evidence.messages
            error = RunResult(row.id, row.session_key, RunStatus.ERROR, stop="error", error=INTERRUPTED_ERROR)
            await runs.settle(row.id, replace(error, usage=evidence.usage, model=evidence.model))
        elif verdict is RecoveryVerdict.RERUN:
            heard += [row.id] if evidence.heard else []
        elif verdict is RecoveryVerdict.COMPLETED:
            result = result_of(row.id, row.session_key, evidence)
            if row.kind == "message":
                answered[row.id] = result
            else:
                await runs.settle(row.id, result)
    await runs.queue_again(found[RecoveryVerdict.RERUN])
    if any(found.values()):
        _log.info("runs that were left open: %s", {verdict.value: len(ids) for verdict, ids in found.items() if ids})
    recovered = Recovered(
        tuple(found[RecoveryVerdict.RERUN]),
        tuple(found[RecoveryVerdict.INTERRUPTED]),
        tuple(found[RecoveryVerdict.COMPLETED]),
        tuple(heard),
        heard_by,
    )
    return recovered, answered


async def _judge(parts: RunDependencies, row: RunRow) -> tuple[RecoveryVerdict, Evidence]:
    """Decide about one run, and repair its transcript."""
    try:
        transcript = await _transcript(parts, row)
        if transcript is None:
            return decide(row.kind, Evidence()), Evidence()
        await transcript.repair(ts_ms=parts.now_ms())
        evidence = gather(transcript.entries(), row.id, lambda name: _is_read_only(parts, name))
        verdict = decide(row.kind, evidence)
        if verdict is RecoveryVerdict.INTERRUPTED and transcript.get(user_entry_id(row.id)) is not None:
            data = {"status": "error", "stop": "error", **INTERRUPTED_ERROR}
            ended = event_entry(RUN_ENDED, parts.now_ms(), data, run_id=row.id, inbox_id=row.inbox_id)
            await transcript.append(replace(ended, id=f"{row.id}-interrupted"), sync=True)
        return verdict, evidence
    except HubError as error:
        # An unreadable transcript does not show what was done, so the run is not repeated.
        _log.error("run %s: its transcript cannot be read: %s", row.id, error.message)
        return RecoveryVerdict.INTERRUPTED, Evidence(messages=None)


async def _transcript(parts: RunDependencies, row: RunRow) -> Transcript | None:
    session = parts.sessions.get(row.session_key)
    if session is None:
        return None
    # A conversation that was reset meanwhile has another transcript than the run.
    return await parts.sessions.open_transcript(replace(session, session_id=row.session_id or session.session_id))


def _is_read_only(parts: RunDependencies, name: str) -> bool:
    tool = parts.tools.get(name)
    return tool is not None and tool.annotations.read_only
