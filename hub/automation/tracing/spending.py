"""Recent spending by agent and by automation, kept in memory so that conditions can ask at every trigger.

It listens to runs that end, and remembers the last days from the history database.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from hub.agent.tidy.judge import EVENT_MEMORY_JUDGED
from hub.automation.services.judge import EVENT_JUDGED
from hub.core.context import Context
from hub.core.events import Event, EventBus
from hub.storage.history import HistoryStore

KEPT_S = 31 * 86_400.0
LOADED_S = 31 * 86_400.0
LOADED_CALLS = 50_000
PIECE_S = 60.0
"""What is spent within a minute is one entry, at the time of its last part."""
SERIES_LIMIT = 20_000
OWNERS_LIMIT = 20_000
EVENT_SPENT = "automation_spent"
"""Recorded in history: which automation a run's costs count for. It is not fired on the bus."""
_TRIGGERED = "automation_triggered"

Key = tuple[str | None, str | None]


class SpendingLog:
    """Tracks spending; a `hub.automation.contract.Spending`.

    Args:
        bus: Listened to between `open` and `close`.
        history: Read at `open`, and given the automation that costs count for; None counts only from now on.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, bus: EventBus, history: HistoryStore | None, wall_time: Callable[[], float]) -> None:
        self._bus = bus
        self._history = history
        self._wall_time = wall_time
        self._series: OrderedDict[Key, _Series] = OrderedDict()
        self._owners: OrderedDict[str, str] = OrderedDict()
        self._unlisten: list[Callable[[], None]] = []
        self._opened_at = 0.0

    async def open(self) -> None:
        """Listen from now on, and load the spending of the last days, at once or when the history is open."""
        self._opened_at = self._wall_time()
        if self._history is not None:
            await self._history.when_open(partial(self._load, self._history))
        self._unlisten = [
            self._bus.listen(_TRIGGERED, self._triggered),
            self._bus.listen("run_finished", self._finished),
            self._bus.listen(EVENT_JUDGED, self._finished),
            self._bus.listen(EVENT_MEMORY_JUDGED, self._finished),
        ]

    def close(self) -> None:
        """Stop listening."""
        for unlisten in self._unlisten:
            unlisten()
        self._unlisten = []

    def cost_usd(self, *, since: float, agent: str | None = None, automation: str | None = None) -> float:
        """Return the dollars spent since a time (seconds since the epoch), by an agent or an automation's runs."""
        series = self._series.get((agent, automation))
        return series.cost_since(since) if series is not None else 0.0

    def tokens(self, *, since: float, agent: str | None = None, automation: str | None = None) -> int:
        """Return the tokens used since a time."""
        series = self._series.get((agent, automation))
        return series.tokens_since(since) if series is not None else 0

    def automation_of(self, context: Context, session_key: str | None = None) -> str | None:
        """Return the automation that caused an event, or None if none did."""
        for id in (context.id, context.parent_id, *reversed(context.chain)):
            if id is not None and (owner := self._owners.get(id)) is not None:
                return owner
        parts = (session_key or "").split(":")
        return ":".join(parts[3:]) or None if parts[:1] == ["agent"] and parts[2:3] == ["cron"] else None

    # --- inside ---

    def _triggered(self, event: Event) -> None:
        self._own(event.context.id, str(event.data["automation_id"]))

    def _own(self, context_id: str, automation_id: str) -> None:
        self._owners[context_id] = automation_id
        if len(self._owners) > OWNERS_LIMIT:
            self._owners.popitem(last=False)

    def _finished(self, event: Event) -> None:
        data: Mapping[str, Any] = event.data
        usage: Mapping[str, Any] = data.get("usage") or {}
        tokens, cost = int(usage.get("total_tokens") or 0), float(usage.get("cost_usd") or 0.0)
        if not tokens and not cost:
            return
        agent = str(data["agent_id"])
        automation = data.get("automation_id") or self.automation_of(event.context, data.get("session_key"))
        now = self._wall_time()
        self._note(now, agent, automation, cost, tokens)
        if automation is not None and self._history is not None and data.get("run_id"):
            told = {"run_id": data["run_id"], "automation_id": automation, "agent_id": agent}
            self._history.record_event(EVENT_SPENT, told, event.context.id, now)

    def _note(self, when: float, agent: str, automation: str | None, cost: float, tokens: int) -> None:
        keys: set[Key] = {(None, None), (agent, None)}
        if automation is not None:
            keys |= {(None, automation), (agent, automation)}
        for key in keys:
            self._add(key, when, cost, tokens)

    def _add(self, key: Key, when: float, cost: float, tokens: int) -> None:
        series = self._series.pop(key, None) or _Series()
        self._series[key] = series
        series.add(when, cost, tokens)
        while len(self._series) > SERIES_LIMIT:
            self._series.popitem(last=False)

    async def _load(self, history: HistoryStore) -> None:
        since = self._wall_time() - LOADED_S
        calls = await history.usage_since(since, LOADED_CALLS)
        owners: dict[str, str] = {}
        for event in await history.recent_events(LOADED_CALLS, [EVENT_SPENT]):
            data = event["data"]
            if isinstance(data, dict) and "run_id" in data and "automation_id" in data:
                owners.setdefault(str(data["run_id"]), str(data["automation_id"]))
        triggered = await history.recent_events(LOADED_CALLS, [_TRIGGERED])
        since_opened, self._series = self._series, OrderedDict()
        for call in reversed(calls):
            if call["time"] <= self._opened_at:
                automation = owners.get(call["run_id"]) if call["run_id"] else None
                self._note(call["time"], call["agent_id"], automation, call["cost_usd"] or 0.0, call["tokens"] or 0)
        for key, series in since_opened.items():
            for when, cost, tokens in series.pieces():
                self._add(key, when, cost, tokens)
        for event in reversed(triggered):
            if event["context_id"] and "automation_id" in event["data"]:
                self._own(event["context_id"], str(event["data"]["automation_id"]))


class _Series:
    """Sums over time in minute buckets, each cumulative to its end."""

    __slots__ = ("_costs", "_starts", "_times", "_tokens")

    def __init__(self) -> None:
        self._times: list[float] = []
        self._starts: list[float] = []
        self._costs: list[float] = [0.0]
        self._tokens: list[int] = [0]

    def add(self, when: float, cost: float, tokens: int) -> None:
        if self._times and when < self._starts[-1] + PIECE_S:
            # Also when the clock went back: what was spent counts as spent in the latest piece.
            self._times[-1] = max(self._times[-1], when)
            self._costs[-1] += cost
            self._tokens[-1] += tokens
            return
        self._times.append(when)
        self._starts.append(when)
        self._costs.append(self._costs[-1] + cost)
        self._tokens.append(self._tokens[-1] + tokens)
        if self._times[0] < when - KEPT_S - 86_400.0:
            self._forget(bisect_left(self._times, when - KEPT_S))

    def pieces(self) -> Iterator[tuple[float, float, int]]:
        for at, when in enumerate(self._times):
            yield when, self._costs[at + 1] - self._costs[at], self._tokens[at + 1] - self._tokens[at]

    def cost_since(self, since: float) -> float:
        return max(0.0, self._costs[-1] - self._costs[bisect_left(self._times, since)])

    def tokens_since(self, since: float) -> int:
        return self._tokens[-1] - self._tokens[bisect_left(self._times, since)]

    def _forget(self, count: int) -> None:
        del self._times[:count], self._starts[:count], self._costs[:count], self._tokens[:count]
