"""Finds one happening by its id, and shows it whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from hub.agent.runner import AgentRunner
from hub.agent.runs.run_reading import read_run
from hub.agent.runs.run_rows import find_run
from hub.automation.definition.kinds import Kinds
from hub.automation.tracing.trace_store import TraceStore
from hub.core.context import Authority
from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.timeline import history_sources, hub_sources
from hub.timeline.automation_detail import automation_detail, skipped_detail
from hub.timeline.detail import Detail, Step
from hub.timeline.happening import Happening, Kind, Outcome
from hub.timeline.history_sources import Change, RelatedRecords
from hub.timeline.hub_sources import FoundApproval
from hub.timeline.listing import Timeline, may_see
from hub.timeline.rows import RowContext, approval_row, change_row, event_row, message_row, run_row, skipped_row
from hub.timeline.run_detail import run_detail
from hub.timeline.turn_detail import add_turn


class OneHappening:
    """Shows one happening.

    Args:
        timeline: Reads the records behind rows.
        runner: Has the traces of active runs.
        traces: The traces of automations.
        config_of: Returns the present configuration of an automation; nothing when it no longer exists.
        kinds: The kinds of steps that there are.
    """

    def __init__(
        self,
        timeline: Timeline,
        runner: AgentRunner,
        traces: TraceStore,
        config_of: Callable[[str], Mapping[str, Any]],
        kinds: Kinds,
    ) -> None:
        self._timeline = timeline
        self._runner = runner
        self._traces = traces
        self._config_of = config_of
        self._kinds = kinds

    async def get(self, id: str, authority: Authority) -> dict[str, Any]:
        """Return a happening as a client sees it.

        Raises:
            NotFound: There is none, not any more, or not for this reader.
        """
        source, _, own = id.partition(".")
        look = {
            "run": self._run,
            "message": self._message,
            "approval": self._approval,
            "automation": self._automation,
            "skipped": self._skipped,
            "device": self._device,
            "event": self._event,
        }.get(source)
        found = await look(own, authority) if look is not None and own else None
        if found is None or not may_see(found.row, authority, self._timeline.people()):
            raise NotFound(f"there is no happening {id[:100]!r}", details={"id": id[:100]})
        return found.as_dict(self._timeline.names())

    async def _run(self, id: str, authority: Authority) -> Detail | None:
        db, history = self._timeline.db, self._timeline.history
        runs = await db.read(lambda connection: hub_sources.runs_of(connection, [id]))
        stored = await db.read(partial(find_run, run_id=id))
        if (run := runs.get(id)) is None or stored is None:
            return None
        around = RelatedRecords()
        await history.read(
            lambda connection: history_sources.add_run_records(
                connection, [run.context_id] if run.context_id else [], [id], around
            ),
            None,
        )
        beside = await self._timeline.beside(around, set(), [run], authority)
        row = run_row(run, beside) or run_row(run, _without_automations(beside))
        if row is None or not may_see(row, authority, self._timeline.people()):
            return None
        whole = await read_run(stored, self._runner, db, history, self._timeline.sessions)
        automation = next(
            (around.automations[id] for each in around.begun.values() for id in each.chain if id in around.automations),
            None,
        )
        if automation is not None:
            row = replace(row, automation_id=str(automation.data.get("automation_id")))
        people = self._timeline.people()
        detail = run_detail(row, stored.as_dict(), whole.steps, whole.prompt, people, is_owner=authority.owner)
        turn = await history.read(partial(history_sources.turn_of, run_id=id), None)
        if turn is not None:
            add_turn(detail, turn)
        return detail

    async def _message(self, id: str, authority: Authority) -> Detail | None:
        found = await self._timeline.db.read(lambda connection: hub_sources.message_of(connection, id))
        row = message_row(found) if found is not None else None
        if row is None or found is None:
            return None
        title = phrase("Message on {channel}", channel=found.said.channel)
        steps = [Step(row.at_ms, "message", title, found.said.text or None, found.said.channel)]
        if row.reason is not None:
            steps.append(Step(row.at_ms, "note", phrase("It was refused"), row.reason, tone="bad"))
        return Detail(row, steps=steps)

    async def _approval(self, id: str, authority: Authority) -> Detail | None:
        found = await self._timeline.db.read(lambda connection: hub_sources.approval_of(connection, id))
        if found is None:
            return None
        beside = await self._timeline.beside(RelatedRecords(), {found.run_id} if found.run_id else set(), [], authority)
        row = approval_row(found, beside)
        by = None if found.decided_by is None else self._timeline.people().name_of(found.decided_by)
        return Detail(
            row,
            facts={"waitedMs": row.duration_ms, "decidedBy": by, "kind": found.kind},
            steps=_approval_steps(found, row, by),
            trace={"method": "approval.get", "id": found.id},
        )

    async def _automation(self, id: str, authority: Authority) -> Detail | None:
        history = self._timeline.history
        around = RelatedRecords()
        told = await history.read(partial(history_sources.automation_of, run_id=id, around=around), None)
        if told is None:
            return None
        beside = await self._timeline.beside(around, {each.run_id for each in around.begun.values()}, [], authority)
        row = event_row(told, beside)
        if row is None:
            return None
        try:
            trace: Mapping[str, Any] | None = await self._traces.get(id)
        except NotFound:
            trace = None
        with self._kinds.in_use():
            return automation_detail(row, trace, [each for each in row.causes if each.kind is Kind.CONVERSATION])

    async def _skipped(self, id: str, authority: Authority) -> Detail | None:
        found = await self._at(history_sources.skipped_triggers, id)
        if found is None:
            return None
        with self._kinds.in_use():
            return skipped_detail(skipped_row(found), found.data, self._config_of(found.automation_id))

    async def _device(self, id: str, authority: Authority) -> Detail | None:
        found = await self._at(history_sources.changes, id)
        if found is None:
            return None
        around = RelatedRecords()
        await self._timeline.history.read(
            lambda connection: history_sources.add_change_causes(connection, [found], around), None
        )
        unknown: tuple[int | None, int | None] = (None, None)
        held_ms, lasted_ms = await self._timeline.history.read(
            lambda connection: history_sources.state_spans(connection, found), unknown
        )
        beside = await self._timeline.beside(around, {each.run_id for each in around.begun.values()}, [], authority)
        row = change_row(found, beside, fold=False)
        if row is None:
            return None
        facts = {
            "before": found.before,
            "beforeMs": held_ms,
            "state": found.state,
            "stateMs": lasted_ms,
            "attributes": {
                key: value for key, value in found.attributes.items() if isinstance(value, (str, int, float))
            },
        }
        return Detail(row, facts=facts, steps=_change_steps(found, row))

    async def _event(self, id: str, authority: Authority) -> Detail | None:
        found = await self._at(history_sources.events, id)
        if found is None or found.type == history_sources.TRIGGERED:
            return None
        row = event_row(found, await self._timeline.beside(RelatedRecords(), set(), [], authority))
        return None if row is None else Detail(row, steps=[_only(row, found.data)])

    async def _at(self, read: Callable[..., list[Any]], id: str) -> Any:
        if not id.isdecimal() or len(id) > 18:
            return None
        position = int(id)
        span = hub_sources.Span(position + 1, 1)
        nothing: list[Any] = []
        found = await self._timeline.history.read(lambda connection: read(connection, span), nothing)
        return found[0] if found and found[0].position == position else None


def _without_automations(beside: RowContext) -> RowContext:
    """Return the same without what would make a run a part of its automation's row."""
    return replace(beside, around=RelatedRecords(begun={}, changes=beside.around.changes, failed=beside.around.failed))


def _change_steps(found: Change, row: Happening) -> list[Step]:
    """Return a change with what led to it and what it led to, each at its own time."""
    steps = [
        Step(
            found.at_ms if each.at_ms is None else each.at_ms,
            each.kind.value,
            phrase("{name} began", name=each.title) if each.kind in (Kind.AUTOMATION, Kind.REMINDER) else each.title,
            data={"id": None if each.is_self else each.id, "trigger": each.trigger, "entity": each.entity_id},
        )
        for each in row.causes
    ]
    return steps or [Step(found.at_ms, "device", row.title, data={"entity": found.entity_id})]


def _approval_steps(found: FoundApproval, row: Happening, by: str | None) -> list[Step]:
    asked = Step(
        found.created_ms,
        "approval",
        phrase("Asked about {what}", what=row.title),
        found.text or None,
        data={"details": dict(found.details), "kind": found.kind},
    )
    if found.decided_ms is None:
        return [asked]
    titles = {
        Outcome.ALLOWED: phrase("It was allowed"),
        Outcome.DENIED: phrase("It was denied"),
        Outcome.EXPIRED: phrase("Nobody answered in time"),
        Outcome.ANSWERED: phrase("It was answered"),
    }
    tone = "good" if row.outcome in (Outcome.ALLOWED, Outcome.ANSWERED) else "bad"
    title = titles.get(row.outcome, phrase("It was withdrawn"))
    data = {"by": by}
    waited = row.duration_ms
    ended = Step(found.decided_ms, "approval", title, found.reason or None, duration_ms=waited, tone=tone, data=data)
    return [asked, ended]


def _only(row: Happening, data: Mapping[str, Any]) -> Step:
    tone = "bad" if row.outcome is Outcome.FAILED else None
    return Step(row.at_ms, "note", row.title, row.reason, tone=tone, data=dict(data))
