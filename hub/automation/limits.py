"""How often an automation may run, and what its runs may cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import NotRun, Spending
from hub.core.clock import Clock


class Limits:
    """The `rate_limit` and the `budget` of one automation.

    Args:
        config: The automation, validated.
        spending: What was spent; without it a budget cannot be watched, and then nothing may be spent.
    """

    __slots__ = ("_budget", "_clock", "_id", "_rate", "_runs", "_spending")

    def __init__(self, config: Mapping[str, Any], clock: Clock, spending: Spending | None, automation_id: str) -> None:
        self._rate: Mapping[str, Any] | None = config.get("rate_limit")
        self._budget: Mapping[str, Any] | None = config.get("budget")
        self._clock = clock
        self._spending = spending
        self._id = automation_id
        self._runs: deque[float] | None = deque(maxlen=self._rate["runs"]) if self._rate else None

    def refusal(self) -> tuple[NotRun, str] | None:
        """Return why a run may not begin now, or None when it may."""
        if self._runs is not None and self._rate is not None and len(self._runs) == self._runs.maxlen:
            oldest = self._runs[0]
            if self._clock.monotonic() - oldest < self._rate["per"]:
                return NotRun.RATE_LIMIT, f"it ran {len(self._runs)} times within {self._rate['per']:g} s already"
        return self._over_budget() if self._budget is not None else None

    def count(self) -> None:
        """A run begins."""
        if self._runs is not None:
            self._runs.append(self._clock.monotonic())

    def _over_budget(self) -> tuple[NotRun, str] | None:
        budget = self._budget or {}
        if self._spending is None:
            return NotRun.BUDGET, "nobody counts what it spends"
        since = self._clock.time() - budget["per"]
        cost, tokens = budget.get("cost_usd"), budget.get("tokens")
        if cost is not None:
            spent = self._spending.cost_usd(since=since, automation=self._id)
            if spent >= cost:
                return NotRun.BUDGET, f"it spent {spent:.4f} of {cost:g} dollars"
        if tokens is not None:
            used = self._spending.tokens(since=since, automation=self._id)
            if used >= tokens:
                return NotRun.BUDGET, f"it used {used} of {tokens} tokens"
        return None
