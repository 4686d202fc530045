"""What models cost, day by day and session by session, in the shape of the protocol's usage page."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import InvalidRequest
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.surfaces import Caller, MethodCall
from hub.core.tasks import TaskOwner
from hub.models.methods.usage import UsageMethods
from hub.models.registry import ModelRegistry

OWNER = Authority("owner", "owner", SCOPES, owner=True)
NOON = 1_795_435_200.0
"""2026-11-23 12:00 UTC."""


def row(day: str, model: str, session: str, cost: float | None) -> dict[str, Any]:
    tokens = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 2, "cache_write_tokens": 1}
    named = {"day": day, "agent_id": "main", "model": model, "session_key": session}
    return {**named, "calls": 1, "cost_usd": cost, **tokens}


ROWS = [
    row("2026-11-23", "test/small", "agent:main:main", 0.5),
    row("2026-11-22", "test/large", "agent:main:main", None),
    row("2026-11-22", "test/small", "agent:main:other", 0.25),
    row("2026-10-01", "test/small", "agent:main:other", 4.0),
]


@pytest.fixture
def asked() -> list[tuple[int, tzinfo]]:
    return []


@pytest.fixture
async def usage(asked: list[tuple[int, tzinfo]]) -> UsageMethods:
    provider = {"api": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-test-not-a-secret"}
    bus = EventBus(TaskOwner("test"))
    models = ModelRegistry({"default": "test/model", "providers": {"test": provider}}, bus, Clock(), Repairs(bus))

    async def used(days: int, zone: tzinfo, sessions: bool) -> list[dict[str, Any]]:
        asked.append((days, zone))
        return ROWS

    return UsageMethods(models, used, lambda: NOON, lambda: UTC)


async def call(usage: UsageMethods, name: str, **params: Any) -> Any:
    method = next(each for each in usage.methods() if each.name == name)
    caller = Caller(OWNER, "hub", "127.0.0.1", True)
    return await method.handler(MethodCall(name, method.schema(params), caller, Context(OWNER)))


async def test_each_day_that_is_asked_for_has_its_sum(usage: UsageMethods) -> None:
    found = await call(usage, "usage.cost", days=3)

    assert [(day["date"], day["totalTokens"], day["totalCost"]) for day in found["daily"]] == [
        ("2026-11-21", 0, 0),
        ("2026-11-22", 36, 0.25),
        ("2026-11-23", 18, 0.5),
    ]
    assert found["totals"]["totalCost"] == 0.75
    assert found["totals"]["missingCostEntries"] == 1


async def test_each_session_is_summed_by_day_and_model(usage: UsageMethods) -> None:
    found = await call(usage, "sessions.usage", startDate="2026-11-22", endDate="2026-11-23", agentScope="all")
    one = await call(usage, "sessions.usage", key="agent:main:other")

    main, other = found["sessions"]
    assert (main["key"], main["usage"]["totalTokens"], len(main["usage"]["modelUsage"])) == ("agent:main:main", 36, 2)
    assert [day["date"] for day in main["usage"]["dailyBreakdown"]] == ["2026-11-22", "2026-11-23"]
    assert other["usage"]["totalCost"] == 0.25
    assert [each["model"] for each in found["aggregates"]["byModel"]] == ["small", "large"]
    assert found["aggregates"]["messages"]["total"] == 3
    assert [each["key"] for each in one["sessions"]] == ["agent:main:other"]


@pytest.mark.parametrize(
    ("zone", "offset_h"),
    [
        ({"mode": "utc"}, 0),
        ({}, 0),
        ({"mode": "specific", "timeZone": "Asia/Tokyo"}, 9),
        ({"mode": "specific", "utcOffset": "UTC-3"}, -3),
        ({"mode": "specific", "timeZone": "No/Where", "utcOffset": "UTC+5:30"}, 5.5),
    ],
)
async def test_the_days_are_those_of_the_asker_s_zone(
    usage: UsageMethods, asked: list[tuple[int, tzinfo]], zone: dict[str, str], offset_h: float
) -> None:
    await call(usage, "usage.cost", **zone)

    offset = datetime.fromtimestamp(NOON, asked[0][1]).utcoffset()
    assert offset is not None
    assert offset.total_seconds() == offset_h * 3600


@pytest.mark.parametrize(
    "params",
    [
        {"startDate": "23.11.2026"},
        {"startDate": "2026-11-23", "endDate": "2026-11-22"},
        {"startDate": "2024-01-01"},
        {"mode": "specific"},
        {"mode": "specific", "timeZone": "../../etc/passwd"},
        {"mode": "specific", "utcOffset": "UTC+99"},
    ],
)
async def test_days_that_cannot_be_are_refused(usage: UsageMethods, params: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        await call(usage, "usage.cost", **params)


async def test_a_provider_without_a_key_says_so(usage: UsageMethods) -> None:
    providers = {each["provider"]: each for each in (await call(usage, "models.authStatus"))["providers"]}

    assert providers["test"]["status"] == "static"
    assert {each["status"] for each in providers.values()} <= {"static", "missing"}
    assert "sk-test" not in str(providers)
