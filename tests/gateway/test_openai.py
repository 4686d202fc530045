"""`/v1` through the `openai` package."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import openai
import orjson
import pytest
from openai.types.chat import ChatCompletionMessageParam

from hub.core.schema import Schema
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.hub_fixture import HubFixture, scripted_model
from tests.servers.openai_server import OpenAIServer
from tests.until import until

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]


@pytest.fixture
async def api(house: HubFixture) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=house.token, max_retries=0)


def _add_tool(house: HubFixture) -> list[str]:
    calls: list[str] = []

    async def run(call: ToolCall) -> ToolResult:
        calls.append(call.id)
        return ToolResult("the lamp is on")

    house.tools.register(Tool("look", "Look.", from_schema(Schema({})), run, "home", READS_HOME))
    return calls


async def test_a_question_is_answered(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.queue("Hello from the model.")

    answer = await api.chat.completions.create(model="homarus", messages=HELLO)

    assert answer.choices[0].message.content == "Hello from the model."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_an_answer_streams_with_usage_at_its_end(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "one two three four", "chunks": 4}])

    stream = await api.chat.completions.create(
        model="homarus/main",
        messages=HELLO,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "one two three four"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


async def test_tools_work_and_do_not_leak_into_the_text(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    calls = _add_tool(house)
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "c1"}}], "The lamp is on.")

    stream = await api.chat.completions.create(model="homarus", messages=HELLO, stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert calls == ["c1"]
    assert text == "The lamp is on."


async def test_without_a_name_the_history_is_what_was_sent_and_nothing_is_kept(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "my name is Ada"},
        {"role": "assistant", "content": "noted"},
        {"role": "user", "content": "who am I?"},
    ]

    await api.chat.completions.create(model="homarus", messages=messages)

    sent = openai_server.requests()[-1]["body"]["messages"]
    text = orjson.dumps(sent).decode()
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert "Be brief." in sent[0]["content"]
    assert "my name is Ada" in text
    assert house.sessions.list() == []


async def test_user_names_a_session_of_which_only_the_new_is_taken(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    first: list[ChatCompletionMessageParam] = [{"role": "user", "content": "my name is Ada"}]
    openai_server.queue("noted", "You are Ada.")
    await api.chat.completions.create(model="homarus", messages=first, user="ada")

    second: list[ChatCompletionMessageParam] = [
        *first,
        {"role": "assistant", "content": "invented by the client"},
        {"role": "user", "content": "who?"},
    ]
    await api.chat.completions.create(model="homarus", messages=second, user="ada")

    text = orjson.dumps(openai_server.requests()[-1]["body"]["messages"]).decode()
    assert text.count("my name is Ada") == 1
    assert "noted" in text
    assert "invented by the client" not in text
    assert [session.key for session in house.sessions.list()] == ["agent:main:api:direct:ada"]


async def test_the_header_names_a_session(house: HubFixture, api: openai.AsyncOpenAI) -> None:
    header = {"x-homarus-session": "agent:kitchen:main"}

    await api.chat.completions.create(model="homarus", messages=HELLO, extra_headers=header)
    with pytest.raises(openai.BadRequestError):
        await api.chat.completions.create(model="homarus/main", messages=HELLO, extra_headers=header)

    assert [session.key for session in house.sessions.list()] == ["agent:kitchen:main"]


async def test_models_are_the_agents(api: openai.AsyncOpenAI) -> None:
    ids = [model.id for model in (await api.models.list()).data]
    one = await api.models.retrieve("homarus/kitchen")

    assert ids == ["homarus", "homarus/main", "homarus/kitchen"]
    assert one.id == "homarus/kitchen"
    with pytest.raises(openai.NotFoundError):
        await api.models.retrieve("gpt-5")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}] * 2}, "another tool of the name f"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}]}, "tools[0]"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"functions": [{"name": "f"}]}, "tools"),
        ({"n": 2}, "n:"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "tool call"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages[0].content[0]"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "http://10.0.0.1/secret.png"}}],
                    }
                ]
            },
            "data: URL",
        ),
    ],
)
async def test_what_cannot_be_honoured_is_refused_with_the_reason(
    house: HubFixture, http: aiohttp.ClientSession, change: dict[str, object], word: str
) -> None:
    body = {"model": "homarus", "messages": HELLO, **change}
    async with http.post(f"{house.url}/v1/chat/completions", json=body, headers=house.bearer) as answer:
        error = (await answer.json())["error"]

    assert answer.status == 400
    assert word in error["message"]
    assert error["type"] == "invalid_request_error"


async def test_the_model_of_another_service_is_the_default_agent(
    api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    chat = await api.chat.completions.create(model="gpt-4o-mini", messages=HELLO)
    response = await api.responses.create(model="gpt-4o-mini", input="hello")

    assert (chat.choices[0].message.content, response.output_text) == ("ok", "ok")
    assert (chat.model, response.model) == ("gpt-4o-mini", "gpt-4o-mini")
    assert openai_server.requests()[0]["body"]["model"] == "model"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("chat/completions", {"messages": HELLO}),
        ("responses", {"input": "hello"}),
        ("messages", {"messages": HELLO, "max_tokens": 100}),
    ],
)
async def test_that_another_model_answered_is_said_beside_the_answer(
    house: HubFixture,
    http: aiohttp.ClientSession,
    openai_server: OpenAIServer,
    path: str,
    more: dict[str, object],
    stream: bool,
) -> None:
    house.models.configure(
        {**scripted_model(openai_server.base_url), "fallbacks": ["test/other"], "retry": {"attempts": 1}}
    )
    openai_server.queue({"status": 503}, "from the other")

    body = {"model": "homarus", "stream": stream, **more}
    async with http.post(f"{house.url}/v1/{path}", json=body, headers=house.bearer) as answer:
        told = await answer.text()

    assert told.count("from the other") >= 1
    assert "⚠️" not in told
    found = told[told.index('"homarus":{') + len('"homarus":') :]
    beside = json.JSONDecoder().raw_decode(found)[0]
    assert beside["model"] == "test/other"
    assert [(each["kind"], each["model"], each["instead"]) for each in beside["notices"]] == [
        ("failover", "test/model", "test/other")
    ]


async def test_an_unknown_agent_is_404(api: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="kitchen"):
        await api.chat.completions.create(model="homarus/garage", messages=HELLO)


async def test_a_wrong_key_is_an_authentication_error(house: HubFixture) -> None:
    api = openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key="sk-wrong", max_retries=0)

    with pytest.raises(openai.AuthenticationError):
        await api.chat.completions.create(model="homarus", messages=HELLO)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failing_model_is_an_error_that_is_not_retried(
    api: openai.AsyncOpenAI, openai_server: OpenAIServer, stream: bool
) -> None:
    openai_server.set_default({"status": 401, "body": {"error": {"message": "no"}}})

    with pytest.raises(openai.APIStatusError) as caught:
        await api.with_options(max_retries=2).chat.completions.create(model="homarus", messages=HELLO, stream=stream)

    assert caught.value.status_code == 502
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert len(openai_server.requests()) == 1


async def test_a_client_that_disconnects_aborts_the_run(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"text": "begin"}, {"hold": "never"}])
    stream = await api.chat.completions.create(model="homarus", messages=HELLO, stream=True)
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    assert house.runner.active()

    await stream.close()

    await until(lambda: not house.runner.active())
    openai_server.release("never")


async def test_a_plain_request_that_is_cut_off_aborts_the_run(house: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "never"}])
    async with aiohttp.ClientSession() as session:
        asked = asyncio.ensure_future(
            session.post(f"{house.url}/v1/chat/completions", json={"messages": HELLO}, headers=house.bearer)
        )
        await until(lambda: bool(house.runner.active()))
        asked.cancel()

        await until(lambda: not house.runner.active())
    openai_server.release("never")


async def test_responses_answer_and_stream(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.queue("whole", [{"text": "in pieces", "chunks": 3}])

    whole = await api.responses.create(model="homarus", input="hello", instructions="Be brief.")
    events = [event async for event in await api.responses.create(model="homarus", input="hello", stream=True)]

    assert whole.output_text == "whole"
    assert whole.status == "completed"
    assert whole.usage is not None
    types = [event.type for event in events]
    assert types[:2] == ["response.created", "response.in_progress"]
    assert types[-1] == "response.completed"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "in pieces"
    assert [event.sequence_number for event in events] == list(range(len(events)))
