"""The retention of history, and the deletion of expired and excess rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.core.sql import SqlConnection
from hub.storage.schema import EVENTS_S, STATES_S, TRACES_S, USAGE_S

PURGE_ROWS = 5_000
ROW_LIMITS: Mapping[str, int] = {
    "events": 1_000_000,
    "states": 2_000_000,
    "usage": 2_000_000,
    "traces": 50_000,
    "not_run": 100_000,
    "run_traces": 50_000,
    "run_pieces": 10_000,
}


class Retention(Struct, frozen=True):
    """The retention of each class, in seconds."""

    events_s: float = EVENTS_S
    states_s: float = STATES_S
    usage_s: float = USAGE_S
    traces_s: float = TRACES_S

    @classmethod
    def from_config(cls, section: Mapping[str, Any] | None) -> Retention:
        """Make it from a `hub: history:` section that passed `HISTORY_SCHEMA`."""
        found = section or {}
        return cls(
            found.get("events", EVENTS_S),
            found.get("states", STATES_S),
            found.get("usage", USAGE_S),
            found.get("traces", TRACES_S),
        )

    def kept_s(self) -> dict[str, float]:
        """Return the seconds by table."""
        return {
            "events": self.events_s,
            "states": self.states_s,
            "usage": self.usage_s,
            "traces": self.traces_s,
            "not_run": self.traces_s,
            "run_traces": self.traces_s,
            "run_pieces": self.traces_s,
        }


def purge(connection: SqlConnection, retention: Retention, now: float) -> bool:
    """Delete expired and excess rows, a bounded number; return whether there may be more."""
    more = False
    for table, kept_s in retention.kept_s().items():
        oldest_ms = int((now - kept_s) * 1000)
        last_id = connection.execute(f"SELECT COALESCE(MAX(id), 0) FROM {table}").fetchone()[0]  # noqa: S608
        for condition, bound in (("time_ms < ?", oldest_ms), ("id <= ?", last_id - ROW_LIMITS[table])):
            deleted = connection.execute(
                f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {condition} LIMIT {PURGE_ROWS})",  # noqa: S608
                (bound,),
            ).rowcount
            more = more or deleted >= PURGE_ROWS
    return more
