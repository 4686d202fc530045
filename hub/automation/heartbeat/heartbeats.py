"""Heartbeats: an agent runs its checks by itself, and speaks up only when something needs attention."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from hashlib import sha256
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.agent.agents import Agent, Agents
from hub.agent.run_request import RunResult, RunStatus
from hub.agent.workspace.workspace import Workspaces
from hub.automation.heartbeat import file as heartbeat_file
from hub.automation.heartbeat.file import FILE, FILE_LIMIT_BYTES, Checklist, HeartbeatCheck
from hub.automation.heartbeat.prompt import heartbeat_prompt
from hub.automation.heartbeat.state import HeartbeatState, load, store
from hub.automation.services.addresses import Addresses, DeliveryTarget
from hub.automation.services.agent_runs import AgentRuns, RequestedRun, response_data
from hub.automation.services.delivery import ResultDelivery
from hub.automation.services.system_event_queue import SystemEvent, SystemEvents
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.events import EventBus
from hub.core.phrases import Phrase, phrase
from hub.core.slugs import object_id
from hub.core.sql import SqlConnection
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.messaging.outbox.ack import ACK_LIMIT, strip_ack
from hub.security.jail_path import PathRefused
from hub.security.root import Root
from hub.sessions.entry import event_entry
from hub.sessions.keys import main_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database

_log = logging.getLogger(__name__)

EVENT_HEARTBEAT = "heartbeat"
"""A heartbeat ended: `agent_id`, `status`, `text`, `reason`, `channel`, `to`, `duration_ms`, `cost_usd`."""
NAME = "heartbeat"
CHECKS_DEFAULT = 5
PREVIEW = 200


class HeartbeatSettings(Struct, frozen=True):
    """The heartbeat settings of an agent.

    Attributes:
        agent_id: The agent.
        target: The destination of an alert; see `addresses.TARGET`.
        in_main: In the main conversation instead of one of its own.
        model, timeout_s: Instead of the agent's.
        prompt: The first words of its prompt.
        ack_limit: Characters around HEARTBEAT_OK that are nothing worth telling.
        checks: The number of checks per beat.
        quoted: Whether words from outside in `prompt` are quoted there.
    """

    agent_id: str
    target: Any = "last"
    in_main: bool = False
    model: str | None = None
    timeout_s: float | None = None
    prompt: str | None = None
    ack_limit: int = ACK_LIMIT
    checks: int = CHECKS_DEFAULT
    quoted: bool = False


class DueHeartbeat(Struct, frozen=True):
    """Whether a heartbeat has something to do, and why (not)."""

    holds: bool
    reason: str


class _View(Struct, frozen=True):
    """The state at the start of a heartbeat."""

    checklist: Checklist
    due: tuple[HeartbeatCheck, ...]
    events: tuple[SystemEvent, ...]
    state: HeartbeatState
    signature: str
    trusted: bool


class _Verdict(Struct):
    """The outcome of an answer; set in the transaction that ends the run."""

    status: str = "ok"
    text: str | None = None
    state: HeartbeatState = field(default_factory=HeartbeatState)


class HeartbeatDependencies(Struct, frozen=True):
    """The dependencies of heartbeats.

    Attributes:
        runs: Asks the runner.
        workspaces: Know which files hold words from outside.
        zone: Returns the home's time zone as configured now.
    """

    runs: AgentRuns
    agents: Agents
    workspaces: Workspaces
    sessions: SessionStore
    events: SystemEvents
    tasks: TaskOwner
    addresses: Addresses
    delivery: ResultDelivery
    db: Database
    states: StateMachine
    bus: EventBus
    clock: Clock
    zone: Callable[[], tzinfo]


class Heartbeats:
    """Runs the heartbeats of agents."""

    def __init__(self, needs: HeartbeatDependencies) -> None:
        self._needs = needs
        self._looking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.last: Mapping[str, Any] | None = None
        """What the event of the last heartbeat told."""

    async def open(self) -> None:
        """Show the last heartbeat of each agent."""
        for agent in self._needs.agents.all():
            state = await self._needs.db.read(lambda connection, id=agent.id: load(connection, id))  # type: ignore[misc]
            if state.result is not None:
                self._show(agent.id, state, None)
                self._remember(agent.id, state)

    async def due(self, agent_id: str, *, skip_unchanged: bool = True) -> DueHeartbeat:
        """Return whether an agent has due checks now.

        Args:
            agent_id: The agent.
            skip_unchanged: Whether nothing is due when nothing changed since all was last found in order.
        """
        agent = self._needs.agents.get(agent_id)
        if self._needs.runs.busy(agent.id):
            return DueHeartbeat(False, phrase("{agent} is answering someone", agent=agent.name))
        view = await self._look(agent, heartbeat_file.CHECKS_LIMIT)
        if view.events:
            return DueHeartbeat(True, phrase("{count} system events wait", count=len(view.events)))
        if view.checklist.is_empty:
            return DueHeartbeat(False, phrase("{file} is empty", file=FILE))
        if view.checklist.checks and not view.due and not view.checklist.notes:
            return DueHeartbeat(False, phrase("no check is due"))
        timed = [check for check in view.due if check.every_s is not None]
        if skip_unchanged and not timed and view.signature == view.state.signature:
            return DueHeartbeat(False, phrase("nothing changed since the last check"))
        if view.due:
            return DueHeartbeat(True, phrase("{count} checks are due", count=len(view.due)))
        return DueHeartbeat(True, phrase("{file} has notes", file=FILE))

    async def beat(
        self,
        beat: HeartbeatSettings,
        context: Context,
        *,
        key: str | None = None,
        began: Callable[[str], None] | None = None,
    ) -> Mapping[str, Any]:
        """Run an agent's due checks, and send what it reports.

        Args:
            key: Beating again with the same key attaches to the same run.
            began: Called with the id of the agent's run, if there is one.

        Returns:
            `status` (ok, alert, duplicate, skipped), `text` (what was sent, or would have been), `reason`, `reply`,
            `run_id`, `session_key`, `delivered`, `checks` (texts), `usage`, `cost_usd`, `model`, `tainted` (whether
            words from outside were before the agent).

        Raises:
            AgentRunFailed: It gave no answer.
        """
        agent = self._needs.agents.get(beat.agent_id)
        begun = self._needs.clock.monotonic()
        view = await self._look(agent, beat.checks)
        state = view.state
        reason: Phrase | None = None
        if not view.events and not view.due and not view.checklist.notes:
            reason = phrase("{file} is empty", file=FILE) if view.checklist.is_empty else phrase("no check is due")
            state = replace(view.state, last=self._needs.clock.time(), result="skipped")
            await self._needs.db.write(lambda connection: store(connection, agent.id, state, self._now_ms()))
        elif beat.in_main and self._needs.runs.waits_in(main_key(agent.id), key):
            reason = phrase("another run waits in its conversation already")
        if reason is not None:
            self._tell(agent.id, "skipped", state, context, begun, reason=reason)
            return {"status": "skipped", "text": None, "reason": reason, "reply": "", "delivered": False, "checks": []}
        place = await self._needs.addresses.target(beat.target, agent_id=agent.id)
        verdict = _Verdict(state=view.state)
        wanted = replace(self._wanted(agent, beat, view, context, place, verdict, key), began=began)
        result = await self._needs.runs.run(wanted)
        if result is None:
            return {"status": "skipped", "text": None, "reason": "its conversation waits for this", "delivered": False}
        if result.status is not RunStatus.OK:
            self._tell(agent.id, "failed", verdict.state, context, begun, reason=str((result.error or {}).get("code")))
            raise await self._needs.runs.error_of(result)
        delivered = verdict.status == "alert" and place is not None
        if beat.in_main and verdict.status == "ok":
            await self._forget(result)
        self._tell(agent.id, verdict.status, verdict.state, context, begun, text=verdict.text, place=place)
        told = {"status": verdict.status, "text": verdict.text, "delivered": delivered}
        checks = [check.text for check in view.due]
        return {**response_data(result), **told, "checks": checks, "tainted": result.tainted}

    def look(self, agent_id: str, context: Context) -> None:
        """Let an agent without a heartbeat of its own look at the events that wait for it, if the owner caused them."""
        if context.authority.owner:
            self._needs.tasks.spawn(self._look_at_events(agent_id, context), name=f"events of {agent_id}")

    # --- inside ---

    async def _look_at_events(self, agent_id: str, context: Context) -> None:
        async with self._looking[agent_id]:  # whoever waited for another finds nothing left
            if not await self._needs.events.waiting(agent_id=agent_id):
                return
            try:
                await self.beat(HeartbeatSettings(agent_id), context)
            except HubError as error:
                _log.warning("the agent %s could not look at its events: %s", agent_id, error.message)

    async def _look(self, agent: Agent, limit: int) -> _View:
        text, trusted = await asyncio.to_thread(self._read, agent)
        checklist = heartbeat_file.parse(text)
        events = tuple(await self._needs.events.waiting(agent_id=agent.id))
        state, heard = await self._needs.db.read(
            lambda connection: (
                load(connection, agent.id),
                connection.execute("SELECT max(position) FROM inbox WHERE state != 'rejected'").fetchone()[0],
            )
        )
        due = tuple(heartbeat_file.due(checklist.checks, state.looked, self._needs.clock.time(), limit))
        signature = sha256(f"{text}\0{heard}".encode("utf-8", "replace")).hexdigest()[:16]
        return _View(checklist, due, events, state, signature, trusted)

    def _read(self, agent: Agent) -> tuple[str, bool]:
        """Return the file's text, and whether this home's people wrote it; an unreadable file is an empty one."""
        try:
            data = Root(agent.workspace).read_bytes(FILE, FILE_LIMIT_BYTES)
        except FileNotFoundError:
            return "", True
        except (OSError, PathRefused, HubError) as error:
            _log.warning("the %s of agent %s cannot be read: %s", FILE, agent.id, error)
            return "", True
        return data.decode("utf-8", "replace"), not self._needs.workspaces.outside.holds(agent.id, data)

    def _wanted(
        self,
        agent: Agent,
        beat: HeartbeatSettings,
        view: _View,
        context: Context,
        place: DeliveryTarget | None,
        verdict: _Verdict,
        key: str | None,
    ) -> RequestedRun:
        trusted = view.trusted and all(event.trusted for event in view.events)
        authority = context.authority if trusted else context.authority.narrow(tainted=True)
        child = context.child(authority)
        told = (view.state.told, view.state.text) if view.state.told is not None and view.state.text else None
        zone = self._needs.zone()

        def on_final(connection: SqlConnection, result: RunResult) -> None:
            self._judge(connection, agent.id, beat, view, result, verdict)
            if place is not None and verdict.status == "alert" and verdict.text is not None:
                self._needs.delivery.insert(connection, place, verdict.text, child, run_id=result.run_id)

        def after(result: RunResult) -> None:
            if place is not None and verdict.status == "alert" and verdict.text is not None:
                came_with = child.tainted() if result.tainted else child
                self._needs.delivery.sent(place, verdict.text, came_with, result.run_id)

        return RequestedRun(
            agent.id,
            heartbeat_prompt(view.due, view.checklist.notes, view.events, told, zone, beat.prompt),
            child,
            main_key(agent.id) if beat.in_main else None,
            name=NAME,
            key=key,
            model=beat.model,
            timeout_s=beat.timeout_s,
            on_final=on_final,
            after=after,
            # Events are quoted one by one; a checklist that somebody else wrote is quoted with the rest.
            quoted=view.trusted and (beat.quoted or not context.authority.tainted),
        )

    def _judge(
        self,
        connection: SqlConnection,
        agent_id: str,
        beat: HeartbeatSettings,
        view: _View,
        result: RunResult,
        verdict: _Verdict,
    ) -> None:
        """Decide which part of an answer is delivered and store it, in the transaction that ends the run."""
        now = self._needs.clock.time()
        day = f"{datetime.fromtimestamp(now, self._needs.zone()):%Y-%m-%d}"
        usage = result.usage
        state = load(connection, agent_id).spent(day, usage.cost_usd or 0.0, usage.total_tokens)
        state = replace(state, last=now, result="failed", signature=None)
        if result.status is RunStatus.OK:
            verdict.text = strip_ack(result.reply, beat.ack_limit)
            if verdict.text is None:
                verdict.status = "ok"
                state = replace(state, signature=view.signature)
            elif state.is_duplicate(verdict.text, now):
                verdict.status = "duplicate"
            else:
                verdict.status = "alert"
                state = state.with_report(verdict.text, now)
            state = replace(state, result=verdict.status).with_checks(
                {check.id: now for check in view.due}, frozenset(check.id for check in view.checklist.checks)
            )
            statement, rows = self._needs.events.take_statements(event.id for event in view.events)
            connection.executemany(statement, rows)
        store(connection, agent_id, state, self._now_ms())
        verdict.state = state

    async def _forget(self, result: RunResult) -> None:
        """Remove a heartbeat that found nothing from the main conversation; its file keeps it."""
        session = self._needs.sessions.get(result.session_key)
        if session is None:
            return
        transcript = await self._needs.sessions.open_transcript(session)
        branch = transcript.branch()
        begun = next((at for at, entry in enumerate(branch) if entry.run_id == result.run_id), None)
        if not begun or any(entry.run_id != result.run_id for entry in branch[begun:]):
            return
        quiet = event_entry("heartbeat_ok", self._now_ms(), {"run_id": result.run_id})
        await transcript.append(replace(quiet, parent_id=branch[begun - 1].id))

    def _tell(
        self,
        agent_id: str,
        status: str,
        state: HeartbeatState,
        context: Context,
        begun: float,
        *,
        text: str | None = None,
        reason: str | None = None,
        place: DeliveryTarget | None = None,
    ) -> None:
        self._show(agent_id, state, context)
        told = {
            "agent_id": agent_id,
            "status": status,
            "text": text[:PREVIEW] if text is not None else None,
            "reason": reason,
            "channel": place.address.channel if place is not None else None,
            "to": place.address.peer if place is not None else None,
            "duration_ms": round((self._needs.clock.monotonic() - begun) * 1000),
            "ts_ms": self._now_ms(),
            "cost_today_usd": state.cost_usd,
        }
        self.last = told
        self._needs.bus.fire(EVENT_HEARTBEAT, dict(told), context)

    def _remember(self, agent_id: str, state: HeartbeatState) -> None:
        """Restore the last report of an earlier process; its duration and other content are not kept."""
        ts_ms = round((state.last or 0.0) * 1000)
        if self.last is None or ts_ms > self.last["ts_ms"]:
            text = state.text[:PREVIEW] if state.result == "alert" else None
            self.last = {"agent_id": agent_id, "status": state.result, "text": text, "ts_ms": ts_ms}

    def _show(self, agent_id: str, state: HeartbeatState, context: Context | None) -> None:
        zone = self._needs.zone()
        today = f"{datetime.fromtimestamp(self._needs.clock.time(), zone):%Y-%m-%d}" == state.day
        self._needs.states.set(
            f"heartbeat.{object_id(agent_id)}",
            state.result or "unknown",
            {
                "friendly_name": f"Heartbeat of {agent_id}",
                "agent": agent_id,
                "last_run": None if state.last is None else datetime.fromtimestamp(state.last, zone).isoformat(),
                "last_told": state.text or None,
                "cost_today_usd": state.cost_usd if today else 0.0,
                "tokens_today": state.tokens if today else 0,
                "beats_today": state.beats if today else 0,
            },
            context,
        )

    def _now_ms(self) -> int:
        return int(self._needs.clock.time() * 1000)
