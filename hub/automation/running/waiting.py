"""Runs that survive a restart: their positions in the hub database, from before the first action to the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson
from msgspec import Struct

from hub.automation.contract import RunOutcome
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.plan import RunPlan
from hub.automation.running.position import Position, TakenUp
from hub.automation.running.run import RunState
from hub.automation.running.saved_values import pack, unpack
from hub.automation.tracing.trace import TraceWriter
from hub.automation.tracing.trace_store import TraceStore
from hub.core.context import Authority, Context
from hub.core.errors import LimitExceeded
from hub.core.phrases import phrase
from hub.core.sql import SqlConnection
from hub.storage.database import Database

_log = logging.getLogger(__name__)

STATE_LIMIT_BYTES = 1_048_576
"""What a run carries with it may be so large; a run with more fails instead of filling the disk."""
FORMAT = 1

_UPSERT = (
    "INSERT INTO automation_runs(id, owner_kind, owner_id, state, authority, context_id, parent_id, created_ms,"
    " updated_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET"
    " state = excluded.state, authority = excluded.authority, updated_ms = excluded.updated_ms"
)
"""A run that is saved again keeps its place, so that those that wait for their turn go on in order."""

Write = Callable[[SqlConnection], None]


class Owner(Protocol):
    """The owner of stored runs: an automation or a script."""

    @property
    def plan(self) -> RunPlan:
        """Return its current plan."""
        ...

    def take_up(self, waiting: Waiting) -> None:
        """Resume a run that a stop or a crash interrupted, at its position."""
        ...


class Waiting(Struct, frozen=True):
    """An interrupted run.

    Attributes:
        definition_hash: The hash of the plan under which it ran; under another its position means nothing.
        variables: The variables of the whole run.
        started: When it began, seconds since the epoch.
    """

    id: str
    owner_kind: str
    owner_id: str
    definition_hash: str
    alias: str
    context: Context
    variables: Mapping[str, Any]
    position: Position
    started: float
    conversation_response: str | None
    keeper: WaitingRuns

    def restore(self, plan: RunPlan, parts: AutomationParts) -> RunState:
        """Return the run, ready to resume from its position."""
        kept = self.context
        context = Context(parts.people().with_present_rights(kept.authority), kept.id, kept.parent_id, kept.chain)
        run = RunState(
            plan,
            parts,
            context,
            variables=self.variables,
            keeper=self.keeper,
            resumed=TakenUp(self.id, self.position, self.started),
        )
        run.conversation_response = self.conversation_response
        return run

    async def go_on(self, owner: Owner | None, parts: AutomationParts, traces: TraceStore | None) -> None:
        """Hand the run to its owner; without one, or with a changed definition, it ends here and reports that."""
        if owner is not None and owner.plan.definition_hash == self.definition_hash:
            owner.take_up(self)
            return
        gone = phrase("the hub was restarted in the middle of it, and meanwhile it is not there any more")
        reason = (
            gone if owner is None else phrase("the hub was restarted in the middle of it, and meanwhile it was changed")
        )
        if traces is not None:
            traces.add(self._interrupted(reason, parts))
        await self.keeper.forget(self.id)
        _log.warning("a run of the %s %s was not taken up: %s", self.owner_kind, self.owner_id, reason)

    def _interrupted(self, reason: str, parts: AutomationParts) -> TraceWriter:
        trigger = self.variables.get("trigger") or {}
        owner = f"script.{self.owner_id}" if self.owner_kind == "script" else self.owner_id
        trace = TraceWriter(self.id, owner, self.alias, trigger, self.context, clock=parts.clock, zone=parts.zone())
        for path, state in self.position.states.items():
            if isinstance(state, dict):
                trace.step(path).result(interrupted=True, **{str(key): value for key, value in state.items()}).end()
        trace.end(RunOutcome.INTERRUPTED, reason, self.variables)
        return trace


class WaitingRuns:
    """Keeps runs in the hub database, and finds them again at the start.

    Args:
        db: The hub database.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, db: Database, wall_time: Callable[[], float]) -> None:
        self._db = db
        self._wall_time = wall_time

    def save_statements(self, run: RunState) -> Write:
        """Return the statements that store the current state of the run, for a transaction of the caller.

        Raises:
            LimitExceeded: It is too large.
        """
        context = run.context
        now_ms = int(self._wall_time() * 1000)
        row = (
            run.id,
            run.plan.owner_kind,
            run.plan.owner_id,
            _state_of(run),
            orjson.dumps(context.authority.as_dict()).decode(),
            context.id,
            context.parent_id,
            int(run.started * 1000),
            now_ms,
        )

        def write(connection: SqlConnection) -> None:
            connection.execute(_UPSERT, row)

        return write

    async def save(self, run: RunState) -> None:
        """Return once the current state of the run is on disk.

        Raises:
            LimitExceeded: It is too large.
            StorageError: It could not be written.
        """
        await self._db.write(self.save_statements(run))
        run.saved = True

    async def forget(self, run_id: str) -> None:
        """Forget a run that has ended."""
        await self._db.write(
            lambda connection: connection.execute("DELETE FROM automation_runs WHERE id = ?", (run_id,))
        )

    async def load(self) -> list[Waiting]:
        """Return the runs that had not ended when the hub stopped, oldest first.

        One that cannot be read is left in place and logged.
        """
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, owner_kind, owner_id, state, authority, context_id, parent_id FROM automation_runs"
                " ORDER BY position"
            ).fetchall()
        )
        found = []
        for row in rows:
            try:
                found.append(self._read(row))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                _log.error("the run %s of %s %s cannot be read and does not go on: %r", row[0], row[1], row[2], error)
        return found

    def _read(self, row: tuple[Any, ...]) -> Waiting:
        id, owner_kind, owner_id, text, authority, context_id, parent_id = row
        state = orjson.loads(text)
        if state["format"] != FORMAT:
            raise ValueError(f"expected format {FORMAT}, got {state['format']}")
        position = Position(
            states=dict(state["states"]),
            scopes={path: unpack(scope) for path, scope in state["scopes"].items()},
            counts=dict(state["counts"]),
            attempt=int(state["attempt"]),
            retry_at=state["retry_at"],
            begun=unpack(state["begun"]),
            error=state["error"],
        )
        context = Context(Authority.from_dict(orjson.loads(authority)), context_id, parent_id, tuple(state["chain"]))
        return Waiting(
            id,
            owner_kind,
            owner_id,
            state["definition"],
            state["alias"],
            context,
            unpack(state["variables"]),
            position,
            float(state["started"]),
            state["conversation_response"],
            self,
        )


def _state_of(run: RunState) -> str:
    position = run.position
    state = {
        "format": FORMAT,
        "definition": run.plan.definition_hash,
        "alias": run.plan.alias,
        "chain": run.context.chain,
        "started": run.started,
        "variables": pack(run.variables),
        "states": pack(position.states),
        "scopes": {path: pack(scope) for path, scope in position.scopes.items()},
        "counts": position.counts,
        "attempt": position.attempt,
        "retry_at": position.retry_at,
        "begun": pack(position.begun),
        "error": position.error,
        "conversation_response": run.conversation_response,
    }
    text = orjson.dumps(state)
    if len(text) > STATE_LIMIT_BYTES:
        raise LimitExceeded(
            f"the variables of this run hold more than {STATE_LIMIT_BYTES} bytes, which is too much to be kept over a "
            "restart. Keep less in them, or set persist: false.",
            details={"size_bytes": len(text)},
        )
    return text.decode()
