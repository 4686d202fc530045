"""`POST /v1/chat/completions`: the hub's agents for every client of OpenAI's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from hub.core.clock import Clock
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import Route
from hub.gateway.http_api.answers import AnswerShape, answering_route
from hub.gateway.http_api.client_tools import malformed, read_form, read_tools
from hub.gateway.http_api.kept_runs import Answer, ClientCall
from hub.gateway.http_api.openai_shapes import (
    EFFORT,
    FINISH_REASONS,
    MESSAGES_LIMIT,
    USUAL_KEYS,
    enumerate_items,
    prompt_tokens,
    read_messages,
    refuse,
    thinking_level,
)
from hub.gateway.http_api.runs import ApiRequest, ApiRuns
from hub.models.contract import Usage

DONE = b"data: [DONE]\n\n"

REQUEST_SCHEMA = Schema(
    {
        **USUAL_KEYS,
        Required("messages"): All(list, Length(min=1, max=MESSAGES_LIMIT)),
        Optional("stream_options"): AnyOf(None, {Optional("include_usage", default=False): boolean, str: object}),
        Optional("reasoning_effort"): EFFORT,
    },
    extra=ALLOW_EXTRA,
)


def chat_completions(runs: ApiRuns) -> Route:
    """Return the route."""
    return answering_route(runs, "/v1/chat/completions", REQUEST_SCHEMA, _read)


def _read(body: Mapping[str, Any], clock: Clock) -> tuple[ApiRequest, AnswerShape]:
    refuse(body, ("functions", "function_call"), "use `tools` and `tool_choice` instead")
    refuse(body, ("audio",), "answers are text; turn it into speech at /v1/audio/speech")
    if (body.get("n") or 1) != 1:
        raise malformed("n", "expected 1: the hub gives one answer")
    system, messages = read_messages(enumerate_items(body["messages"], "messages"))
    asked = ApiRequest(
        body["model"],
        messages,
        system,
        user=body.get("user"),
        tools=read_tools(body.get("tools"), body.get("tool_choice")),
        form=read_form(body.get("response_format"), "response_format"),
        thinking=thinking_level(body.get("reasoning_effort")),
        stream=bool(body.get("stream")),
    )
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return asked, _ChatShape(body["model"], int(clock.time()), with_usage=usage)


class _ChatShape(AnswerShape):
    """One completion, or its chunks."""

    def __init__(self, model: str, created_s: int, *, with_usage: bool) -> None:
        self._head = {"created": created_s, "model": model}
        self._with_usage = with_usage
        self._more: dict[str, Any] = {"usage": None} if with_usage else {}

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.calls:
            message["content"] = answer.text or None
            message["tool_calls"] = [_call(call) for call in answer.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
        return self._object("chat.completion", [choice], usage=_usage(answer.usage), **answer.beside)

    def opening(self) -> bytes:
        return self._chunk([_choice({"role": "assistant", "content": ""})], **self._more)

    def delta(self, text: str) -> bytes:
        return self._chunk([_choice({"content": text})], **self._more)

    def closing(self, text: str, answer: Answer) -> bytes:
        said = b""
        for index, call in enumerate(answer.calls):
            said += self._chunk([_choice({"tool_calls": [{"index": index, **_call(call)}]})], **self._more)
        said += self._chunk([_choice({}, _finish(answer))], **self._more, **answer.beside)
        if self._with_usage:
            said += self._chunk([], usage=_usage(answer.usage))
        return said + DONE

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        return b"data: %b\n\n" % orjson.dumps(self._object("chat.completion.chunk", choices, **more))

    def _object(self, kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {"id": f"chatcmpl-{self.run_id}", **self._head, "object": kind, "choices": choices, **more}


def _call(call: ClientCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _finish(answer: Answer) -> str:
    return FINISH_REASONS.get(answer.stop, "stop")


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = prompt_tokens(usage)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }
