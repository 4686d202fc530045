"""Tools, forms of answers and retries of clients of `/v1`, through the `openai` package."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import aiohttp
import openai
import orjson
import pytest
from pydantic import BaseModel

from hub.core.errors import InvalidRequest
from hub.core.schema import Schema
from hub.gateway.http_api.client_tools import read_tools
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.gateway.house import living
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.until import until

FUNCTION: dict[str, Any] = {
    "name": "weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TOOLS: list[Any] = [{"type": "function", "function": FUNCTION}]
FLAT: list[Any] = [{"type": "function", **FUNCTION}]
ASKS = {"tool_call": {"name": "weather", "arguments": {"city": "Jena"}, "id": "c1"}}
OURS = {"tool_call": {"name": "news", "arguments": {}, "id": "c0"}}


class Town(BaseModel):
    """What an answer is read into."""

    name: str
    people: int


@pytest.fixture
async def api(house: HubFixture) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{house.url}/v1/", api_key=house.token, max_retries=0)


def _news(house: HubFixture) -> list[str]:
    """Add a tool of the hub whose results are words from outside."""
    calls: list[str] = []

    async def run(call: ToolCall) -> ToolResult:
        calls.append(call.id)
        return ToolResult("it rains in the news", trusted=False)

    house.tools.register(Tool("news", "The news.", from_schema(Schema({})), run, "home", READS_HOME))
    return calls


def _sent(server: OpenAIServer, at: int = -1) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = server.requests()[at]["body"]["messages"]
    return messages


@pytest.mark.parametrize("user", [None, "ada"])
async def test_a_call_to_a_clients_tool_ends_the_answer_and_its_result_goes_on_with_the_run(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer, user: str | None
) -> None:
    done = _news(house)
    openai_server.queue([OURS], [{"text": "Looking."}, OURS, ASKS], "Rain in Jena.")
    messages: list[Any] = [{"role": "user", "content": "weather?"}]
    more: dict[str, Any] = {"user": user} if user else {}

    first = await api.chat.completions.create(model="homarus", messages=messages, tools=TOOLS, **more)
    said = first.choices[0].message
    assert first.choices[0].finish_reason == "tool_calls"
    assert said.tool_calls is not None
    (call,) = said.tool_calls
    assert call.type == "function"
    assert (call.function.name, call.function.arguments) == ("weather", '{"city":"Jena"}')
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    messages += [said.model_dump(exclude_none=True), result]
    second = await api.chat.completions.create(model="homarus", messages=messages, tools=TOOLS, **more)

    assert second.choices[0].message.content == "Rain in Jena."
    assert len(done) == 2
    sent = _sent(openai_server)
    assert [message["role"] for message in sent[1:]] == ["user", "assistant", "tool", "assistant", "tool", "tool"]
    assert "it rains in the news" in sent[3]["content"]
    assert [sent[-1]["tool_call_id"], sent[-1]["content"]] == ["c1", "rain"]
    names = [tool["function"]["name"] for tool in openai_server.requests()[0]["body"]["tools"]]
    assert {"news", "weather"} <= set(names)


async def test_calls_stream_in_both_apis(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "One moment."}, ASKS], [ASKS], "Rain.")

    chunks = [
        chunk
        async for chunk in await api.chat.completions.create(
            model="homarus", messages=[{"role": "user", "content": "weather?"}], tools=TOOLS, stream=True
        )
    ]
    async with api.responses.stream(model="homarus", input="weather?", tools=FLAT) as stream:
        types = [event.type async for event in stream]
        response = await stream.get_final_response()
    (item,) = response.output
    assert item.type == "function_call"
    output: Any = [{"type": "function_call_output", "call_id": item.call_id, "output": "rain"}]
    end = await api.responses.create(model="homarus", input=output, previous_response_id=response.id, tools=FLAT)

    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == "One moment."
    (called,) = [call for delta in deltas for call in delta.tool_calls or ()]
    assert called.function is not None
    assert called.function.arguments == '{"city":"Jena"}'
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert "response.function_call_arguments.done" in types
    assert end.output_text == "Rain."
    assert [each["role"] for each in _sent(openai_server)[1:]] == ["user", "assistant", "tool"]


async def test_a_clients_tool_takes_the_place_of_one_of_ours_with_its_name(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    done = _news(house)
    openai_server.queue([OURS])

    answer = await api.chat.completions.create(
        model="homarus",
        messages=[{"role": "user", "content": "news?"}],
        tools=[{"type": "function", "function": {"name": "news", "description": "Mine."}}],
    )

    assert answer.choices[0].finish_reason == "tool_calls"
    assert done == []
    offered = openai_server.requests()[0]["body"]["tools"]
    assert [each["function"]["description"] for each in offered if each["function"]["name"] == "news"] == ["Mine."]


async def test_a_choice_of_tool_is_passed_on(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.set_default([ASKS])
    for choice in ({"type": "function", "function": {"name": "weather"}}, "required", "none"):
        chosen: Any = choice
        await api.chat.completions.create(
            model="homarus", messages=[{"role": "user", "content": "x"}], tools=TOOLS, tool_choice=chosen
        )
        if choice == "none":
            break
        openai_server.set_default([ASKS] if choice != "required" else "no")

    named, required, none = [each["body"] for each in openai_server.requests()]
    assert named["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert [tool["function"]["name"] for tool in named["tools"]] == ["weather"]
    assert required["tool_choice"] == "required"
    assert "weather" not in orjson.dumps(none.get("tools", [])).decode()


@pytest.mark.parametrize("choice", [[None], ["auto"], 5, {"function": {"name": ["weather"]}}, {"function": ["name"]}])
def test_a_choice_of_tools_that_is_none_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidRequest, match="tool_choice"):
        read_tools(TOOLS, choice)


@pytest.mark.parametrize(("scope", "tainted"), [("operator.admin", False), ("operator.write", True)])
async def test_results_are_words_from_outside_unless_the_credential_is_the_owners(
    house: HubFixture, openai_server: OpenAIServer, scope: str, tainted: bool
) -> None:
    _, secret = await house.tokens.create("program", [scope])
    api = openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=secret.reveal(), max_retries=0)
    openai_server.queue([ASKS], "Rain.")
    ended: list[Any] = []
    house.bus.listen("run_finished", lambda event: ended.append(event.context.authority.tainted))
    first = await api.responses.create(model="homarus", input="weather?", tools=FLAT)
    (item,) = first.output
    assert item.type == "function_call"
    output: Any = [{"type": "function_call_output", "call_id": item.call_id, "output": "rain"}]

    await api.responses.create(model="homarus", input=output, previous_response_id=first.id)

    assert ended == [False, tainted]
    assert ("Words from outside" in _sent(openai_server)[-1]["content"]) is tainted


async def test_what_a_run_read_outside_stays_so_when_its_client_goes_on(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    _news(house)
    openai_server.queue([OURS], [ASKS], "Rain.", "Yes.")
    ended: list[Any] = []
    house.bus.listen("run_finished", lambda event: ended.append(event.context.authority.tainted))
    messages: list[Any] = [{"role": "user", "content": "weather?"}]
    first = await api.chat.completions.create(model="homarus", messages=messages, tools=TOOLS)
    said = first.choices[0].message
    assert said.tool_calls is not None
    messages += [
        said.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "rain"},
    ]
    await api.chat.completions.create(model="homarus", messages=messages, tools=TOOLS)
    messages += [{"role": "assistant", "content": "Rain."}, {"role": "user", "content": "sure?"}]

    await api.chat.completions.create(model="homarus", messages=messages, tools=TOOLS)

    assert ended == [True, True, True]


async def test_an_answer_has_the_form_that_was_asked_for(api: openai.AsyncOpenAI, openai_server: OpenAIServer) -> None:
    openai_server.queue('```json\n{"name": "Jena", "people": 110000}\n```', '{"name": "Gera", "people": 91000}')

    chat = await api.chat.completions.parse(
        model="homarus", messages=[{"role": "user", "content": "a town"}], response_format=Town
    )
    response = await api.responses.parse(model="homarus", input="a town", text_format=Town)

    assert chat.choices[0].message.parsed == Town(name="Jena", people=110000)
    assert response.output_parsed == Town(name="Gera", people=91000)
    asked = openai_server.requests()[0]["body"]
    assert asked["response_format"]["json_schema"]["name"] == "Town"
    assert "JSON Schema" in asked["messages"][0]["content"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_in_another_form_is_asked_for_once_more_and_then_fails(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer, stream: bool
) -> None:
    openai_server.queue("a town", '{"name": "Jena", "people": "many"}', '{"name": 1}', "[]", '{"name": "Jena"}')
    form: Any = {"type": "json_schema", "json_schema": {"name": "town", "schema": Town.model_json_schema()}}
    asked: dict[str, Any] = {"model": "homarus", "messages": [{"role": "user", "content": "a town"}]}

    with pytest.raises(openai.APIStatusError, match="people") as caught:
        await api.chat.completions.create(**asked, response_format=form, stream=stream)
    assert caught.value.status_code == 502
    again = _sent(openai_server, 1)
    assert again[-2]["content"] == "a town"
    assert "not JSON" in again[-1]["content"]

    openai_server.reset()
    openai_server.queue("[]", '{"name": "Jena"}')
    answer: Any = await api.chat.completions.create(**asked, response_format={"type": "json_object"}, stream=stream)
    if stream:
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
    else:
        text = answer.choices[0].message.content
    assert text == '{"name": "Jena"}'


async def test_a_provider_that_has_no_forms_is_asked_in_words(
    api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    refused = {"status": 400, "body": {"error": {"message": "response_format is not supported"}}}
    openai_server.queue(refused, '{"name": "Jena"}')

    answer = await api.chat.completions.create(
        model="homarus", messages=[{"role": "user", "content": "x"}], response_format={"type": "json_object"}
    )

    assert answer.choices[0].message.content == '{"name": "Jena"}'
    assert "response_format" not in openai_server.requests()[1]["body"]


async def test_a_response_can_be_gone_on_with_and_read_again_by_its_own_client_for_a_day(
    house: HubFixture, api: openai.AsyncOpenAI, openai_server: OpenAIServer
) -> None:
    openai_server.queue("noted", "You are Ada.", "Still Ada.", "kept", "no trace")
    first = await api.responses.create(model="homarus", input="my name is Ada", metadata={"a": "b"})
    second = await api.responses.create(model="homarus", input="who am I?", previous_response_id=first.id)
    third = await api.responses.create(model="homarus", input="and now?", previous_response_id=second.id)
    named = await api.responses.create(model="homarus", input="hello", user="ada")
    secret = await api.responses.create(model="homarus", input="hello", store=False)
    _, token = await house.tokens.create("other", ["operator.write"])
    other = openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=token.reveal(), max_retries=0)

    again = await api.responses.retrieve(first.id)
    assert (again.output_text, again.metadata, again.created_at) == ("noted", {"a": "b"}, first.created_at)
    assert third.output_text == "Still Ada."
    text = orjson.dumps(_sent(openai_server, 2)).decode()
    assert [text.count(each) for each in ("my name is Ada", "noted", "who am I?", "You are Ada.")] == [1, 1, 1, 1]
    assert [session.key for session in house.sessions.list()] == ["agent:main:api:direct:ada"]
    for client, id in ((other, first.id), (api, secret.id), (api, "resp_x")):
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(id)
        with pytest.raises(openai.BadRequestError, match="not kept"):
            await client.responses.create(model="homarus", input="again", previous_response_id=f"{id}x")
    with pytest.raises(openai.BadRequestError, match="not kept"):
        await other.responses.create(model="homarus", input="again", previous_response_id=first.id)
    with pytest.raises(openai.BadRequestError, match="another session"):
        await api.responses.create(model="homarus", input="x", previous_response_id=first.id, user="bob")
    await api.responses.delete(named.id)
    with pytest.raises(openai.NotFoundError):
        await api.responses.retrieve(named.id)


async def test_an_idempotency_key_answers_once_and_refuses_another_request(
    house: HubFixture, http: aiohttp.ClientSession, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "first"}, {"text": "once"}], "twice")
    body = {"messages": [{"role": "user", "content": "hello"}]}

    async def ask(key: str = "k1", **more: Any) -> tuple[int, Any]:
        headers = {**house.bearer, "Idempotency-Key": key}
        async with http.post(f"{house.url}/v1/chat/completions", json=body | more, headers=headers) as answer:
            return answer.status, await answer.json()

    both = [asyncio.ensure_future(ask()), asyncio.ensure_future(ask())]
    await until(lambda: bool(openai_server.requests()))
    openai_server.release("first")
    (status, first), (_, second) = await asyncio.gather(*both)
    _, third = await ask()
    refused, error = await ask(user="other")

    assert (status, refused) == (200, 400)
    assert first["choices"] == second["choices"] == third["choices"]
    assert len({each["id"] for each in (first, second, third)}) == 1
    assert "Idempotency-Key" in error["error"]["message"]
    assert len(openai_server.requests()) == 1


async def test_an_sdks_retry_gets_the_answer_of_its_first_attempt(
    house: HubFixture, http: aiohttp.ClientSession, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "first"}, {"text": "once"}], "twice")
    body = {"messages": [{"role": "user", "content": "hello"}]}

    async def ask(count: int) -> Any:
        headers = {**house.bearer, "x-stainless-retry-count": str(count)}
        async with http.post(f"{house.url}/v1/chat/completions", json=body, headers=headers) as answer:
            return (await answer.json())["choices"][0]["message"]["content"]

    cut = asyncio.ensure_future(ask(0))
    await until(lambda: bool(openai_server.requests()))
    cut.cancel()
    retried = asyncio.ensure_future(ask(1))
    openai_server.release("first")

    assert await retried == "once"
    assert await ask(0) == "twice"


async def test_anthropics_shape_takes_tools_and_streams(
    house: HubFixture, http: aiohttp.ClientSession, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"text": "Looking."}, ASKS], [{"text": "Rain."}])
    tools = [{"name": "weather", "description": "x", "input_schema": FUNCTION["parameters"]}]
    asked: dict[str, Any] = {"model": "homarus", "max_tokens": 99, "system": [{"type": "text", "text": "Be brief."}]}
    messages: list[Any] = [{"role": "user", "content": "weather?"}]

    async def ask(**more: Any) -> tuple[int, str]:
        body = {**asked, "messages": messages, "tools": tools, "tool_choice": {"type": "auto"}, **more}
        async with http.post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": house.token}) as answer:
            return answer.status, await answer.text()

    status, first = await ask()
    said = orjson.loads(first)
    use = said["content"][1]
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": "rain", "is_error": True}
    messages += [{"role": "assistant", "content": said["content"]}, {"role": "user", "content": [result]}]
    _, streamed = await ask(stream=True)
    refused, error = await ask(tools=[{"type": "web_search_20250305", "name": "web_search"}])
    unread, _ = await ask(messages=[{"role": "user", "content": [{"type": "document"}]}])

    assert (status, said["stop_reason"], use["input"]) == (200, "tool_use", {"city": "Jena"})
    events = [line.removeprefix("event: ") for line in streamed.splitlines() if line.startswith("event: ")]
    assert [events[0], *events[-2:]] == ["message_start", "message_delta", "message_stop"]
    assert '"text":"Rain."' in streamed
    assert _sent(openai_server)[-1]["content"] == "Error: rain"
    assert (refused, unread) == (400, 400)
    assert orjson.loads(error)["type"] == "error"


async def test_texts_become_vectors_where_the_memory_makes_some(house: HubFixture, api: openai.AsyncOpenAI) -> None:
    async def embed(agent_id: str, texts: Sequence[str]) -> tuple[str, list[list[float]]]:
        return f"of {agent_id}", [[float(len(text)), 0.5] for text in texts]

    with pytest.raises(openai.InternalServerError, match="no embedding model"):
        await api.embeddings.create(model="homarus", input="hello")
    house.memory.embed = embed

    packed = await api.embeddings.create(model="homarus", input=["a", "bcd"])
    plain = await api.embeddings.create(model="homarus", input="ab", encoding_format="float", dimensions=2)

    assert (packed.model, [each.embedding for each in packed.data]) == ("of main", [[1.0, 0.5], [3.0, 0.5]])
    assert plain.data[0].embedding == [2.0, 0.5]
    for name, wrong in (("dimensions", 3), ("input", []), ("input", [[1, 2]])):
        asked: dict[str, Any] = {"model": "homarus", "input": "x", name: wrong}
        with pytest.raises(openai.BadRequestError, match=name):
            await api.embeddings.create(**asked)


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/nothing"), ("PUT", "/v1/chat/completions/")])
async def test_every_error_below_v1_has_one_shape(
    house: HubFixture, http: aiohttp.ClientSession, method: str, path: str
) -> None:
    async with http.request(method, house.url + path, headers=house.bearer) as answer:
        error = (await answer.json())["error"]

    assert answer.status in (404, 405)
    assert set(error) == {"message", "type", "param", "code"}


async def test_a_key_and_a_slash_are_taken_where_other_programs_put_them(
    house: HubFixture, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{house.url}/v1/models/", headers={"x-api-key": house.token}) as answer:
        assert answer.status == 200
    async with http.get(f"{house.url}/v1/models", headers={"x-api-key": "wrong"}) as answer:
        assert answer.status == 401


async def test_pages_of_configured_origins_alone_may_call(tmp_path: Any, openai_server: OpenAIServer) -> None:
    http_section = {"cors_origins": ["https://chat.example.org"]}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    async with living(tmp_path, openai_server, http=http_section) as house, aiohttp.ClientSession() as http:
        _, token = await house.tokens.create("page", ["operator.write"])
        url, bearer = f"{house.url}/v1/chat/completions", {"Authorization": f"Bearer {token.reveal()}"}
        body = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
        for origin, allowed in (("https://chat.example.org", True), ("https://evil.example.org", False)):
            async with http.options(url, headers={"Origin": origin, **asks}) as answer:
                assert answer.headers.get("Access-Control-Allow-Origin") == (origin if allowed else None)
            async with http.post(url, json=body, headers={"Origin": origin, **bearer}) as answer:
                assert answer.status == (200 if allowed else 403)
                assert answer.headers.get("Access-Control-Allow-Origin") == (origin if allowed else None)
        origin = "https://chat.example.org"
        async with http.post(url, json=body, headers={"Origin": origin}) as answer:
            assert answer.status == 401
        async with http.get(f"{house.url}/api/status", headers={"Origin": origin, **bearer}) as answer:
            assert answer.status == 403
