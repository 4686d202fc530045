"""`POST /v1/chat/completions`: the hub's agents for every client that speaks to OpenAI."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from hub.agent.run_request import RunResult, RunStatus
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, In, Length, Optional, Required, Schema, boolean
from hub.gateway.contract import WRITE, HttpCall, Route
from hub.gateway.http_api.openai_shapes import (
    BODY_LIMIT_BYTES,
    FINISH_REASONS,
    MESSAGES_LIMIT,
    MODEL,
    RunFailed,
    blocks_of,
    prompt_tokens,
    refuse,
    show_error,
    split_new,
)
from hub.gateway.http_api.runs import ApiRuns, Asked
from hub.models.contract import Message, Role, Usage

PARTS = {"text": "text", "image_url": "image"}
SYSTEM_ROLES = frozenset({"system", "developer"})
KEEPALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"

REQUEST_SCHEMA = Schema(
    {
        Optional("model", default=MODEL): All(str, Length(min=1, max=200)),
        Required("messages"): All(list, Length(min=1, max=MESSAGES_LIMIT)),
        Optional("stream", default=False): AnyOf(boolean, None),
        Optional("stream_options"): AnyOf(None, {Optional("include_usage", default=False): boolean, str: object}),
        Optional("user"): AnyOf(None, All(str, Length(min=1, max=256))),
        Optional("reasoning_effort"): AnyOf(None, In(["none", "minimal", "low", "medium", "high"])),
    },
    extra=ALLOW_EXTRA,
)
"""Sampling parameters (temperature and the like) are the agent's own and are not taken from clients."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What every chunk of an answer begins with."""

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
        return [
            Route(
                "POST",
                "/v1/chat/completions",
                self.complete,
                "gateway",
                scope=WRITE,
                body=REQUEST_SCHEMA,
                body_limit=BODY_LIMIT_BYTES,
                show_error=show_error,
            )
        ]

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
        system, messages = read_messages(body["messages"])
        target = await self._runs.target(call, body["model"], body.get("user"))
        history, message = split_new(messages, persistent=target.persistent)
        effort = body.get("reasoning_effort")
        asked = Asked(target, message, history, system, "off" if effort == "none" else effort)
        request = self._runs.request(call, asked)
        head = _Head(f"chatcmpl-{request.run_id}", int(time.time()), body["model"])
        if body.get("stream"):
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            return await self._stream(call, request, head, with_usage=usage)
        async with self._runs.follow(request, streaming=False) as run:
            result = await run.result()
        if (error := failure(result)) is not None:
            return failed(error)
        data = {
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
        return web.Response(body=orjson.dumps(data), content_type="application/json", headers=no_store())

    async def _stream(self, call: HttpCall, request: Any, head: _Head, *, with_usage: bool) -> web.StreamResponse:
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


def read_messages(messages: list[Any]) -> tuple[str | None, list[Message]]:
    """Return the extra prompt of system messages, and the others.

    Raises:
        InvalidRequest: One is malformed, or answers a tool of the client's.
    """
    system: list[str] = []
    read: list[Message] = []
    for index, message in enumerate(messages):
        place = f"messages[{index}]"
        if not isinstance(message, Mapping):
            raise InvalidRequest(f"{place}: expected an object", details={"param": place})
        role = message.get("role")
        if role in ("tool", "function") or message.get("tool_calls") or message.get("function_call"):
            raise InvalidRequest(
                f"{place}: the hub's agents use the hub's own tools; tool calls of clients are not taken",
                details={"param": place},
            )
        if role not in ("user", "assistant", *SYSTEM_ROLES):
            raise InvalidRequest(f"{place}.role: expected system, user or assistant", details={"param": place})
        blocks = blocks_of(message.get("content"), f"{place}.content", PARTS)
        if role in SYSTEM_ROLES:
            system.append(Message(Role.USER, blocks).text)
        else:
            read.append(Message(Role.USER if role == "user" else Role.ASSISTANT, blocks))
    return "\n\n".join(filter(None, system)) or None, read


def failure(result: RunResult) -> RunFailed | None:
    """Return why a run has no answer, or None; what was said until it was stopped is one."""
    if result.status in (RunStatus.OK, RunStatus.ABORTED):
        return None
    return RunFailed(result.error, result.status)


def failed(error: HubError) -> web.Response:
    """Return the answer to a run that failed; clients are asked not to repeat by themselves what may have acted."""
    return web.Response(
        body=orjson.dumps(show_error(error)),
        status=error.http_status,
        content_type="application/json",
        headers=no_store() | {"x-should-retry": "false"},
    )


async def open_stream(call: HttpCall) -> web.StreamResponse:
    """Begin an answer of server-sent events."""
    response = web.StreamResponse(headers=no_store() | {"X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"})
    response.content_type = "text/event-stream"
    response.charset = "utf-8"
    await response.prepare(call.request)
    return response


def no_store() -> dict[str, str]:
    """Return the headers of an answer that nobody keeps."""
    return {"Cache-Control": "no-store", "Server": "homarus"}


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
