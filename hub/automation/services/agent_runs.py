"""Runs of agents on behalf of automations: each once, in a lane of their own, in a conversation that fits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runner import AgentRunner
from hub.agent.runs.recovery import gather
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.lanes import Lanes, Priority
from hub.core.services import ServiceCall
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.models.contract import Message, Role, TextBlock
from hub.sessions.keys import cron_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database

_log = logging.getLogger(__name__)

LANE = "cron"
ORPHANS_AFTER_S = 86_400.0
"""A run that was cut off and that no automation took up again for so long is given up."""
KEPT_S = 30 * 86_400.0
"""How long the rows of ended runs are kept; what was said stays in the transcripts."""
TRANSCRIPTS_KEPT = 20
"""Earlier conversations of an automation that begins a new one each time."""
TRANSIENT = frozenset({"MODEL_RATE_LIMITED", "MODEL_OVERLOADED", "MODEL_TIMEOUT"})
"""Why models give no answer now that may give one later."""
RETRY_AFTER_S = 30.0
SLOTS_LIMIT = 16
"""Runs of one automation in conversations of their own at the same time."""


class AgentRunFailed(HubError):
    """An agent's run ended without an answer; `details` has run_id, session_key and status."""

    code = "AGENT_RUN_FAILED"
    http_status = 502


class RequestedRun(Struct, frozen=True):
    """A run requested by an automation.

    Attributes:
        agent_id: The answering agent.
        text: The words.
        context: The cause, and the authority.
        session_key: The conversation; None for one of its own, started afresh each time.
        name: The name of a conversation of its own.
        key: Asking again with the same key attaches to the same run.
        model, thinking, timeout_s: Instead of the agent's.
        extra_system_prompt: Appended to the agent's own prompt.
        began: Called with the run's id before it begins, for callers that name it whatever the outcome.
        on_final: Called in the transaction that ends the run.
        after: Called when it has ended, also when nobody waited for it.
        quoted: Whether words from outside in the text are quoted in it.
        channel: What the words came by, for the envelope.
        area: Name of the area of the home that it is about.
    """

    agent_id: str
    text: str
    context: Context
    session_key: str | None = None
    name: str = "automation"
    key: str | None = None
    model: str | None = None
    thinking: str | None = None
    timeout_s: float | None = None
    extra_system_prompt: str | None = None
    began: Callable[[str], None] | None = None
    on_final: Callable[[SqlConnection, RunResult], None] | None = None
    after: Callable[[RunResult], None] | None = None
    quoted: bool = False
    channel: str = "automation"
    area: str | None = None


class AgentRuns:
    """Requests runs from the runner.

    Args:
        tasks: Owner of the runs that nobody waits for.
    """

    def __init__(
        self,
        runner: AgentRunner,
        sessions: SessionStore,
        db: Database,
        lanes: Lanes,
        bus: EventBus,
        *,
        clock: Clock,
        tasks: TaskOwner,
    ) -> None:
        self._runner = runner
        self._sessions = sessions
        self._db = db
        self._lanes = lanes
        self._clock = clock
        self._tasks = tasks
        self._taken: set[str] = set()
        self._stopping = False
        bus.listen("hub_stopping", self._stops)

    async def run(self, wanted: RequestedRun) -> RunResult | None:
        """Run once and return the result; None if it waits for the conversation that requested it.

        Raises:
            LimitExceeded: Too many runs wait.

        Cancelling it stops the run, unless the hub stops: then the run can be resumed with the same key.
        """
        run_id = run_id_of(wanted.key)
        if wanted.began is not None:
            wanted.began(run_id)
        known = await self._session_of(run_id)
        if known is not None:
            return await self._finish(self._request(wanted, run_id, known), wanted)
        if wanted.session_key is not None:
            request = self._request(wanted, run_id, wanted.session_key)
            if self._lanes.holds(f"session:{wanted.session_key}", wanted.context):
                self._queue(request, wanted)
                return None
            return await self._finish(await self._announced(request), wanted)
        slot = self._take_slot(wanted)
        try:
            if self._sessions.get(slot) is not None:
                await self._sessions.reset(slot)
                self._tasks.spawn(self._tidy(slot), name=f"tidy up behind {slot}")
            return await self._finish(await self._announced(self._request(wanted, run_id, slot)), wanted)
        finally:
            self._taken.discard(slot)

    async def error_of(self, result: RunResult) -> AgentRunFailed:
        """Return a run that gave no answer as an error.

        It may be retried when no model could be asked just then, and nothing was done that must not be done twice.
        """
        error = result.error or {}
        code = error.get("code")
        may = code in TRANSIENT and not await self._has_acted(result)
        told = error.get("message") or f"it was {result.status.value}"
        details = {
            "run_id": result.run_id,
            "session_key": result.session_key,
            "status": result.status.value,
            "code": code,
        }
        return AgentRunFailed(
            f"the agent gave no answer: {told}", details=details, retry_after_s=RETRY_AFTER_S if may else None
        )

    async def give_up_orphans(self) -> int:
        """Close the rows of interrupted runs that nothing resumed, and delete old ones; return how many.

        To be called when automations have been open for a while; harmless at any time.
        """
        now = self._now_ms()
        active = {each.run_id for each in self._runner.active()}

        def write(connection: SqlConnection) -> int:
            rows = connection.execute(
                "SELECT id FROM runs WHERE lane = ? AND inbox_id IS NULL AND state = 'queued' AND created_ms < ?",
                (LANE, now - int(ORPHANS_AFTER_S * 1000)),
            ).fetchall()
            orphans = [(now, row[0]) for row in rows if row[0] not in active]
            connection.executemany("UPDATE runs SET state = 'interrupted', ended_ms = ? WHERE id = ?", orphans)
            connection.execute(
                "DELETE FROM runs WHERE lane = ? AND inbox_id IS NULL AND ended_ms < ?",
                (LANE, now - int(KEPT_S * 1000)),
            )
            return len(orphans)

        return await self._db.write(write)

    def busy(self, agent_id: str) -> bool:
        """Whether an agent is answering a person, or about to."""
        return any(
            each.agent_id == agent_id and each.kind == "message" and not self._is_ours(each.run_id)
            for each in self._runner.active()
        )

    def waits_in(self, session_key: str, key: str | None) -> bool:
        """Whether another requested run, not that of this key, already waits in a conversation."""
        return any(
            each.session_key == session_key
            and each.state == "queued"
            and self._is_ours(each.run_id)
            and each.run_id != run_id_of(key)
            for each in self._runner.active()
        )

    # --- inside ---

    def _is_ours(self, run_id: str) -> bool:
        return run_id.startswith(_RUN_PREFIX)

    def _request(self, wanted: RequestedRun, run_id: str, session_key: str) -> RunRequest:
        return RunRequest(
            run_id=run_id,
            agent_id=wanted.agent_id,
            session_key=session_key,
            message=Message(Role.USER, (TextBlock(wanted.text),)),
            context=wanted.context,
            model=wanted.model,
            thinking=wanted.thinking,
            extra_system_prompt=wanted.extra_system_prompt,
            # One with a key is asked for again after a crash, so it may be run again when nothing had happened yet.
            kind="message" if wanted.key is not None else "request",
            lane=LANE,
            priority=Priority.BACKGROUND,
            timeout_s=wanted.timeout_s,
            on_final=wanted.on_final,
            quoted=wanted.quoted,
            channel=wanted.channel,
            area=wanted.area,
        )

    async def _announced(self, request: RunRequest) -> RunRequest:
        """Insert the row of a run that may be resumed, before it begins."""
        if request.kind == "message":
            await self._db.write(lambda connection: self._runner.insert_queued(connection, request))
        return request

    async def _finish(self, request: RunRequest, wanted: RequestedRun) -> RunResult:
        try:
            result = await self._runner.run(request)
        except asyncio.CancelledError:
            if not self._stopping:
                self._runner.abort(run_id=request.run_id)
            raise
        if wanted.after is not None:
            wanted.after(result)
        return result

    def _queue(self, request: RunRequest, wanted: RequestedRun) -> None:
        """Run after the requesting run, outside the chain that holds the conversation."""
        context = request.context
        later = replace(request, context=Context(context.authority, parent_id=context.id))

        async def run() -> None:
            result = await self._finish(await self._announced(later), wanted)
            if result.status is not RunStatus.OK:
                _log.warning("the run %s that an automation queued failed: %s", request.run_id, result.error)

        self._tasks.spawn(run(), name=f"run {request.run_id}")

    async def _session_of(self, run_id: str) -> str | None:
        """Return the conversation of a run that was requested before; None for a new one."""
        row = await self._db.read(
            lambda connection: connection.execute("SELECT session_key FROM runs WHERE id = ?", (run_id,)).fetchone()
        )
        return None if row is None else str(row[0])

    def _take_slot(self, wanted: RequestedRun) -> str:
        """Return an idle conversation: the automation's own, or another beside it."""
        base = cron_key(wanted.agent_id, wanted.name)
        busy = self._taken | {each.session_key for each in self._runner.active()}
        for number in range(1, SLOTS_LIMIT):
            key = base if number == 1 else cron_key(wanted.agent_id, f"{wanted.name}#{number}")
            if key not in busy:
                self._taken.add(key)
                return key
        key = cron_key(wanted.agent_id, f"{wanted.name}#{SLOTS_LIMIT}")
        self._taken.add(key)
        return key

    async def _tidy(self, session_key: str) -> None:
        """Delete the oldest transcripts of a conversation that starts afresh each time."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT session_id FROM runs WHERE session_key = ? AND session_id IS NOT NULL"
                " GROUP BY session_id ORDER BY max(created_ms) DESC LIMIT 200 OFFSET ?",
                (session_key, TRANSCRIPTS_KEPT),
            ).fetchall()
        )
        session = self._sessions.get(session_key)
        if session is None:
            return
        for (session_id,) in rows:
            if session_id != session.session_id:
                await self._sessions.transcripts.remove(session.agent_id, session_id)

    async def _has_acted(self, result: RunResult) -> bool:
        """Whether a run called what may change things; so too when its transcript does not show it."""
        session = self._sessions.get(result.session_key)
        if session is None:
            return True
        try:
            transcript = await self._sessions.open_transcript(session)
        except HubError:
            return True
        return gather(transcript.entries(), result.run_id, self._is_read_only).changed

    def _is_read_only(self, name: str) -> bool:
        tool = self._runner.parts.tools.get(name)
        return tool is not None and tool.annotations.read_only

    def _stops(self, event: object) -> None:
        self._stopping = True

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


_RUN_PREFIX = "auto-"


def run_id_of(key: str | None) -> str:
    """Return the run id for an idempotency key; a fresh one without a key."""
    return f"{_RUN_PREFIX}{new_id() if key is None else sha256(key.encode()).hexdigest()[:32]}"


def run_recorder(call: ServiceCall) -> Callable[[str], None]:
    """Return a function that notes the run that a service call begins, for its trace."""

    def note(run_id: str) -> None:
        if call.notes is not None:
            call.notes["run_id"] = run_id

    return note


def response_data(result: RunResult) -> dict[str, Any]:
    """Return an ended run as a service response."""
    return {
        "reply": result.reply,
        "run_id": result.run_id,
        "session_key": result.session_key,
        "status": result.status.value,
        "usage": result.usage.as_dict(),
        "cost_usd": result.usage.cost_usd,
        "model": result.model,
    }
