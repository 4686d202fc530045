"""`usage.status|cost`, `sessions.usage`, `models.authStatus`: what models cost, and which providers have keys."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, date, datetime as Datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from hub.core.errors import InvalidRequest
from hub.core.schema import All, In, Length, Optional, Range, Schema, boolean, integer, string
from hub.core.surfaces import READ, Method, MethodCall
from hub.models.methods.models import DAYS_LIMIT
from hub.models.registry import ModelRegistry

OWNER = "gateway"
DAYS = 30
LIMIT = 1_000
_MODES = ("gateway", "specific", "utc")
_COUNTS = {"input_tokens": "input", "output_tokens": "output"} | {
    "cache_read_tokens": "cacheRead",
    "cache_write_tokens": "cacheWrite",
}
_OFFSET = re.compile(r"UTC([+-](?:1[0-4]|0?[0-9]))(?::([0-5][0-9]))?")
_DAY = All(string, Length(min=10, max=10))
_NAME = All(string, Length(min=1, max=2_048))
_DAYS: Mapping[Any, Any] = {
    Optional("startDate"): _DAY,
    Optional("endDate"): _DAY,
    Optional("agentId"): _NAME,
    Optional("mode", default="gateway", description="Whose days: of this zone, UTC's or the hub's."): In(_MODES),
    Optional("timeZone"): All(string, Length(min=1, max=64)),
    Optional("utcOffset"): All(string, Length(min=1, max=16)),
}
_COST = Schema({**_DAYS, Optional("days"): All(integer, Range(min=1, max=DAYS_LIMIT))})
_SESSIONS = Schema(
    {
        **_DAYS,
        Optional("key"): _NAME,
        Optional("agentScope"): In(("all",)),
        Optional("limit", default=50): All(integer, Range(min=1, max=LIMIT)),
        Optional("groupBy", default="instance", description="A session has one instance here."): In(
            ("instance", "family")
        ),
        Optional("includeHistorical", default=False): boolean,
        Optional("includeContextWeight", default=False): boolean,
    }
)
Row = Mapping[str, Any]
Used = Callable[[int, tzinfo, bool], Awaitable[list[dict[str, Any]]]]
"""Returns the use of so many days in a zone, summed by day, agent and model; also by session when that is asked for."""


class UsageMethods:
    """The methods.

    Args:
        models: Their providers.
        used: Returns the recorded usage.
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
            Method("usage.cost", self._cost, OWNER, _COST, READ),
            Method("sessions.usage", self._sessions, OWNER, _SESSIONS, READ),
            Method("models.authStatus", self._keys, OWNER, agent, READ),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the providers' quotas: none are known to the hub."""
        return {"updatedAt": self._now_ms(), "providers": []}

    async def _cost(self, call: MethodCall) -> Mapping[str, Any]:
        days, rows = await self._rows(call, sessions=False)
        daily = [{"date": day, **_summed(each for each in rows if each["day"] == day)} for day in days]
        return {"updatedAt": self._now_ms(), "days": len(days), "daily": daily, "totals": _summed(rows)}

    async def _sessions(self, call: MethodCall) -> Mapping[str, Any]:
        days, rows = await self._rows(call, sessions=True)
        rows = [each for each in rows if call.params.get("key") in (None, each["session_key"])]
        by_session = _grouped(rows, lambda each: each["session_key"] or "")
        shown = [_session(key, of) for key, of in by_session.items() if key]
        return {
            "updatedAt": self._now_ms(),
            "startDate": days[0],
            "endDate": days[-1],
            "sessions": sorted(shown, key=lambda each: -each["usage"]["totalTokens"])[: call.params["limit"]],
            "totals": _summed(rows),
            "aggregates": {
                "sessionCount": len(shown),
                "messages": _messages(rows),
                "tools": {"totalCalls": 0, "uniqueTools": 0, "tools": []},
                "byModel": [_of_model(ref, of) for ref, of in _grouped(rows, lambda each: each["model"]).items()],
                "byProvider": [
                    {"provider": name, "count": _calls(of), "totals": _summed(of)}
                    for name, of in _grouped(rows, lambda each: each["model"].partition("/")[0]).items()
                ],
                "byAgent": [
                    {"agentId": name, "totals": _summed(of)}
                    for name, of in _grouped(rows, lambda each: each["agent_id"]).items()
                ],
                "byChannel": [],
                "byCreator": [],
                "costDaily": _daily(rows),
                "dailyLatency": [],
                "modelDaily": _model_days(rows),
                "daily": [
                    {**_day_of(day, of), "messages": _calls(of), "toolCalls": 0, "errors": 0}
                    for day, of in sorted(_grouped(rows, lambda each: each["day"]).items())
                ],
            },
            "creatorOptions": [],
        }

    async def _rows(self, call: MethodCall, *, sessions: bool) -> tuple[list[str], list[dict[str, Any]]]:
        """Return the requested days, and the usage on them."""
        params = call.params
        zone = self._zone_of(params)
        today = Datetime.fromtimestamp(self._wall_time(), zone).date()
        last = _day(call, "endDate", today)
        first = _day(call, "startDate", last - timedelta(days=params.get("days", DAYS) - 1))
        if not 0 <= (last - first).days < DAYS_LIMIT:
            raise InvalidRequest(f"{call.method}: expected 1 to {DAYS_LIMIT} days, got {first} to {last}")
        days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
        back = min((today - first).days + 1, 2 * DAYS_LIMIT)
        rows = await self._used(back, zone, sessions) if back > 0 else []
        wanted, agent = set(days), params.get("agentId")
        return days, [each for each in rows if each["day"] in wanted and agent in (None, each["agent_id"])]

    def _zone_of(self, params: Mapping[str, Any]) -> tzinfo:
        if params["mode"] == "utc":
            return UTC
        if params["mode"] == "gateway":
            return self._zone()
        try:
            return ZoneInfo(params.get("timeZone", ""))
        except (KeyError, ValueError, OSError):
            match = _OFFSET.fullmatch(params.get("utcOffset", ""))
        if match is None:
            raise InvalidRequest("timeZone: expected a time zone such as Europe/Berlin, or utcOffset such as UTC+1")
        hours, minutes = int(match[1]), int(match[2] or 0)
        return timezone(timedelta(hours=hours, minutes=-minutes if match[1].startswith("-") else minutes))

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


def _grouped(rows: Iterable[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for each in rows:
        found.setdefault(name(each), []).append(each)
    return found


def _summed(rows: Iterable[Row]) -> dict[str, Any]:
    """Return usage rows as one sum in the protocol's shape; the cost by kind of token is unknown."""
    every = list(rows)
    sums: dict[str, Any] = {name: sum(each[ours] for each in every) for ours, name in _COUNTS.items()}
    return {
        **sums,
        "totalTokens": sum(sums.values()),
        "totalCost": sum(each["cost_usd"] or 0.0 for each in every),
        **dict.fromkeys(("inputCost", "outputCost", "cacheReadCost", "cacheWriteCost"), 0),
        "missingCostEntries": sum(each["calls"] for each in every if each["cost_usd"] is None),
    }


def _calls(rows: Iterable[Row]) -> int:
    return sum(each["calls"] for each in rows)


def _messages(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of paid model answers; nothing else is counted."""
    answers = _calls(rows)
    return {"total": answers, "assistant": answers} | dict.fromkeys(("user", "toolCalls", "toolResults", "errors"), 0)


def _day_of(day: str, rows: Iterable[Row]) -> dict[str, Any]:
    summed = _summed(rows)
    return {"date": day, "tokens": summed["totalTokens"], "cost": summed["totalCost"]}


def _daily(rows: Iterable[Row]) -> list[dict[str, Any]]:
    by_day = _grouped(rows, lambda each: each["day"])
    return [{**_day_of(day, of), **_summed(of)} for day, of in sorted(by_day.items())]


def _of_model(ref: str, rows: list[Row]) -> dict[str, Any]:
    provider, _, model = ref.partition("/")
    return {"provider": provider, "model": model, "count": _calls(rows), "totals": _summed(rows)}


def _model_days(rows: Iterable[Row]) -> list[dict[str, Any]]:
    found = []
    for day, of_day in sorted(_grouped(rows, lambda each: each["day"]).items()):
        for ref, of in _grouped(of_day, lambda each: each["model"]).items():
            provider, _, model = ref.partition("/")
            found.append({**_day_of(day, of), "provider": provider, "model": model, "count": _calls(of)})
    return found


def _session(key: str, rows: list[Row]) -> dict[str, Any]:
    models = [_of_model(ref, of) for ref, of in _grouped(rows, lambda each: each["model"]).items()]
    usage = {
        **_summed(rows),
        "dailyBreakdown": _daily(rows),
        "activityDates": sorted({each["day"] for each in rows}),
        "messageCounts": _messages(rows),
        "modelUsage": models,
        "dailyModelUsage": _model_days(rows),
    }
    last = models[-1]
    return {
        "key": key,
        "agentId": rows[0]["agent_id"],
        "scope": "instance",
        "modelProvider": last["provider"],
        "model": last["model"],
        "usage": usage,
    }


def _day(call: MethodCall, name: str, default: date) -> date:
    if name not in call.params:
        return default
    try:
        return date.fromisoformat(call.params[name])
    except ValueError:
        raise InvalidRequest(f"{call.method}: {name}: expected a date such as 2026-11-23") from None
