"""The scripted server follows its script."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.servers.openai_server import OpenAIServer, OpenAIServerProcess


def post(base_url: str, body: Any) -> str:
    request = urllib.request.Request(
        f"{base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        text: str = response.read().decode()
    return text


def asks(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


def test_the_queue_comes_before_rules_and_rules_before_the_default(openai_server: OpenAIServer) -> None:
    openai_server.queue("from the queue")
    openai_server.rule("weather", "from a rule")

    answers = [json.loads(post(openai_server.base_url, asks("weather?"))) for _ in range(2)]
    answers.append(json.loads(post(openai_server.base_url, asks("else"))))

    texts = [answer["choices"][0]["message"]["content"] for answer in answers]
    assert texts == ["from the queue", "from a rule", "ok"]


def test_a_stream_has_its_pieces_its_usage_and_its_end(openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "abcd", "chunks": 2}])

    raw = post(openai_server.base_url, asks("x", stream=True, stream_options={"include_usage": True}))

    lines = [line.removeprefix("data: ") for line in raw.splitlines() if line]
    assert lines[-1] == "[DONE]"
    events = [json.loads(line) for line in lines[:-1]]
    assert [event["choices"][0]["delta"].get("content") for event in events[:-1]] == ["ab", "cd", None]
    assert events[-1]["usage"]["prompt_tokens"] > 0


def test_a_status_is_answered_with_its_headers(openai_server: OpenAIServer) -> None:
    openai_server.queue({"status": 429, "headers": {"retry-after": "7"}})

    with pytest.raises(urllib.error.HTTPError) as caught:
        post(openai_server.base_url, asks("x"))

    assert (caught.value.code, caught.value.headers["retry-after"]) == (429, "7")
    caught.value.close()


def test_the_process_is_driven_over_its_control_endpoints() -> None:
    with OpenAIServerProcess() as server:
        server.queue("one")
        server.rule("two", {"echo": True})

        first = json.loads(post(server.base_url, asks("x")))
        second = json.loads(post(server.base_url, asks("two!")))

        assert first["choices"][0]["message"]["content"] == "one"
        assert second["choices"][0]["message"]["content"] == "two!"
        assert [request["body"]["messages"][0]["content"] for request in server.requests()] == ["x", "two!"]
