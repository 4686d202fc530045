"""The value of a secret that a person gives an agent is seen by the program that needs it, and by nobody else."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from hub.core.context import Context
from hub.core.events import Event
from hub.core.schema import Required, Schema, string
from hub.tools.agent_secrets import FILE
from hub.tools.contract import Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.security_review.besieged import SESSION, WAIT_LIMIT_S, Besieged, files_in
from tests.security_review.test_laundering import tool_call
from tests.security_review.test_tools import call
from tests.servers.openai_server import OpenAIServer
from tests.until import until

VALUE = "a bicycle/lock+opens"
FORMS = {VALUE, quote(VALUE), quote(VALUE, safe=""), b64encode(VALUE.encode()).decode()}


@pytest.fixture
async def frames(house: Besieged) -> AsyncIterator[list[str]]:
    """What a tab of the dashboard is sent, until the test ends."""
    seen: list[str] = []
    headers = {**await house.cookie(), "Origin": house.url}
    async with house.http.ws_connect(f"{house.url}/live", headers=headers) as socket:
        await socket.send_json({"t": "watch", "topics": [f"session:{SESSION}", "approvals", "events"]})

        async def read() -> None:
            async for message in socket:
                seen.append(str(message.data))

        task = asyncio.create_task(read())
        await until(lambda: all(f'"id":"{id}"' in str(seen) for id in ("events", "run-state")))  # it watches by now
        yield seen
        task.cancel()


async def test_a_secret_is_in_no_transcript_trace_log_file_frame_or_request_to_a_model(
    house: Besieged, openai_server: OpenAIServer, frames: list[str]
) -> None:
    given: list[str] = []

    async def unlock(call: ToolCall) -> ToolResult:
        value = call.environment["BIKE_KEY"].reveal()
        given.append(value)
        call.update(f"begins with {value}")
        return ToolResult(f"{value} {quote(value, safe='')} {b64encode(value.encode()).decode()}", {"env": value})

    schema = from_schema(Schema({Required("command"): string}))
    house.hub.tools.register(Tool("unlock", "Unlock.", schema, unlock, "test"))
    said: list[str] = []
    house.hub.bus.listen("run_delta", lambda event: said.append(event.data["text"]))
    house.hub.bus.listen("run_tool_started", lambda event: said.append(str(event.data["arguments"])))
    wanted = {"name": "BIKE_KEY", "why": "to open the bike"}
    ask = [{"tool_call": {"name": "ask_secret", "arguments": wanted, "id": "ask"}}]
    openai_server.queue(ask, tool_call("unlock", command=f"open $BIKE_KEY {VALUE}"), f"It is {VALUE}")
    asked = asyncio.create_task(house.hub.bus.wait_for("question_requested"))
    run = asyncio.create_task(house.run("open the bike"))
    async with asyncio.timeout(WAIT_LIMIT_S):
        await asked
        (question,) = house.hub.approvals.questions()
        headers = {**await house.cookie(), "Origin": house.url}
        form = {"id": question.id, "value": VALUE}
        async with house.http.post(f"{house.url}/secrets/answer", data=form, headers=headers) as answer:
            assert answer.status == 200
        entries = await run

    assert given == [VALUE]
    assert "[redacted]" in str(entries)
    await house.hub.history.traces("none", 1)  # reading writes first what waits
    shown = [
        str(await house.rpc(method, params))
        for method, params in (
            ("secrets.list", {}),
            ("logs.tail", {}),
            ("question.get", {"id": question.id}),
            ("sessions.transcript", {"key": SESSION}),
            ("runs.list", {}),
        )
    ]
    assert "It is [redacted]" in "".join(said)
    await until(lambda: any("BIKE_KEY" in each for each in frames))
    sinks = ["".join(said), str(entries), str(openai_server.requests()), *shown, *frames]
    assert [each[:200] for each in sinks for form in FORMS if form in each] == []
    files = [(path, data) for path, data in files_in(house.hub.home.path) if path.name != FILE]
    assert [str(path) for path, data in files for form in FORMS if form.encode() in data] == []


async def test_a_command_that_names_a_secret_has_it_and_its_output_hides_it(house: Besieged) -> None:
    owner = house.hub.people.owner_authority()
    await house.rpc("secrets.set", {"name": "BIKE_KEY", "value": VALUE})
    asked: list[str] = []

    async def approve(event: Event) -> None:
        asked.append(str(await house.hub.approvals.get(event.data["id"])))
        await house.hub.approvals.resolve(event.data["id"], True, Context(owner))

    house.hub.bus.listen("approval_requested", approve)

    named = await call(house, "exec", {"command": 'echo "$BIKE_KEY" | wc -c; echo "$BIKE_KEY"'}, owner)
    other = await call(house, "exec", {"command": "env | sort"}, owner)

    assert str(len(VALUE) + 1) in named.output
    assert "[redacted]" in named.output
    assert "BIKE_KEY" not in other.output
    assert "BIKE_KEY" in asked[0]
    assert VALUE not in f"{named} {other} {asked}"
