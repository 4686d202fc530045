"""`POST /v1/chat/completions`: the hub's agents for every client that speaks to OpenAI."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web
from msgspec import Struct

from hub.agent.run_request import RunRequest, RunResult
from hub.core.errors import InvalidRequest
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.gateway.calls.contract import HttpCall, Route
from hub.gateway.http_api.answers import KEEPALIVE, answered, failed, failure, open_stream
from hub.gateway.http_api.openai_shapes import (
    EFFORT,
    FINISH_REASONS,
    MESSAGES_LIMIT,
    USUAL_KEYS,
    answering,
    prompt_tokens,
    read_messages,
    refuse,
    show_error,
    split_new,
    thinking_of,
)
from hub.gateway.http_api.runs import ApiRuns, RunQuery
from hub.models.contract import Usage

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


class _Head(Struct, frozen=True):
    """The fields that every chunk begins with."""

    id: str
    created: int
    model: str

    def chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        data = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }
        return b"data: " + orjson.dumps(data) + b"\n\n"


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
        """Answer one request; a client that disconnects aborts the run."""
        body = call.body
        refuse(
            body, ("tools", "functions"), "the hub's agents use the hub's own tools; tools of clients are not called"
        )
        if (body.get("n") or 1) != 1:
            raise InvalidRequest("n: there is one answer", details={"param": "n"})
        if (body.get("response_format") or {"type": "text"}) != {"type": "text"}:
            raise InvalidRequest("response_format: answers are text", details={"param": "response_format"})
        system, messages = read_messages(body["messages"], "messages", PARTS, _refuse_tools)
        target = await self._runs.target(call, body["model"], body.get("user"))
        history, message = split_new(messages, persistent=target.persistent)
        asked = RunQuery(target, message, history, system, thinking_of(body.get("reasoning_effort")))
        request = self._runs.request(call, asked)
        head = _Head(f"chatcmpl-{request.run_id}", int(time.time()), body["model"])
        if body.get("stream"):
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            return await self._stream(call, request, head, with_usage=usage)
        async with self._runs.follow(request, streaming=False) as run:
            result = await run.result()
        if (error := failure(result)) is not None:
            return failed(error)
        return answered(
            {
                "id": head.id,
                "object": "chat.completion",
                "created": head.created,
                "model": head.model,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": result.reply, "refusal": None},
                        "logprobs": None,
                        "finish_reason": _finish(result),
                    }
                ],
                "usage": _usage(result.usage),
            }
        )

    async def _stream(
        self, call: HttpCall, request: RunRequest, head: _Head, *, with_usage: bool
    ) -> web.StreamResponse:
        response: web.StreamResponse | None = None
        more: dict[str, Any] = {"usage": None} if with_usage else {}
        async with self._runs.follow(request, streaming=True) as run:
            async for text in run.pieces(self._runs.keepalive_s):
                if response is None:
                    response = await open_stream(call)
                    await response.write(head.chunk([_choice({"role": "assistant", "content": ""})], **more))
                await response.write(head.chunk([_choice({"content": text})], **more) if text else KEEPALIVE)
            result = await run.result()
        if (error := failure(result)) is not None:
            if response is None:
                return failed(error)
            await response.write(b"data: " + orjson.dumps(show_error(error)) + b"\n\n")
            return response
        tail = b""
        if response is None:
            response = await open_stream(call)
            tail += head.chunk([_choice({"role": "assistant", "content": result.reply})], **more)
        tail += head.chunk([_choice({}, _finish(result))], **more)
        if with_usage:
            tail += head.chunk([], usage=_usage(result.usage))
        await response.write(tail + DONE)
        return response


def _refuse_tools(message: Mapping[str, Any], place: str) -> None:
    if message.get("role") in ("tool", "function") or message.get("tool_calls") or message.get("function_call"):
        raise InvalidRequest(
            f"{place}: the hub's agents use the hub's own tools; tool calls of clients are not taken",
            details={"param": place},
        )


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _finish(result: RunResult) -> str:
    return FINISH_REASONS.get(result.stop, "stop")


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = prompt_tokens(usage)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }
