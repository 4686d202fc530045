"""Sums of recorded usage by day, agent, model, session, channel or automation. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from hub.sessions.keys import SessionKey, SessionKind

COUNTS = ("calls", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
NOTHING = "-"
"""The name of what belongs to no session or model."""

Row = Mapping[str, Any]


def sum_usage(rows: Iterable[Row], by: str) -> list[dict[str, Any]]:
    """Return sums of rows of `HistoryStore.usage_by_day`.

    Args:
        rows: For sums by session, channel or automation they have a `session_key`.
        by: A key of `GROUPINGS`.

    Returns:
        Mappings with `by` (the name), `COUNTS`, `tokens` (of all kinds) and `cost_usd` (None when no price is known);
        days are sorted with the latest first, all else with the most expensive first, then the most used.
    """
    sums: dict[str, dict[str, Any]] = {}
    for row in rows:
        name = GROUPINGS[by](row) or NOTHING
        found = sums.setdefault(name, {by: name, **dict.fromkeys((*COUNTS, "tokens"), 0), "cost_usd": None})
        for count in COUNTS:
            found[count] += row[count]
        found["tokens"] += tokens_of(row)
        if row["cost_usd"] is not None:
            found["cost_usd"] = (found["cost_usd"] or 0.0) + row["cost_usd"]
    if by == "day":
        return sorted(sums.values(), key=lambda each: str(each["day"]), reverse=True)
    return sorted(sums.values(), key=lambda each: (-(each["cost_usd"] or 0.0), -each["tokens"], each[by]))


def total_of(sums: Iterable[Row]) -> dict[str, Any]:
    """Return the grand total."""
    every = list(sums)
    prices = [each["cost_usd"] for each in every if each["cost_usd"] is not None]
    counts = {name: sum(each[name] for each in every) for name in (*COUNTS, "tokens")}
    return {**counts, "cost_usd": sum(prices) if prices else None}


def tokens_of(row: Row) -> int:
    """Return all tokens of a row."""
    return int(row["input_tokens"] + row["output_tokens"] + row["cache_read_tokens"] + row["cache_write_tokens"])


def _key(row: Row) -> SessionKey | None:
    try:
        return SessionKey.parse(row["session_key"] or "")
    except InvalidRequest:
        return None


def _channel(row: Row) -> str | None:
    """Return the channel of a session; if its key has none, the kind of session."""
    key = _key(row)
    return None if key is None else key.channel or key.kind.value


def _automation(row: Row) -> str | None:
    """Return the automation whose run it was, whichever of its runs at the time."""
    key = _key(row)
    return (key.id or "").partition("#")[0] if key is not None and key.kind is SessionKind.CRON else None


OF_SESSIONS = frozenset({"session", "channel", "automation"})
"""Groupings that need a row's session."""
GROUPINGS: Mapping[str, Callable[[Row], str | None]] = {
    "model": lambda row: row["model"],
    "agent": lambda row: row["agent_id"],
    "session": lambda row: row["session_key"],
    "day": lambda row: row["day"],
    "channel": _channel,
    "automation": _automation,
}
