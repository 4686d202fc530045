"""Limits on how often an automation may run, and on what its runs may cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.automation.contract import NotRun, RunSpending
from hub.automation.definition.phrases import span
from hub.core.clock import Clock
from hub.core.phrases import phrase


class LimitRefusal(Struct, frozen=True):
    """Why a run may not begin now.

    Attributes:
        budget: cost_usd or tokens, when one of them is used up, with what was spent of how much.
        is_new: Whether this is the first refusal for this reason.
    """

    reason: NotRun
    text: str
    budget: str | None = None
    spent: float = 0.0
    limit: float = 0.0
    is_new: bool = False


class AutomationLimits:
    """The `rate_limit` and the `budget` of one automation.

    Args:
        config: The automation, validated.
        spending: The recorded spending; without it a budget cannot be watched, and then nothing may be spent.
    """

    __slots__ = ("_budget", "_clock", "_id", "_is_over", "_rate", "_runs", "_spending")

    def __init__(
        self, config: Mapping[str, Any], clock: Clock, spending: RunSpending | None, automation_id: str
    ) -> None:
        self._rate: Mapping[str, Any] | None = config.get("rate_limit")
        self._budget: Mapping[str, Any] | None = config.get("budget")
        self._clock = clock
        self._spending = spending
        self._id = automation_id
        self._is_over = False
        self._runs: deque[float] | None = deque(maxlen=self._rate["runs"]) if self._rate else None

    def refusal(self) -> LimitRefusal | None:
        """Return why a run may not begin now, or None when it may."""
        if self._runs is not None and self._rate is not None and len(self._runs) == self._runs.maxlen:
            oldest = self._runs[0]
            if self._clock.monotonic() - oldest < self._rate["per"]:
                text = phrase(
                    "it already ran {count} times within {span}", count=len(self._runs), span=span(self._rate["per"])
                )
                return LimitRefusal(NotRun.RATE_LIMIT, text)
        if self._budget is None:
            return None
        refusal = self._over_budget(self._budget, is_new=not self._is_over)
        self._is_over = refusal is not None
        return refusal

    def count(self) -> None:
        """Count a run that begins."""
        if self._runs is not None:
            self._runs.append(self._clock.monotonic())

    def _over_budget(self, budget: Mapping[str, Any], *, is_new: bool) -> LimitRefusal | None:
        if self._spending is None:
            return LimitRefusal(NotRun.BUDGET, phrase("its spending is not counted"))
        since = self._clock.time() - budget["per"]
        cost, tokens = budget.get("cost_usd"), budget.get("tokens")
        if cost is not None:
            spent = self._spending.cost_usd(since=since, automation=self._id)
            if spent >= cost:
                text = phrase("it spent {spent} of {limit} dollars", spent=f"{spent:.4f}", limit=f"{cost:g}")
                return LimitRefusal(NotRun.BUDGET, text, "cost_usd", spent, cost, is_new)
        if tokens is not None:
            used = self._spending.tokens(since=since, automation=self._id)
            if used >= tokens:
                text = phrase("it used {count} of {limit} tokens", count=used, limit=tokens)
                return LimitRefusal(NotRun.BUDGET, text, "tokens", used, tokens, is_new)
        return None
