"""Rows of traces, of runs and of firings without a run. For each automation and outcome the newest are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import orjson
from msgspec import Struct

from hub.core.sql import SqlConnection

TRACE_BYTES_LIMIT = 65_536
"""A longer trace is cut by whoever writes it; one that is longer still is not kept."""

_INSERT_TRACE = (
    "INSERT INTO traces(time_ms, run_id, automation_id, outcome, imported, data) VALUES(?, ?, ?, ?, ?, ?) "
    "ON CONFLICT(run_id) DO UPDATE SET outcome = excluded.outcome, data = excluded.data"
)
_INSERT_NOT_RUN = "INSERT INTO not_run(time_ms, automation_id, reason, data) VALUES(?, ?, ?, ?)"
_PRUNE_TRACES = (
    "DELETE FROM traces WHERE automation_id = ? AND outcome = ? AND imported = ? AND id <= (SELECT id FROM traces "
    "WHERE automation_id = ? AND outcome = ? AND imported = ? ORDER BY id DESC LIMIT 1 OFFSET ?)"
)
_PRUNE_NOT_RUN = (
    "DELETE FROM not_run WHERE automation_id = ? AND reason = ? AND id <= (SELECT id FROM not_run "
    "WHERE automation_id = ? AND reason = ? ORDER BY id DESC LIMIT 1 OFFSET ?)"
)


class TraceRow(Struct, frozen=True):
    """One trace to be written.

    Attributes:
        outcome: How the run ended; each has its own bucket.
        kept: How many the bucket keeps.
        imported: Whether it came from a file; those have separate buckets.
        data: JSON, or what makes it in the thread that writes.
    """

    time_ms: int
    run_id: str
    automation_id: str
    outcome: str
    kept: int
    imported: bool
    data: bytes | Callable[[], bytes]


class NotRunRow(Struct, frozen=True):
    """One firing that started no run; `reason` names its bucket, which holds `kept`."""

    time_ms: int
    automation_id: str
    reason: str
    kept: int
    data: bytes


Row = TraceRow | NotRunRow
MADE_LATER_BYTES = 16_384
"""What a trace that is still to be made counts for."""


def size_of(row: Row) -> int:
    """Return the bytes that a pending row accounts for."""
    return len(row.data) if isinstance(row.data, bytes) else MADE_LATER_BYTES


def write_rows(connection: SqlConnection, rows: Iterable[Row], redact: Callable[[str], str] | None) -> None:
    """Write rows, and delete the oldest of buckets that hold more than they keep."""
    traces: dict[tuple[str, str, bool], int] = {}
    not_run: dict[tuple[str, str], int] = {}
    for row in rows:
        text = _clean(row.data if isinstance(row.data, bytes) else row.data(), redact)
        if isinstance(row, TraceRow):
            connection.execute(
                _INSERT_TRACE, (row.time_ms, row.run_id, row.automation_id, row.outcome, row.imported, text)
            )
            traces[row.automation_id, row.outcome, row.imported] = row.kept
        else:
            connection.execute(_INSERT_NOT_RUN, (row.time_ms, row.automation_id, row.reason, text))
            not_run[row.automation_id, row.reason] = row.kept
    for bucket, kept in traces.items():
        connection.execute(_PRUNE_TRACES, (*bucket, *bucket, kept))
    for place, kept in not_run.items():
        connection.execute(_PRUNE_NOT_RUN, (*place, *place, kept))


def _clean(data: bytes, redact: Callable[[str], str] | None) -> str:
    """Return JSON without secrets; if redaction breaks it, only a note that it existed."""
    text = data.decode()
    clean = text if redact is None else redact(text)
    if clean is text:
        return text
    try:
        orjson.loads(clean)
    except ValueError:
        return orjson.dumps({"redacted": True}).decode()
    return clean
