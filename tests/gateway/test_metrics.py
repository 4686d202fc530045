"""`/metrics`, read with Prometheus' own parser: what is counted, and who may read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hub.core.context import SCOPES, Authority
from hub.core.schema import Schema
from hub.gateway.http_api.exposition import OTHER, SERIES_LIMIT, Histogram, Metric, encode
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.gateway.rig import client_of
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

OWNER = Authority("owner", scopes=SCOPES, owner=True)
PRIVATE = "the-cellar-key-is-under-the-mat"

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    async with HubFixture(tmp_path / "home", openai_server.base_url) as hub:

        async def look(call: ToolCall) -> ToolResult:
            return ToolResult("the lamp is on")

        hub.tools.register(Tool("look", "Look.", from_schema(Schema({})), look, "home", READS_HOME))
        yield hub


def parsed(text: str) -> Samples:
    """Return every sample, as Prometheus reads them."""
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


async def scrape(house: HubFixture) -> str:
    _, secret = await house.tokens.create("prometheus", ["operator.metrics"], by=OWNER)
    header = {"Authorization": f"Bearer {secret.reveal()}"}
    async with aiohttp.ClientSession() as http, http.get(f"{house.url}/metrics", headers=header) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return await answer.text()


async def call(house: HubFixture, path: str, header: dict[str, str], **request: Any) -> int:
    async with (
        aiohttp.ClientSession(headers=header) as http,
        http.request("POST" if request else "GET", f"{house.url}{path}", **request) as answer,
    ):
        await answer.read()
        return answer.status


async def test_a_conversation_is_counted_from_the_first_scrape_on(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    first = parsed(await scrape(house))
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "c1"}}], PRIVATE)
    ask = {"model": "homarus", "messages": [{"role": "user", "content": f"say {PRIVATE}"}]}
    assert await call(house, "/v1/chat/completions", house.bearer, json=ask) == 200

    text = await scrape(house)
    second = parsed(text)

    assert first["homarus_automations_skipped_total", ()] == 0
    assert ("homarus_runs_total", (("status", "ok"),)) not in first
    assert second["homarus_runs_total", (("status", "ok"),)] == 1
    tool = (("status", "ok"), ("tool", "look"))
    assert second["homarus_tool_call_duration_seconds_count", tool] == 1
    model = (("model", "test/model"), ("outcome", "ok"))
    assert second["homarus_model_call_duration_seconds_count", model] == 2
    assert second["homarus_model_tokens_total", (("direction", "output"), ("model", "test/model"))] > 0
    assert second["process_resident_memory_bytes", ()] > 1_000_000
    assert second["process_open_fds", ()] > 3
    assert second["homarus_approvals_waiting", ()] == 0
    assert PRIVATE not in text


async def test_a_failing_model_is_counted_with_its_reason(house: HubFixture, openai_server: OpenAIServer) -> None:
    await scrape(house)
    openai_server.queue([{"status": 401, "error": "no"}])
    ask = {"model": "homarus", "messages": [{"role": "user", "content": "hello"}]}
    await call(house, "/v1/chat/completions", house.bearer, json=ask)

    found = parsed(await scrape(house))

    failures = {labels: value for (name, labels), value in found.items() if name == "homarus_model_failures_total"}
    assert sum(failures.values()) >= 1
    assert all(dict(labels)["model"] == "test/model" for labels in failures)


async def test_nobody_without_the_scope_reads_them(house: HubFixture) -> None:
    assert await call(house, "/metrics", {}) == 401
    _, secret = await house.tokens.create("reads", ["operator.read"], by=OWNER)
    assert await call(house, "/metrics", {"Authorization": f"Bearer {secret.reveal()}"}) == 403


async def test_the_scope_opens_no_other_route_and_no_method(house: HubFixture) -> None:
    _, secret = await house.tokens.create("prometheus", ["operator.metrics"], by=OWNER)
    header = {"Authorization": f"Bearer {secret.reveal()}"}

    routes = [route for route in house.gateway.routes if route.scope in SCOPES and route.scope != "operator.metrics"]
    assert routes
    for route in routes:
        if route.method == "GET" and "{" not in route.path:
            assert await call(house, route.path, header) == 403, route.path
    for name in house.gateway.methods.names():
        asked = {"method": name, "params": {}}
        assert await call(house, "/api/rpc", header, json=asked) in (400, 403), name


def test_names_from_outside_are_bounded_and_escaped() -> None:
    metric, took = Metric("calls_total", "counter", "Calls", "tool"), Histogram("took", "Took", "tool", bounds=(1, 2))
    metric.add(1, 'a"b\\c\nd')
    for number in range(SERIES_LIMIT + 50):
        metric.add(1, f"tool-{number}")
        took.observe(1.5, f"tool-{number}")

    found = parsed(encode([metric, took]))

    assert found["calls_total", (("tool", 'a"b\\c\nd'),)] == 1
    assert found["calls_total", (("tool", OTHER),)] == 51
    assert found["took_bucket", (("le", "1"), ("tool", "tool-0"))] == 0
    assert found["took_bucket", (("le", "2"), ("tool", "tool-0"))] == 1
    assert found["took_count", (("tool", OTHER),)] == 50
    assert len([name for name, _ in found if name == "calls_total"]) == SERIES_LIMIT + 1


async def test_a_socket_with_the_scope_alone_is_refused_in_words(house: HubFixture) -> None:
    _, secret = await house.tokens.create("prometheus", ["operator.metrics"], by=OWNER)

    async with client_of(house, path="/ws") as client:
        answer = await client.connect(token=secret.reveal(), scopes=["operator.read"])
        end = await client.ws.receive(30)

    assert answer["error"]["code"] == "FORBIDDEN"
    assert answer["error"]["message"].startswith("this token reads /metrics and nothing else")
    assert end.type is aiohttp.WSMsgType.CLOSE
