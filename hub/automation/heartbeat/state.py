"""The stored state of an agent's heartbeats: when each check was made, what was reported, and today's cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.automation.heartbeat.file import CHECKS_LIMIT
from hub.core.sql import SqlConnection, upsert

ALERTS_KEPT = 50
SAME_ALERT_S = 86_400.0
"""The same words are not told again for so long."""
TEXT_KEPT = 1_000
_PREFIX = "heartbeat:"


class HeartbeatState(Struct, frozen=True):
    """Times in seconds since the epoch.

    Attributes:
        looked: When each check was looked at last, by its id.
        alerts: When each alert was sent last, by the digest of its words.
        signature: The state of the home when there was nothing to report; None when there was.
        last: When it beat last.
        result: ok, alert, duplicate, skipped, failed; None before the first.
        text: The last message sent.
        told: When that was.
        day: The day that the totals count.
    """

    looked: Mapping[str, float] = field(default_factory=dict)
    alerts: Mapping[str, float] = field(default_factory=dict)
    signature: str | None = None
    last: float | None = None
    result: str | None = None
    text: str = ""
    told: float | None = None
    day: str = ""
    cost_usd: float = 0.0
    tokens: int = 0
    beats: int = 0

    def is_duplicate(self, text: str, now: float) -> bool:
        """Whether the same text was reported within a day."""
        told = self.alerts.get(digest(text))
        return told is not None and 0 <= now - told < SAME_ALERT_S

    def with_report(self, text: str, now: float) -> HeartbeatState:
        """Return the state with a text reported now."""
        alerts = {key: when for key, when in self.alerts.items() if 0 <= now - when < SAME_ALERT_S}
        alerts[digest(text)] = now
        newest = sorted(alerts, key=lambda key: alerts[key])[-ALERTS_KEPT:]
        return replace(self, alerts={key: alerts[key] for key in newest}, text=text[:TEXT_KEPT], told=now)

    def with_checks(self, ids: Mapping[str, float], known: frozenset[str]) -> HeartbeatState:
        """Return the state with checks made now; checks that are no longer in the file are dropped."""
        looked = {id: when for id, when in {**self.looked, **ids}.items() if id in known}
        return replace(self, looked=dict(list(looked.items())[:CHECKS_LIMIT]))

    def spent(self, day: str, cost_usd: float, tokens: int) -> HeartbeatState:
        """Return the state with the cost of a heartbeat added; each day starts at zero."""
        same = self if self.day == day else replace(self, day=day, cost_usd=0.0, tokens=0, beats=0)
        return replace(same, cost_usd=same.cost_usd + cost_usd, tokens=same.tokens + tokens, beats=same.beats + 1)


def digest(text: str) -> str:
    """Return the digest of an alert, ignoring case and spacing."""
    return sha256(" ".join(text.casefold().split()).encode("utf-8", "replace")).hexdigest()[:16]


def load(connection: SqlConnection, agent_id: str) -> HeartbeatState:
    """Load the state of an agent; empty if it cannot be read."""
    row = connection.execute("SELECT result FROM service_results WHERE key = ?", (_PREFIX + agent_id,)).fetchone()
    try:
        stored = json.loads(row[0]) if row is not None else {}
        return HeartbeatState(**stored) if isinstance(stored, dict) else HeartbeatState()
    except (ValueError, TypeError):
        return HeartbeatState()


def store(connection: SqlConnection, agent_id: str, state: HeartbeatState, now_ms: int) -> None:
    """Store the state, in the caller's transaction."""
    stored: dict[str, Any] = {name: getattr(state, name) for name in HeartbeatState.__struct_fields__}
    connection.execute(
        upsert("service_results", "key, result, created_ms"),
        (_PREFIX + agent_id, json.dumps(stored), now_ms),
    )
