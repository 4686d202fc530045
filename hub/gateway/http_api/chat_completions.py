"""`POST /v1/chat/completions`: the hub's agents for every client that speaks to OpenAI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import HttpCall, Route
from hub.gateway.http_api.answers import AnswerShape, serve
from hub.gateway.http_api.client_tools import arguments_of, function_of, read_form, read_tools
from hub.gateway.http_api.kept_runs import Answer, ClientCall
from hub.gateway.http_api.openai_shapes import (
    EFFORT,
    FINISH_REASONS,
    MESSAGES_LIMIT,
    USUAL_KEYS,
    answering,
    prompt_tokens,
    read_messages,
    refuse,
    result_message,
    said_message,
    show_error,
    thinking_of,
)
from hub.gateway.http_api.runs import ApiRequest, ApiRuns
from hub.models.contract import Message, Role, ToolCallBlock, Usage

PARTS = {"text": "text", "image_url": "image"}
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


class ChatCompletions:
    """Answers chat completions with runs.

    Args:
        runs: Makes and follows runs.
    """

    def __init__(self, runs: ApiRuns) -> None:
        self._runs = runs

    def routes(self) -> list[Route]:
        """Return the route."""
        return [answering("/v1/chat/completions", self.complete, REQUEST_SCHEMA)]

    async def complete(self, call: HttpCall) -> web.StreamResponse:
        """Answer one request."""
        body = call.body
        refuse(body, ("functions", "function_call"), "it was replaced by `tools` and `tool_choice`, which are taken")
        refuse(body, ("audio",), "answers are text; turn it into speech at /v1/audio/speech")
        if (body.get("n") or 1) != 1:
            raise InvalidRequest("n: there is one answer", details={"param": "n"})
        system, messages = read_messages(body["messages"], "messages", _message)
        asked = ApiRequest(
            body["model"],
            messages,
            system,
            user=body.get("user"),
            tools=read_tools(body.get("tools"), body.get("tool_choice"), function_of, ("function", "name")),
            form=read_form(body.get("response_format"), "response_format"),
            thinking=thinking_of(body.get("reasoning_effort")),
            stream=bool(body.get("stream")),
        )
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return await serve(
            self._runs, call, asked, _ChatShape(body["model"], int(self._runs.clock.time()), with_usage=usage)
        )


class _ChatShape(AnswerShape):
    """One completion, or its chunks."""

    def __init__(self, model: str, created_s: int, *, with_usage: bool) -> None:
        self._head = {"id": "", "created": created_s, "model": model}
        self._with_usage = with_usage
        self._more: dict[str, Any] = {"usage": None} if with_usage else {}

    def begin(self, run_id: str) -> None:
        self._head["id"] = f"chatcmpl-{run_id}"

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.calls:
            message["content"] = answer.text or None
            message["tool_calls"] = [_call(call) for call in answer.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
        head = {**self._head, "object": "chat.completion"}
        return {**head, "choices": [choice], "usage": _usage(answer.usage), **answer.beside}

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

    def broken(self, error: HubError) -> bytes:
        return b"data: " + orjson.dumps(show_error(error)) + b"\n\n"

    def error(self, error: HubError) -> Mapping[str, Any]:
        return show_error(error)

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        data = {**self._head, "object": "chat.completion.chunk", "choices": choices, **more}
        return b"data: " + orjson.dumps(data) + b"\n\n"


def _message(message: Mapping[str, Any], place: str) -> Message | str:
    if message.get("role") == "tool":
        return result_message(message.get("tool_call_id"), message.get("content"), place, PARTS)
    said = said_message(message, place, PARTS)
    if isinstance(said, str) or said.role is not Role.ASSISTANT:
        return said
    return Message(Role.ASSISTANT, (*said.content, *calls_of(message.get("tool_calls"), f"{place}.tool_calls")))


def calls_of(given: Any, place: str) -> list[ToolCallBlock]:
    """Return the calls that an earlier answer asked for."""
    read = []
    for index, call in enumerate(given if isinstance(given, list) else ()):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(call.get("id"), str):
            raise InvalidRequest(f"{place}[{index}]: expected the call of a function", details={"param": place})
        arguments, malformed = arguments_of(function.get("arguments"), f"{place}[{index}]")
        read.append(ToolCallBlock(call["id"], str(function.get("name")), arguments, malformed))
    return read


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
