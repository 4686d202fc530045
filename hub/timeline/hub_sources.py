"""Happenings in the hub database: runs with their messages, commands and refused messages, approvals.

Every function runs in a thread of the database, reads a bounded number of rows, and gets a position to continue from.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.core.sql import SqlConnection
from hub.tools.approval import restored_texts, visible_line

_TEXT = re.compile(r'"text":"((?:[^"\\]|\\.)*)')
_CHAT_TYPE = re.compile(r'"chat_type":"(\w+)"')
_SENDER = re.compile(r'"sender_name":"((?:[^"\\]|\\.)*)"')


class Span(Struct, frozen=True):
    """Selects rows of a source, newest first.

    Attributes:
        before: Only those with a smaller position.
        since_ms, until_ms: Only those that began in this time; the end is excluded.
        columns: Columns and the values they must have.
        ids: Only these; None for any.
        positions: Only those at one of these; None for any.
    """

    before: int | None
    limit: int
    since_ms: int | None = None
    until_ms: int | None = None
    columns: Mapping[str, Any] = {}
    ids: Sequence[str] | None = None
    positions: Sequence[int] | None = None

    def where(self, position: str, time: str, *conditions: str) -> tuple[str, list[Any]]:
        """Return conditions, order and limit of a statement, and their values."""
        bounds = ((f"{position} < ?", self.before), (f"{time} >= ?", self.since_ms), (f"{time} < ?", self.until_ms))
        chosen = [(text, value) for text, value in bounds if value is not None]
        chosen += [(f"{column} = ?", value) for column, value in self.columns.items()]
        texts = [*conditions, *(text for text, _ in chosen)]
        if self.ids is not None:
            texts.append(f"id IN ({_marks(self.ids) or 'NULL'})")
        if self.positions is not None:
            texts.append(f"{position} IN ({_marks(self.positions) or 'NULL'})")
        where = f"WHERE {' AND '.join(texts)} " if texts else ""
        values = [*(value for _, value in chosen), *(self.ids or ()), *(self.positions or ()), self.limit]
        return f" {where}ORDER BY {position} DESC LIMIT ?", values


class ReceivedMessage(Struct, frozen=True):
    """A message of the inbox: its text, channel and sender."""

    channel: str
    text: str
    person: str | None = None
    sender_name: str | None = None
    reason: str | None = None


class FoundRun(Struct, frozen=True):
    """A row of a run, its times in milliseconds since the epoch, and the message it answers."""

    position: int
    id: str
    agent_id: str
    session_key: str
    kind: str
    state: str
    authority: Mapping[str, Any]
    context_id: str | None
    created_ms: int
    started_ms: int | None
    ended_ms: int | None
    model: str | None
    usage: Mapping[str, Any]
    error: Mapping[str, Any] | None
    session_id: str | None = None
    said: ReceivedMessage | None = None
    task: str | None = None

    def without_words(self) -> FoundRun:
        """Return the same without what was said."""
        return replace(self, said=None if self.said is None else replace(self.said, text=""), task=None)


class FoundMessage(Struct, frozen=True):
    """A message that no run answers: a command, or one that was refused."""

    position: int
    id: str
    at_ms: int
    state: str
    said: ReceivedMessage
    session_key: str | None
    authority: Mapping[str, Any]
    is_direct: bool


class FoundApproval(Struct, frozen=True):
    """A row of an approval or a question."""

    position: int
    id: str
    kind: str
    title: str
    text: str
    details: Mapping[str, Any]
    authority: Mapping[str, Any]
    session_key: str | None
    run_id: str | None
    state: str
    created_ms: int
    decided_ms: int | None
    decided_by: str | None
    reason: str


BESIDE_LIMIT = 2_000
"""Rows of one kind that are read beside one page."""
_RUNS = (
    "SELECT position, id, agent_id, session_key, kind, state, authority, context_id, created_ms, started_ms, ended_ms,"
    " model, usage, error, session_id FROM runs"
)
_APPROVALS = (
    "SELECT position, id, kind, title, text, details, requested_by, session_key, run_id, state, created_ms, decided_ms,"
    " decided_by, reason, phrases FROM approvals"
)
# Only the beginning of a stored message is read: its text comes before its images.
_MESSAGES = (
    "SELECT position, id, received_ms, state, session_key, principal, channel, person, reason,"
    " substr(message, 1, 8000) FROM inbox"
)
_ANSWERED = (
    "SELECT run_id, channel, person, reason, substr(message, 1, 8000) FROM inbox WHERE run_id IN ({marks})"
    " ORDER BY position"
)


def runs(connection: SqlConnection, span: Span) -> list[FoundRun]:
    """Return runs; those whose message another run answered are left out."""
    rest, values = span.where("position", "created_ms", "(started_ms IS NOT NULL OR state != 'answered')")
    return _with_words(connection, connection.execute(_RUNS + rest, values).fetchall())


def runs_of(connection: SqlConnection, ids: Iterable[str]) -> dict[str, FoundRun]:
    """Return runs by their ids."""
    found = rows_with(connection, f"{_RUNS} WHERE id IN ({{marks}})", ids)
    return {run.id: run for run in _with_words(connection, found)}


def message_of(connection: SqlConnection, id: str) -> FoundMessage | None:
    """Return a command or a refused message by its id."""
    found = messages(connection, Span(None, 1, columns={"id": id}))
    return found[0] if found else None


def approval_of(connection: SqlConnection, id: str) -> FoundApproval | None:
    """Return an approval or a question by its id."""
    found = approvals(connection, Span(None, 1, columns={"id": id}))
    return found[0] if found else None


def messages(connection: SqlConnection, span: Span) -> list[FoundMessage]:
    """Return commands, and messages that were refused."""
    rest, values = span.where("position", "received_ms", "(state = 'command' OR state = 'rejected')")
    found = []
    for position, id, at_ms, state, key, principal, channel, person, reason, message in connection.execute(
        _MESSAGES + rest, values
    ).fetchall():
        said = ReceivedMessage(channel, _text(_TEXT, message), person, _text(_SENDER, message) or None, reason)
        chat = _CHAT_TYPE.search(message or "")
        is_direct = chat is None or chat[1] == "direct"
        found.append(FoundMessage(position, id, at_ms, state, said, key, data_of(principal), is_direct))
    return found


def approvals(connection: SqlConnection, span: Span) -> list[FoundApproval]:
    """Return approvals and questions."""
    rest, values = span.where("position", "created_ms")
    found = []
    for position, id, kind, title, text, details, by, *others, phrases in connection.execute(
        _APPROVALS + rest, values
    ).fetchall():
        row = FoundApproval(position, id, kind, title, text, data_of(details), data_of(by), *others)
        found.append(replace(row, **restored_texts(phrases, text=row.text, reason=row.reason)))
    return found


def approvals_by_run(connection: SqlConnection, run_ids: Sequence[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Return id, title and state of the approvals that runs asked for, by run."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    query = "SELECT id, kind, title, details, run_id, state FROM approvals WHERE run_id IN ({marks}) ORDER BY position"
    for id, kind, title, details, run_id, state in rows_with(connection, query, run_ids):
        found.setdefault(run_id, []).append((id, approval_subject(kind, title, data_of(details)), state))
    return found


def approval_subject(kind: str, title: str, details: Mapping[str, Any]) -> str:
    """Return in one line the subject of an approval: the command, or the tool or service by its name."""
    arguments = details.get("arguments")
    found = {**details, **(arguments if isinstance(arguments, Mapping) else {})}
    command: Any = found.get("argv") or found.get("shell") or found.get("command")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    if isinstance(command, str) and command.strip():
        return visible_line(command)[:200]
    return visible_line(str(details.get("question") or title))[:200] or kind


def rows_with(connection: SqlConnection, query: str, values: Iterable[str]) -> list[Any]:
    """Return the rows of a query with `{marks}` in place of the values; empty without values."""
    wanted = sorted(set(values))
    if not wanted:
        return []
    return connection.execute(f"{query.replace('{marks}', _marks(wanted))} LIMIT {BESIDE_LIMIT}", wanted).fetchall()


def data_of(stored: str | None) -> dict[str, Any]:
    """Return stored JSON; nothing when it is not a mapping."""
    try:
        found = orjson.loads(stored or "null")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _with_words(connection: SqlConnection, rows: Sequence[Sequence[Any]]) -> list[FoundRun]:
    said: dict[str, ReceivedMessage] = {}
    for run_id, channel, person, reason, message in rows_with(connection, _ANSWERED, [row[1] for row in rows]):
        words = ReceivedMessage(channel, _text(_TEXT, message), person, _text(_SENDER, message) or None, reason)
        said.setdefault(run_id, words)
    keys = [row[3] for row in rows if ":subagent:" in row[3]]
    tasks = dict(rows_with(connection, "SELECT session_key, task FROM subagents WHERE session_key IN ({marks})", keys))
    return [_run(row, said.get(row[1]), tasks.get(row[3])) for row in rows]


def _run(row: Sequence[Any], said: ReceivedMessage | None, task: str | None) -> FoundRun:
    position, id, agent_id, key, kind, state, authority, context_id, created, started, ended, *rest = row
    model, usage, error, session_id = rest
    named, times = (position, id, agent_id, key, kind, state), (created, started, ended)
    told = data_of(error) or None
    return FoundRun(*named, data_of(authority), context_id, *times, model, data_of(usage), told, session_id, said, task)


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def _text(pattern: re.Pattern[str], message: str | None) -> str:
    found = pattern.search(message or "")
    if found is None:
        return ""
    try:
        return str(orjson.loads(f'"{found[1]}"'))
    except ValueError:  # it was cut within an escape
        return str(orjson.loads(f'"{found[1][: found[1].rfind(chr(92))]}"'))
