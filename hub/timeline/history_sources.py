"""Happenings in the history: automations that ran or did not, changes of devices, and the hub's own events.

Every function runs in a thread of the database, reads a bounded number of rows, and gets a position to continue from.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hub.core.phrases import PHRASE, phrase_from_data
from hub.core.sql import SqlConnection
from hub.timeline.hub_sources import BESIDE_LIMIT, Span, data_of, rows_with

TRIGGERED = "automation_triggered"
RUN_STARTED = "run_started"


class Change(Struct, frozen=True):
    """A change of a device that people care about."""

    position: int
    at_ms: int
    entity_id: str
    before: str
    state: str
    context_id: str
    parent_id: str | None
    principal: str | None
    person: str | None
    name: str
    device_class: str | None
    attributes: Mapping[str, Any] = {}


class HubEvent(Struct, frozen=True):
    """An event of the hub that is a row by itself: an automation that began, or a report of the hub about itself."""

    position: int
    at_ms: int
    type: str
    context_id: str
    parent_id: str | None
    data: Mapping[str, Any]


class Skipped(Struct, frozen=True):
    """A trigger that fired while nothing ran."""

    position: int
    at_ms: int
    automation_id: str
    reason: str
    data: Mapping[str, Any]


class KeptPicture(Struct, frozen=True):
    """A picture or a film that became a file.

    Attributes:
        file: Its path: in the workspace of an agent, else in the home (`media/…`, `www/…`).
        entity_id: The camera, where it is one of the home.
    """

    position: int
    at_ms: int
    file: str
    agent_id: str | None = None
    entity_id: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as a client sees it."""
        kind = "video" if (mimetypes.guess_type(self.file)[0] or "").startswith("video/") else "image"
        told = {"at": self.at_ms, "file": self.file, "kind": kind}
        return told | {"agentId": self.agent_id, "entityId": self.entity_id}


class BegunRun(Struct, frozen=True):
    """An agent's run that began: its contexts, and those of what led to it, the nearest last."""

    run_id: str
    context_id: str
    chain: Sequence[str]


class RelatedRecords(Struct):
    """The records related to rows of the history.

    Attributes:
        ends: How automations ended, by their context: type and data of the events.
        begun: Agents' runs, by each of their contexts.
        changes: Changes of devices, by the context that made them or the one above it.
        automations: Automations that ran, by their context.
        errors: Why automations ended as they did, by their context.
        again: Rows of resumed automations: the first of them describes the run.
        callers: Principal and person of calls of services, by their context.
        set_off: Automations that ran, by the context that set them off.
        failed: Models that failed, by the run that fell back.
        pictures: What was kept, by the context that made it or the one above it.
    """

    ends: dict[str, list[tuple[str, Mapping[str, Any]]]] = field(default_factory=dict)
    begun: dict[str, BegunRun] = field(default_factory=dict)
    changes: dict[str, list[Change]] = field(default_factory=dict)
    automations: dict[str, HubEvent] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    callers: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    set_off: dict[str, list[HubEvent]] = field(default_factory=dict)
    failed: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    pictures: dict[str, list[KeptPicture]] = field(default_factory=dict)


_PLACE = re.compile(r"\A[a-z_]+(?:/\w+)+: ")
"""Where in its automation an error came up; the steps show that."""
_EVENTS = "SELECT id, time_ms, type, context_id, parent_id, data FROM events"
_RAN = f"{_EVENTS} WHERE type = 'automation_triggered'"
_SKIPPED = "SELECT id, time_ms, automation_id, reason, data FROM not_run"
_CHANGES = (
    "SELECT id, time_ms, entity_id, before, state, context_id, parent_id, principal, person,"
    " CASE WHEN length(attributes) < 4000 THEN attributes END FROM states"
)


def events(connection: SqlConnection, span: Span) -> list[HubEvent]:
    """Return events that are rows by themselves."""
    rest, values = span.where("id", "time_ms", "noted = 1")
    return [_told(row) for row in connection.execute(_EVENTS + rest, values).fetchall()]


def changes(connection: SqlConnection, span: Span) -> list[Change]:
    """Return changes of devices."""
    rest, values = span.where("id", "time_ms", "noted = 1")
    return [_change(row) for row in connection.execute(_CHANGES + rest, values).fetchall()]


def skipped_triggers(connection: SqlConnection, span: Span) -> list[Skipped]:
    """Return triggers that fired while nothing ran."""
    rest, values = span.where("id", "time_ms")
    found = connection.execute(_SKIPPED + rest, values).fetchall()
    return [Skipped(id, at_ms, of, reason, data_of(data)) for id, at_ms, of, reason, data in found]


def fallen_back(connection: SqlConnection, limit: int) -> list[str]:
    """Return the newest runs in which a model failed."""
    query = """SELECT run_id FROM run_traces WHERE data LIKE '%"failed":[{%' ORDER BY id DESC LIMIT ?"""
    return [run_id for (run_id,) in connection.execute(query, (limit,)).fetchall()]


def turn_of(connection: SqlConnection, run_id: str) -> Mapping[str, Any] | None:
    """Return how the turn at a satellite went that a run answered."""
    found = connection.execute(
        "SELECT data FROM events WHERE type = 'voice_turn' AND replace(data, ?, '') <> data ORDER BY id DESC LIMIT 1",
        (f'"run_id":"{run_id}"',),
    ).fetchone()
    return data_of(found[0]) if found is not None else None


def automation_of(connection: SqlConnection, run_id: str, around: RelatedRecords) -> HubEvent | None:
    """Return the event with which a run of an automation began, and add its related records."""
    found = connection.execute(
        f"{_RAN} AND noted = 1 AND replace(data, ?, '') <> data ORDER BY id LIMIT 1",
        (f'"run_id":"{run_id}"',),
    ).fetchone()
    if found is None:
        return None
    told = _told(found)
    add_automation_records(connection, [told], around)
    add_run_records(connection, (), {each.run_id for each in around.begun.values()}, around)
    return told


def add_automation_records(connection: SqlConnection, rows: Sequence[HubEvent], around: RelatedRecords) -> None:
    """Add the records of automations that ran: how they ended, what set them off, what they did."""
    if not rows:
        return
    own = {row.context_id for row in rows}
    for context_id, type, data in rows_with(
        connection,
        "SELECT context_id, type, data FROM events WHERE context_id IN ({marks})"
        " AND type IN ('automation_finished', 'heartbeat')",
        own,
    ):
        around.ends.setdefault(context_id, []).append((type, data_of(data)))
    ended = {str(data.get("run_id")): id for id, told in around.ends.items() for _, data in told if _is_bad(data)}
    for run_id, stored in rows_with(connection, "SELECT run_id, data FROM traces WHERE run_id IN ({marks})", ended):
        # The trace alone has the error without the secrets of its automation.
        trace = data_of(stored)
        plain = _PLACE.sub("", str(trace.get("error") or ""))
        around.errors[ended[run_id]] = phrase_from_data(plain, trace.get(f"error{PHRASE}"))
    firsts = dict(
        rows_with(
            connection,
            "SELECT context_id, MIN(id) FROM events WHERE context_id IN ({marks}) AND type = 'automation_triggered'"
            " GROUP BY context_id",
            own,
        )
    )
    around.again |= {row.position for row in rows if firsts.get(row.context_id, row.position) != row.position}
    _add_automations(connection, {row.parent_id for row in rows if row.parent_id}, around)
    first, last = min(row.at_ms for row in rows), max(row.at_ms + _lasted(row, around) for row in rows)
    agents = _begun(
        connection.execute(
            "SELECT context_id, data FROM events WHERE type = 'run_started' AND time_ms BETWEEN ? AND ? LIMIT ?",
            (first - 1_000, last + 1_000, BESIDE_LIMIT),
        ).fetchall()
    )
    mine = [each for each in agents if not own.isdisjoint(each.chain)]
    _add_begun(around, mine)
    contexts = own | {each.context_id for each in mine} | {row.parent_id for row in rows if row.parent_id}
    _add_changes(connection, contexts, around)
    _add_pictures(connection, contexts, around)


def add_run_records(
    connection: SqlConnection, contexts: Iterable[str], ids: Iterable[str], around: RelatedRecords
) -> None:
    """Add the records of agents' runs: the automation that led to them, what they did, and models that failed.

    Args:
        contexts: The contexts of their rows: the run's own, or the one above it.
        ids: The runs.
    """
    wanted = {*contexts}
    agents = _begun(
        [
            *rows_with(connection, f"{_BEGUN} AND context_id IN ({{marks}})", wanted),
            *rows_with(connection, f"{_BEGUN} AND parent_id IN ({{marks}})", wanted),
        ]
    )
    _add_begun(around, agents)
    _add_automations(connection, {id for each in agents for id in each.chain}, around)
    _add_changes(connection, {each.context_id for each in agents}, around)
    _add_pictures(connection, {each.context_id for each in agents}, around)
    for run_id, data in rows_with(connection, _FELL_BACK, ids):
        steps = data_of(data).get("steps") or ()
        around.failed[run_id] = [each for step in steps for each in step.get("failed") or ()]


def add_change_causes(connection: SqlConnection, rows: Sequence[Change], around: RelatedRecords) -> None:
    """Add what led to changes of devices, and what they set off."""
    own = {row.context_id for row in rows}
    above = own | {row.parent_id for row in rows if row.parent_id}
    _add_automations(connection, above, around)
    agents = _begun(rows_with(connection, f"{_BEGUN} AND context_id IN ({{marks}})", above))
    _add_begun(around, agents)
    _add_automations(connection, {id for each in agents for id in each.chain}, around)
    _add_changes(connection, {each.parent_id for each in around.automations.values() if each.parent_id}, around)
    for context_id, data in rows_with(
        connection,
        "SELECT context_id, data FROM events WHERE context_id IN ({marks}) AND type = 'service_called'",
        own,
    ):
        called = data_of(data)
        around.callers.setdefault(context_id, (called.get("principal"), called.get("person")))
    for row in rows_with(connection, f"{_RAN} AND parent_id IN ({{marks}})", own):
        told = _told(row)
        around.set_off.setdefault(str(told.parent_id), []).append(told)


def state_spans(connection: SqlConnection, change: Change) -> tuple[int | None, int | None]:
    """Return for how many milliseconds a device had its state before a change, and then the new one.

    Returns:
        None for the former when it is not known since when; for the latter when it has it still.
    """
    place = (change.entity_id, change.position)
    earlier = connection.execute(f"{_NEAR} AND id < ? ORDER BY id DESC LIMIT 1", place).fetchone()
    later = connection.execute(f"{_NEAR} AND id > ? ORDER BY id LIMIT 1", place).fetchone()
    return (
        None if earlier is None or earlier[2] != change.before else change.at_ms - earlier[0],
        None if later is None or later[1] != change.state else later[0] - change.at_ms,
    )


_NEAR = "SELECT time_ms, before, state FROM states WHERE noted = 1 AND entity_id = ?"
_FELL_BACK = """SELECT run_id, data FROM run_traces WHERE run_id IN ({marks}) AND data LIKE '%"failed":[{%'"""
_BEGUN = "SELECT context_id, data FROM events WHERE type = 'run_started'"


def _add_automations(connection: SqlConnection, contexts: Iterable[str], around: RelatedRecords) -> None:
    for row in rows_with(connection, f"{_RAN} AND context_id IN ({{marks}})", contexts):
        told = _told(row)
        around.automations.setdefault(told.context_id, told)


def _add_changes(connection: SqlConnection, contexts: Iterable[str], around: RelatedRecords) -> None:
    wanted = {*contexts}
    known: set[int] = set()
    for column in ("context_id", "parent_id"):
        query = f"{_CHANGES} WHERE noted = 1 AND {column} IN ({{marks}}) ORDER BY id"
        for row in rows_with(connection, query, wanted):
            change = _change(row)
            if change.position not in known:
                known.add(change.position)
                of = change.context_id if column == "context_id" else str(change.parent_id)
                around.changes.setdefault(of, []).append(change)


def _add_pictures(connection: SqlConnection, contexts: Iterable[str], around: RelatedRecords) -> None:
    wanted = {*contexts}
    for column in ("context_id", "parent_id"):
        for row in rows_with(
            connection, f"{_EVENTS} WHERE type = 'picture_kept' AND {column} IN ({{marks}}) ORDER BY id", wanted
        ):
            told = _told(row)
            made = KeptPicture(
                told.position,
                told.at_ms,
                str(told.data.get("file")),
                told.data.get("agent_id"),
                told.data.get("entity_id"),
            )
            known = around.pictures.setdefault(str(told.context_id if column == "context_id" else told.parent_id), [])
            if made not in known:
                known.append(made)


def _add_begun(around: RelatedRecords, runs: Iterable[BegunRun]) -> None:
    for each in runs:
        for context_id in (each.context_id, *each.chain[-1:]):
            around.begun.setdefault(context_id, each)


def _begun(rows: Iterable[Sequence[Any]]) -> list[BegunRun]:
    found = [(context_id, data_of(data)) for context_id, data in rows]
    return [BegunRun(str(data.get("run_id")), context_id, data.get("chain") or ()) for context_id, data in found]


def _is_bad(data: Mapping[str, Any]) -> bool:
    return data.get("outcome") not in (None, "finished")


def _lasted(row: HubEvent, around: RelatedRecords) -> int:
    ends = [data.get("duration_ms") for type, data in around.ends.get(row.context_id, ()) if type != "heartbeat"]
    return max((each for each in ends if isinstance(each, int)), default=0)


def _told(row: Sequence[Any]) -> HubEvent:
    position, at_ms, type, context_id, parent_id, stored = row
    data = data_of(stored)
    return HubEvent(position, at_ms, type, context_id, parent_id, data | (data.get("told") or {}))


def _change(row: Sequence[Any]) -> Change:
    position, at_ms, entity_id, before, state, context_id, parent_id, principal, person, attributes = row
    shown = data_of(attributes)
    name = str(shown.get("friendly_name") or entity_id.partition(".")[2].replace("_", " ").capitalize())
    who = (context_id, parent_id, principal, person)
    return Change(position, at_ms, entity_id, before, state, *who, name, shown.get("device_class"), shown)
