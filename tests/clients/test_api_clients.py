"""Other people's clients of OpenAI's and Anthropic's APIs, unchanged, against a whole hub with a scripted model.

They are tried in long runs; every ordinary one tries the same requests with the `openai` package (tests/gateway).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.clients.npm import installed
from tests.e2e.homes import MODELS, make_home
from tests.lengths import LONG
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.skipif(not LONG, reason="other people's clients are tried in long runs")

CLIENT_LIMIT_S = 120.0
ASKS = {"tool_call": {"name": "weather", "arguments": {"city": "Jena"}, "id": "c1"}}
TOWN = '{"name": "Jena", "people": 110000}'
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: dict[str, Any] = {"name": "weather", "description": "The weather in a city.", "parameters": PARAMETERS}
NODE_VERSION = "7.57.0"
NODE_PROGRAM = """
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.env.HUB_URL, apiKey: process.env.HUB_TOKEN });
const seen = [];
const runner = client.chat.completions.runTools({
  model: "homarus", stream: process.argv[2] === "stream", messages: [{ role: "user", content: "weather?" }],
  tools: [{ type: "function", function: { name: "weather", description: "The weather.", parse: JSON.parse,
    parameters: { type: "object", properties: { city: { type: "string" } } },
    function: (given) => { seen.push(given.city); return "rain"; } } }],
});
const chat = await runner.finalContent();
const first = await client.responses.create({ model: "homarus", input: "my name is Ada" });
const second = await client.responses.create({ model: "homarus", input: "who?", previous_response_id: first.id });
console.log(JSON.stringify({ seen, chat, second: second.output_text }));
"""


class Town(BaseModel):
    """What an answer is read into."""

    name: str
    people: int


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    """The scripted model of all tests here."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def one_hub(model: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """The hub of all tests here."""
    home = make_home(tmp_path_factory.mktemp("clients") / "home", MODELS.format(base_url=model.base_url))
    with HubProcess(home) as process:
        yield process


@pytest.fixture
def hub(one_hub: HubProcess, model: OpenAIServer) -> HubProcess:
    """The hub, with nothing queued at its model."""
    model.reset()
    return one_hub


@pytest.fixture
def base(hub: HubProcess) -> dict[str, Any]:
    """Address and key, by the names that most clients use."""
    return {"base_url": f"{hub.url}/v1", "api_key": hub.token}


def test_openai_python(base: dict[str, Any], model: OpenAIServer) -> None:
    client = openai.OpenAI(**base)
    model.queue([ASKS], "Rain.", TOWN, "noted", "Ada.")
    tools: Any = [{"type": "function", "function": FUNCTION}]
    messages: list[Any] = [{"role": "user", "content": "weather?"}]
    said = client.chat.completions.create(model="homarus", messages=messages, tools=tools).choices[0].message
    assert said.tool_calls is not None
    messages += [said, {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "rain"}]
    end = client.chat.completions.create(model="homarus", messages=messages, tools=tools)
    parsed = client.chat.completions.parse(model="homarus", messages=messages[:1], response_format=Town)
    first = client.responses.create(model="homarus", input="my name is Ada")
    second = client.responses.create(model="homarus", input="who?", previous_response_id=first.id)

    assert end.choices[0].message.content == "Rain."
    assert parsed.choices[0].message.parsed == Town(name="Jena", people=110000)
    assert second.output_text == "Ada."


@pytest.mark.parametrize("how", ["stream", "whole"])
def test_openai_node(base: dict[str, Any], model: OpenAIServer, tmp_path: Path, how: str) -> None:
    package = installed("openai", NODE_VERSION)
    model.queue([ASKS], "Rain.", "noted", "Ada.")
    program = package.parents[1] / f"homarus-{how}.mjs"
    program.write_text(NODE_PROGRAM)
    environment = os.environ | {"HUB_URL": base["base_url"], "HUB_TOKEN": base["api_key"]}

    told = json.loads(_output(["node", str(program), how], environment))

    assert told == {"seen": ["Jena"], "chat": "Rain.", "second": "Ada."}


def test_anthropic(hub: HubProcess, model: OpenAIServer) -> None:
    anthropic = import_module("anthropic")
    client = anthropic.Anthropic(base_url=hub.url, api_key=hub.token)
    model.queue([{"text": "Looking."}, ASKS], "Rain.", [{"text": "Looking."}, ASKS])
    tools = [{"name": "weather", "description": "The weather.", "input_schema": PARAMETERS}]
    asked: dict[str, Any] = {"model": "homarus", "max_tokens": 500, "system": "Be brief.", "tools": tools}
    messages: list[Any] = [{"role": "user", "content": "weather?"}]

    first = client.messages.create(messages=messages, **asked)
    text, use = first.content
    result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "rain"}]}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    end = client.messages.create(messages=messages, **asked)
    with client.messages.stream(messages=messages[:1], **asked) as stream:
        said = "".join(stream.text_stream)
        last = stream.get_final_message()

    assert (first.stop_reason, text.text, use.input) == ("tool_use", "Looking.", {"city": "Jena"})
    assert (end.stop_reason, end.content[0].text) == ("end_turn", "Rain.")
    assert (said, last.stop_reason, last.content[1].input) == ("Looking.", "tool_use", {"city": "Jena"})
    with pytest.raises(anthropic.AuthenticationError, match="not valid"):
        anthropic.Anthropic(base_url=hub.url, api_key="wrong").messages.create(messages=messages[:1], **asked)
    assert client.messages.create(messages=messages[:1], **asked | {"model": "claude"}).model == "claude"
    with pytest.raises(anthropic.NotFoundError, match="garage"):
        client.messages.create(messages=messages[:1], **asked | {"model": "homarus/garage"})


def test_ollama(hub: HubProcess, model: OpenAIServer) -> None:
    ollama = import_module("ollama")
    client = ollama.Client(host=hub.url, headers={"Authorization": f"Bearer {hub.token}"})
    model.queue(ASKS, "Rain.", [{"text": "one two", "chunks": 2}])
    messages: list[Any] = [{"role": "user", "content": "weather?"}]
    asked: dict[str, Any] = {"model": "homarus", "tools": [{"type": "function", "function": FUNCTION}]}

    names = [each.model for each in client.list().models]
    first = client.chat(messages=messages, **asked)
    (call,) = first.message.tool_calls
    messages += [first.message, {"role": "tool", "content": "rain", "tool_name": call.function.name}]
    end = client.chat(messages=messages, **asked)
    pieces = list(client.chat(messages=messages[:1], stream=True, **asked))

    assert "homarus:latest" in names
    assert "tools" in client.show("homarus").capabilities
    assert (call.function.name, call.function.arguments) == ("weather", {"city": "Jena"})
    assert (end.message.content, end.done_reason) == ("Rain.", "stop")
    assert ("".join(each.message.content for each in pieces), pieces[-1].done) == ("one two", True)
    with pytest.raises(ollama.ResponseError, match="token"):
        ollama.Client(host=hub.url).list()


def test_llm(base: dict[str, Any], model: OpenAIServer, tmp_path: Path) -> None:
    entry = {"model_id": "hub", "model_name": "homarus", "api_base": base["base_url"], "supports_tools": True}
    entry |= {"supports_schema": True, "api_key_name": "hub"}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([entry]))
    (tmp_path / "keys.json").write_text(json.dumps({"hub": base["api_key"]}))
    tools = tmp_path / "mine.py"
    tools.write_text('def weather(city: str) -> str:\n    "The weather."\n    return "rain in " + city\n')
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path)}
    command = [sys.executable, "-m", "llm", "-m", "hub"]
    model.queue([ASKS], "Rain.", TOWN)

    chat = _output([*command, "--functions", str(tools), "weather?"], environment)
    schema = _output([*command, "--schema", "name, people int", "a town"], environment)

    assert chat.strip() == "Rain."
    assert "rain in Jena" in json.dumps(model.requests()[1]["body"])
    assert json.loads(schema) == json.loads(TOWN)


@pytest.mark.parametrize("responses", [False, True])
def test_langchain(base: dict[str, Any], model: OpenAIServer, responses: bool) -> None:
    chat_openai = import_module("langchain_openai").ChatOpenAI
    words = import_module("langchain_core.messages")
    chat = chat_openai(model="homarus", use_responses_api=responses, **base)
    tool = {"type": "function", "function": FUNCTION}
    by_tool = {"tool_call": {"name": "Town", "arguments": json.loads(TOWN), "id": "c2"}}
    model.queue([ASKS], "Rain.", TOWN, [by_tool])

    bound = chat.bind_tools([tool])
    said = bound.invoke("weather?")
    result = words.ToolMessage("rain", tool_call_id=said.tool_calls[0]["id"])
    end = bound.invoke([words.HumanMessage("weather?"), said, result])

    assert said.tool_calls[0]["args"] == {"city": "Jena"}
    assert end.text == "Rain."
    for method in ("json_schema", "function_calling"):
        assert chat.with_structured_output(Town, method=method).invoke("a town") == Town(name="Jena", people=110000)


@pytest.mark.parametrize("kind", ["OpenAIChatModel", "OpenAIResponsesModel"])
def test_pydantic_ai(base: dict[str, Any], model: OpenAIServer, kind: str) -> None:
    ai, models = import_module("pydantic_ai"), import_module("pydantic_ai.models.openai")
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(**base)
    by_tool = {"tool_call": {"name": "final_result", "arguments": json.loads(TOWN), "id": "c2"}}
    town = Town(name="Jena", people=110000)

    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    chat = getattr(models, kind)("homarus", provider=provider)
    model.queue([ASKS], "Rain.", [ASKS], [by_tool], TOWN)

    assert ai.Agent(chat, tools=[weather]).run_sync("weather?").output == "Rain."
    assert "rain in Jena" in json.dumps(model.requests()[1]["body"])
    assert ai.Agent(chat, tools=[weather], output_type=Town).run_sync("weather, then a town").output == town
    assert ai.Agent(chat, output_type=ai.NativeOutput(Town)).run_sync("a town").output == town


def test_litellm(base: dict[str, Any], model: OpenAIServer) -> None:
    litellm = import_module("litellm")
    call = {"model": "openai/homarus", "api_base": base["base_url"], "api_key": base["api_key"]}
    messages: list[Any] = [{"role": "user", "content": "weather?"}]
    tools = [{"type": "function", "function": FUNCTION}]
    model.queue([ASKS], "Rain.")

    said = litellm.completion(**call, messages=messages, tools=tools).choices[0].message
    result = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "rain"}
    end = litellm.completion(**call, messages=[*messages, said.model_dump(), result], tools=tools)

    assert end.choices[0].message.content == "Rain."


def _output(command: list[str], environment: dict[str, str]) -> str:
    ran = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=CLIENT_LIMIT_S,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
