"""Traces: one from a message to its tool and its reply, as a collector gets it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hub.core.events import Event
from hub.core.schema import Schema
from hub.integration.in_use import in_use
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.outbox.sending import EVENT_MESSAGE_SENT
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.hub_fixture import HubFixture
from tests.security_review.besieged import Platform
from tests.servers.openai_server import OpenAIServer
from tests.servers.otlp_collector import OtlpCollector, attributes
from tests.until import until

MS = 1_000_000
"""In nanoseconds; a trace tells times in whole milliseconds."""
QUESTION, ANSWER = "is the cellar light on?", "It is on."


@pytest.fixture
async def collector() -> AsyncIterator[OtlpCollector]:
    async with OtlpCollector() as server:
        yield server


async def talk(folder: Path, server: OpenAIServer, telemetry: dict[str, Any]) -> None:
    """Have a person ask something that takes a tool, and stop the hub once the reply was sent."""
    people = [{"id": "me", "name": "Me", "owner": True, "identities": ["platform:user:4711"]}]
    async with HubFixture(
        folder,
        server.base_url,
        sections={"telemetry": telemetry, "people": people, "messages": {"inbound": {"debounce_ms": 0}}},
        integrations=("openai_compatible", "webchat", "telemetry"),
    ) as hub:

        async def look(call: ToolCall) -> ToolResult:
            return ToolResult("on")

        hub.tools.register(Tool("look", "Look.", from_schema(Schema({})), look, "home", READS_HOME))
        platform = Platform()
        await hub.channels.add(platform, AccessPolicy(dm=DmPolicy.OPEN))
        sent: list[Event] = []
        hub.bus.listen(EVENT_MESSAGE_SENT, sent.append)
        server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "c1"}}], ANSWER)
        await platform.say("platform:user:4711", QUESTION)
        # The platform sees the answer before the hub has recorded it, and only then the span of the sending ends.
        await until(lambda: sent)
    assert [each.text for each in platform.sent] == [ANSWER]


async def test_a_message_is_one_trace_to_its_model_tool_and_reply(
    tmp_path: Path, openai_server: OpenAIServer, collector: OtlpCollector
) -> None:
    await talk(tmp_path / "home", openai_server, {"endpoint": collector.url, "headers": {"X-Key": "collector-key-1"}})

    spans = {span.name: span for span in collector.spans}
    root, invoke = spans["process platform"], spans["invoke_agent main"]
    chats = sorted(
        (each for each in collector.spans if each.name == "chat model"), key=lambda each: each.start_time_unix_nano
    )
    tool, send, queue = spans["execute_tool look"], spans["send platform"], spans["queue"]

    assert len({span.trace_id for span in collector.spans}) == 1
    assert len(collector.spans) == 7
    assert root.parent_span_id == b""
    assert [each.parent_span_id for each in (invoke, send)] == [root.span_id] * 2
    assert [each.parent_span_id for each in (queue, *chats, tool)] == [invoke.span_id] * 4
    began = [each.start_time_unix_nano for each in (root, invoke, chats[0], tool, chats[1])]
    ended = [each.end_time_unix_nano for each in (chats[0], tool, chats[1], send, root)]
    assert all(later - earlier > -MS for times in (began, ended) for earlier, later in pairwise(times))
    assert all(start - end > -MS for end, start in zip(ended, began[3:], strict=False))
    chat = attributes(chats[0])
    assert (chat["gen_ai.operation.name"], chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == (
        *("chat", "test"),
        "model",
    )
    assert chat["gen_ai.usage.output_tokens"] > 0
    assert attributes(tool)["gen_ai.tool.call.id"] == "c1"
    assert attributes(invoke)["gen_ai.agent.id"] == "main"
    assert collector.resource["service.name"] == "homarus"
    assert collector.headers[0]["x-key"] == "collector-key-1"


async def test_no_words_and_no_addresses_of_people_are_in_it(
    tmp_path: Path, openai_server: OpenAIServer, collector: OtlpCollector
) -> None:
    await talk(tmp_path / "home", openai_server, {"endpoint": collector.url})

    text = "".join(map(str, collector.spans))
    assert "cellar" not in text
    assert ANSWER not in text
    assert "4711" not in text


async def test_the_words_are_in_it_when_somebody_wants_them(
    tmp_path: Path, openai_server: OpenAIServer, collector: OtlpCollector
) -> None:
    await talk(tmp_path / "home", openai_server, {"endpoint": collector.url, "content": True})

    [invoke] = [each for each in collector.spans if each.name.startswith("invoke_agent")]
    said = {key: json.loads(value) for key, value in attributes(invoke).items() if key.endswith(".messages")}
    assert said["gen_ai.input.messages"] == [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    assert said["gen_ai.output.messages"] == [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]


async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path, openai_server: OpenAIServer) -> None:
    await talk(tmp_path / "home", openai_server, {"endpoint": "http://127.0.0.1:9"})


async def test_the_standard_variables_configure_it_too(
    tmp_path: Path, openai_server: OpenAIServer, collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = HubFixture(tmp_path / "home", openai_server.base_url, integrations=("openai_compatible", "telemetry"))
    config, catalog = hub.config.current, hub.integrations.catalog
    assert "telemetry" not in in_use(config, catalog)

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)

    assert "telemetry" in in_use(config, catalog)
    await talk(tmp_path / "other", openai_server, {})
    assert any(span.name == "execute_tool look" for span in collector.spans)
