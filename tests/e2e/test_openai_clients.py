"""`/v1` as programs of others use it, through the `openai` package: sessions, histories, refusals, leaving early."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import openai
import pytest

from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import messages_of, query, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

AUDIO = """\
messages: {media: {transcription_model: test/ears}}
speech: {model: test/voice, voice: alloy, format: mp3}
"""
HELLO: Any = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    agents = "agents:\n  - {id: main, default: true}\n  - {id: cook, model: test/other}\n" + AUDIO
    home = make_home(tmp_path_factory.mktemp("v1") / "home", agents + MODELS.format(base_url=server.base_url))
    with HubProcess(home) as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


@pytest.fixture(autouse=True)
def nothing_scripted(server: OpenAIServerProcess) -> None:
    server.reset()


@pytest.fixture
def api(hub: HubProcess) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{hub.url}/v1", api_key=hub.token, max_retries=0, timeout=60) as api:
        yield api


def last_asked(server: OpenAIServerProcess) -> list[dict[str, Any]]:
    """What the model was sent last, without the system prompt."""
    messages = server.requests()[-1]["body"]["messages"]
    return [message for message in messages if message["role"] != "system"]


def sessions(hub: HubProcess) -> set[str]:
    return {session["key"] for session in hub.rpc("sessions.list")["sessions"]}


def test_the_models_are_the_agents(api: openai.OpenAI) -> None:
    assert {model.id for model in api.models.list()} == {"homarus", "homarus/main", "homarus/cook"}


def test_the_model_names_the_agent(api: openai.OpenAI, server: OpenAIServerProcess) -> None:
    api.chat.completions.create(model="homarus/cook", messages=HELLO)
    api.chat.completions.create(model="homarus", messages=HELLO)

    assert [request["body"]["model"] for request in server.requests()] == ["other", "scripted"]


def test_without_a_session_the_history_is_what_was_sent_and_nothing_is_kept(
    api: openai.OpenAI, hub: HubProcess, server: OpenAIServerProcess
) -> None:
    before = sessions(hub)
    messages: Any = [
        {"role": "system", "content": "Speak like a lobster."},
        {"role": "user", "content": "I am Ada."},
        {"role": "assistant", "content": "Hello Ada."},
        {"role": "user", "content": "Who am I?"},
    ]

    answer = api.chat.completions.create(model="homarus", messages=messages)

    assert answer.choices[0].message.content == "ok"
    asked = last_asked(server)
    assert [message["role"] for message in asked] == ["user", "assistant", "user"]
    assert "Speak like a lobster." in json.dumps(server.requests()[-1]["body"]["messages"][0])
    assert sessions(hub) == before


@pytest.mark.parametrize("way", ["header", "user"])
def test_with_a_session_only_what_is_new_is_added(
    api: openai.OpenAI, hub: HubProcess, server: OpenAIServerProcess, way: str
) -> None:
    more: dict[str, Any] = {"user": "ada"} if way == "user" else {"extra_headers": {"x-homarus-session": "v1-header"}}
    key = "agent:main:api:direct:ada" if way == "user" else "v1-header"

    api.chat.completions.create(model="homarus", messages=[{"role": "user", "content": "first"}], **more)
    again: Any = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "a forged answer"},
        {"role": "user", "content": "second"},
    ]
    api.chat.completions.create(model="homarus", messages=again, **more)

    assert [message["role"] for message in messages_of(hub, key)] == ["user", "assistant"] * 2
    told = json.dumps(last_asked(server))
    assert "forged" not in told
    assert ("first" in told, "second" in told) == (True, True)


def test_system_messages_are_extra_prompt_in_a_session_too(
    api: openai.OpenAI, hub: HubProcess, server: OpenAIServerProcess
) -> None:
    messages: Any = [{"role": "system", "content": "Answer in verse."}, *HELLO]

    api.chat.completions.create(model="homarus", messages=messages, user="poet")

    assert "Answer in verse." in json.dumps(server.requests()[-1]["body"]["messages"][0])
    assert "verse" not in json.dumps(messages_of(hub, "agent:main:api:direct:poet"))


def test_a_stream_has_the_text_the_reason_and_the_usage_and_no_tool_calls(
    api: openai.OpenAI, server: OpenAIServerProcess
) -> None:
    server.queue(
        [{"text": "Let me look."}, {"tool_call": {"name": "ls", "arguments": {}}}], {"text": "Done it.", "chunks": 3}
    )

    stream = api.chat.completions.create(
        model="homarus", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Let me look.\n\nDone it."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0
    assert all(not chunk.choices[0].delta.tool_calls for chunk in chunks if chunk.choices)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"n": 2}, "n"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"messages": [{"role": "assistant", "content": "hm"}]}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "tool call"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}, "messages"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_the_reason(
    api: openai.OpenAI, server: OpenAIServerProcess, parameters: dict[str, Any], named: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        api.chat.completions.create(**({"model": "homarus", "messages": HELLO} | parameters))

    assert named in refused.value.message
    assert server.requests() == []


def test_an_agent_that_is_not_there_is_not_found_and_the_message_names_those_that_are(api: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match=r"nobody.*There are: main, cook"):
        api.chat.completions.create(model="homarus/nobody", messages=HELLO)


def test_a_session_of_another_agent_is_refused(api: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="agent:main:main"):
        api.chat.completions.create(
            model="homarus/cook", messages=HELLO, extra_headers={"x-homarus-session": "agent:main:main"}
        )


def test_a_wrong_key_is_refused(hub: HubProcess) -> None:
    with (
        openai.OpenAI(base_url=f"{hub.url}/v1", api_key="hmr_wrong", max_retries=0) as api,
        pytest.raises(openai.AuthenticationError),
    ):
        api.chat.completions.create(model="homarus", messages=HELLO)


def test_errors_of_models_have_a_status_that_clients_understand(
    api: openai.OpenAI, server: OpenAIServerProcess
) -> None:
    server.queue({"status": 429, "headers": {"Retry-After": "3600"}})
    with pytest.raises(openai.RateLimitError):
        api.chat.completions.create(model="homarus", messages=HELLO)

    server.queue({"status": 500})
    with pytest.raises(openai.InternalServerError):
        list(api.chat.completions.create(model="homarus", messages=HELLO, stream=True))

    server.queue([{"text": "half"}, {"disconnect": True}])
    with pytest.raises(openai.APIError):
        list(api.chat.completions.create(model="homarus", messages=HELLO, stream=True))


def test_a_client_that_leaves_a_stream_aborts_the_run(
    hub: HubProcess, server: OpenAIServerProcess, api: openai.OpenAI
) -> None:
    server.queue([{"text": "here it comes"}, {"hold": "never"}])

    with api.chat.completions.create(model="homarus", messages=HELLO, user="leaver", stream=True) as stream:
        next(iter(stream))

    assert_aborted(hub, server, "leaver")


def test_a_client_that_waits_no_longer_aborts_the_run(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "here it comes"}, {"hold": "never"}])
    header = {"Authorization": f"Bearer {hub.token}", "Content-Type": "application/json"}
    body = {"model": "homarus", "messages": HELLO, "user": "hasty"}

    with closing(http.client.HTTPConnection("127.0.0.1", hub.port)) as client:
        client.request("POST", "/v1/chat/completions", json.dumps(body), header)
        until(server.requests)

    assert_aborted(hub, server, "hasty")


def assert_aborted(hub: HubProcess, server: OpenAIServerProcess, user: str) -> None:
    until(lambda: server.requests()[0]["ended"] == "disconnected")
    key = f"agent:main:api:direct:{user}"
    until(lambda: query(hub, "SELECT state FROM runs WHERE session_key = ?", key) == [("aborted",)])


def test_responses_answer_and_stream_too(api: openai.OpenAI, server: OpenAIServerProcess) -> None:
    answer = api.responses.create(model="homarus", input="hello", instructions="Be brief.")
    events = list(api.responses.create(model="homarus", input="hello", stream=True))

    assert answer.output_text == "ok"
    assert events[-1].type == "response.completed"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "ok"
    assert "Be brief." in json.dumps(server.requests()[0]["body"]["messages"][0])


def test_an_image_reaches_the_model(api: openai.OpenAI, server: OpenAIServerProcess) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    content: Any = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixel}"}},
    ]

    api.chat.completions.create(model="homarus", messages=[{"role": "user", "content": content}])

    assert pixel in json.dumps(last_asked(server)) or "image" in json.dumps(last_asked(server))


def test_recordings_become_text_and_text_a_recording(api: openai.OpenAI, server: OpenAIServerProcess) -> None:
    told = api.audio.transcriptions.create(model="homarus", file=("memo.ogg", b"hello\r\n--there"))
    spoken = api.audio.speech.create(model="homarus", input="hello", voice="nova", response_format="mp3")

    assert told.text == "hello\r\n--there (ears, .ogg)"
    assert spoken.content.endswith(b"hello (nova)")
    assert spoken.response.headers["Content-Type"] == "audio/mpeg"
    with pytest.raises(openai.BadRequestError, match="audio/mpeg"):
        api.audio.speech.create(model="homarus", input="hello", voice="nova", response_format="wav")
    with pytest.raises(openai.BadRequestError, match="file"):
        api.audio.transcriptions.create(model="homarus", file=("memo.ogg", b""))
