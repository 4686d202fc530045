"""`usage.status|cost`, `models.authStatus`: what models cost day by day, and whether their providers have keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime as Datetime, timedelta, tzinfo
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import All, Length, Optional, Range, Schema, integer, string
from hub.gateway.calls.contract import READ, Method, MethodCall
from hub.gateway.methods.models import DAYS_LIMIT, Used
from hub.models.registry import ModelRegistry

OWNER = "gateway"
DAYS = 30
_COUNTS = {"input_tokens": "input", "output_tokens": "output"} | {
    "cache_read_tokens": "cacheRead",
    "cache_write_tokens": "cacheWrite",
}
_DAY = All(string, Length(min=10, max=10))
COST = Schema(
    {
        Optional("days"): All(integer, Range(min=1, max=DAYS_LIMIT)),
        Optional("startDate"): _DAY,
        Optional("endDate"): _DAY,
        Optional("agentId"): All(string, Length(min=1, max=64)),
    }
)


class UsageMethods:
    """The methods.

    Args:
        models: Their providers.
        used: Returns what was used.
        wall_time: Seconds since the epoch.
        zone: The time zone of the days.
    """

    def __init__(
        self, models: ModelRegistry, used: Used, wall_time: Callable[[], float], zone: Callable[[], tzinfo]
    ) -> None:
        self._models = models
        self._used = used
        self._wall_time = wall_time
        self._zone = zone

    def methods(self) -> list[Method]:
        """Return the methods."""
        agent = Schema({Optional("agentId"): string})
        return [
            Method("usage.status", self._status, OWNER, agent, READ),
            Method("usage.cost", self._cost, OWNER, COST, READ),
            Method("models.authStatus", self._keys, OWNER, agent, READ),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        """Return what providers say of quotas: none that the hub knows says anything."""
        return {"updatedAt": self._now_ms(), "providers": []}

    async def _cost(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        today = Datetime.fromtimestamp(self._wall_time(), self._zone()).date()
        last = _day(params, "endDate", today)
        first = _day(params, "startDate", last - timedelta(days=params.get("days", DAYS) - 1))
        if not 0 <= (last - first).days < DAYS_LIMIT:
            raise InvalidRequest(f"usage.cost: expected 1 to {DAYS_LIMIT} days, got {first} to {last}")
        rows = await self._used((today - first).days + 1, False) if first <= today else []
        rows = [each for each in rows if params.get("agentId") in (None, each["agent_id"])]
        days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
        daily = [{"date": day, **summed_cost(each for each in rows if each["day"] == day)} for day in days]
        wanted = set(days)
        totals = summed_cost(each for each in rows if each["day"] in wanted)
        return {"updatedAt": self._now_ms(), "days": len(days), "daily": daily, "totals": totals}

    async def _keys(self, call: MethodCall) -> Mapping[str, Any]:
        providers = [
            {
                "provider": each["name"],
                "authProvider": each["name"],
                "displayName": each["name"],
                "status": "static" if each["key"] else "missing",
                "profiles": [],
                **({"apiKey": {"source": each["origin"]}} if each["key"] else {}),
            }
            for each in self._models.status()["providers"]
        ]
        return {"ts": self._now_ms(), "providers": providers, "providerCapabilities": []}

    def _now_ms(self) -> int:
        return int(self._wall_time() * 1000)


def summed_cost(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows of usage as one sum in the protocol's shape; the cost of each kind of tokens is not known."""
    every = list(rows)
    sums: dict[str, Any] = {name: sum(each[ours] for each in every) for ours, name in _COUNTS.items()}
    return {
        **sums,
        "totalTokens": sum(sums.values()),
        "totalCost": sum(each["cost_usd"] or 0.0 for each in every),
        **dict.fromkeys(("inputCost", "outputCost", "cacheReadCost", "cacheWriteCost"), 0),
        "missingCostEntries": sum(each["calls"] for each in every if each["cost_usd"] is None),
    }


def _day(params: Mapping[str, Any], name: str, default: date) -> date:
    if name not in params:
        return default
    try:
        return date.fromisoformat(params[name])
    except ValueError:
        raise InvalidRequest(f"usage.cost: {name}: expected a date such as 2026-11-23") from None
