"""`POST /v1/messages`: the hub's agents for every client that speaks to Anthropic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import WRITE, HttpCall, Route
from hub.gateway.http_api.answers import AnswerShape, serve
from hub.gateway.http_api.client_tools import read_tools, word_or_object
from hub.gateway.http_api.kept_runs import Answer, ClientCall
from hub.gateway.http_api.openai_shapes import (
    BODY_LIMIT_BYTES,
    MESSAGES_LIMIT,
    MODEL,
    blocks_of,
    image_of,
    read_messages,
    result_message,
)
from hub.gateway.http_api.runs import ApiRequest, ApiRuns
from hub.models.contract import Block, Message, Role, ToolCallBlock, Usage

TEXT = {"text": "text"}
STOPS = {
    "end": "end_turn",
    "length": "max_tokens",
    "limit": "max_tokens",
    "tool_calls": "tool_use",
    "refused": "refusal",
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}

REQUEST_SCHEMA = Schema(
    {
        Optional("model", default=MODEL): All(str, Length(min=1, max=200)),
        Required("messages"): All(list, Length(min=1, max=MESSAGES_LIMIT)),
        Optional("system"): AnyOf(None, str, list),
        Optional("stream", default=False): AnyOf(boolean, None),
    },
    extra=ALLOW_EXTRA,
)


class AnthropicMessages:
    """Answers messages with runs.

    Args:
        runs: Makes and follows runs.
    """

    def __init__(self, runs: ApiRuns) -> None:
        self._runs = runs

    def routes(self) -> list[Route]:
        """Return the route."""
        limits: dict[str, Any] = {"body": REQUEST_SCHEMA, "body_limit": BODY_LIMIT_BYTES}
        path = "/v1/messages"
        return [Route("POST", path, self.answer, "gateway", scope=WRITE, show_error=show_error, **limits)]

    async def answer(self, call: HttpCall) -> web.StreamResponse:
        """Answer one request."""
        body = call.body
        _, read = read_messages(body["messages"], "messages", _whole_message)
        messages = [message for each in read for message in _split(each)]
        system = body.get("system")
        asked = ApiRequest(
            body["model"],
            messages,
            Message(Role.USER, blocks_of(system, "system", TEXT)).text if system else None,
            tools=read_tools(body.get("tools"), word_or_object(body.get("tool_choice")), _tool, ("name",)),
            stream=bool(body.get("stream")),
        )
        return await serve(self._runs, call, asked, _MessageShape(body["model"]))


class _MessageShape(AnswerShape):
    """One message, or its events."""

    def __init__(self, model: str) -> None:
        self._id = ""
        self._model = model
        self._text = False

    def begin(self, run_id: str) -> None:
        self._id = f"msg_{run_id}"

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
        content += [_use(call) | {"input": orjson.loads(_arguments(call))} for call in answer.calls]
        end = {"stop_reason": STOPS.get(answer.stop, "end_turn"), **answer.beside}
        return self._message(content, _usage(answer.usage)) | end

    def opening(self) -> bytes:
        return _event("message_start", message=self._message([], _usage(Usage())))

    def delta(self, text: str) -> bytes:
        said = b""
        if not self._text:
            self._text = True
            said = _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        return said + _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def closing(self, text: str, answer: Answer) -> bytes:
        said = _event("content_block_stop", index=0) if self._text else b""
        for index, call in enumerate(answer.calls, start=int(self._text)):
            said += _event("content_block_start", index=index, content_block=_use(call) | {"input": {}})
            delta = {"type": "input_json_delta", "partial_json": _arguments(call)}
            said += _event("content_block_delta", index=index, delta=delta)
            said += _event("content_block_stop", index=index)
        end = {"stop_reason": STOPS.get(answer.stop, "end_turn"), "stop_sequence": None}
        told = {"delta": end, "usage": _usage(answer.usage), **answer.beside}
        return said + _event("message_delta", **told) + _event("message_stop")

    def broken(self, error: HubError) -> bytes:
        return b"event: error\ndata: %b\n\n" % orjson.dumps(show_error(error))

    def error(self, error: HubError) -> Mapping[str, Any]:
        return show_error(error)

    def _message(self, content: list[dict[str, Any]], usage: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }


def show_error(error: HubError) -> Mapping[str, Any]:
    """Return an error in Anthropic's shape, with our code as everywhere."""
    kind = _TYPES.get(error.http_status, "invalid_request_error" if error.http_status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "code": error.code, "message": error.message}}


def _whole_message(message: Mapping[str, Any], place: str) -> Message:
    """Return a message with the results of tools in it still among its blocks (see `_split`)."""
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        raise InvalidRequest(f"{place}.role: expected user or assistant", details={"param": place})
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    blocks: list[Any] = []
    for index, part in enumerate(parts):
        blocks.extend(_blocks(part, f"{place}.content[{index}]", Role(role)))
    return Message(Role(role), tuple(blocks))


def _split(message: Message) -> list[Message]:
    """Return the results of tools in a message of the user, then what else it says."""
    given: tuple[Any, ...] = message.content
    results = [each for each in given if isinstance(each, Message)]
    rest = tuple(each for each in given if not isinstance(each, Message))
    return [*results, *([Message(message.role, rest)] if rest or not results else [])]


def _blocks(part: Any, place: str, role: Role) -> list[Block | Message]:
    match part:
        case {"type": "text"}:
            return list(blocks_of([part], place, TEXT))
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return [image_of(f"data:{kind};base64,{data}", place)]
        case {"type": "tool_use", "id": str(id), "name": str(name)} if role is Role.ASSISTANT:
            arguments = part.get("input")
            return [ToolCallBlock(id, name, arguments if isinstance(arguments, Mapping) else {})]
        case {"type": "tool_result"} if role is Role.USER:
            content = part.get("content") or ""
            given = content if isinstance(content, list) else [{"type": "text", "text": content}]
            blocks = [block for each in given for block in _blocks(each, place, Role.TOOL)]
            result = result_message(part.get("tool_use_id"), None, place, TEXT)
            kept = tuple(block for block in blocks if not isinstance(block, Message))
            return [
                Message(Role.TOOL, kept, result.tool_call_id, result.tool_name, is_error=part.get("is_error") is True)
            ]
        case {"type": "thinking" | "redacted_thinking"} if role is Role.ASSISTANT:
            return []  # another model's means nothing to the hub's agents
    kind = str(part.get("type") if isinstance(part, Mapping) else part)[:40]
    raise InvalidRequest(
        f"{place}: a block of the type {kind!r} is not taken; send text, images in base64, tool_use and tool_result",
        details={"param": place},
    )


def _tool(tool: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    if tool.get("type", "custom") not in ("custom", None):
        kind = str(tool.get("type"))[:40]
        raise InvalidRequest(
            f"{place}: tools of the type {kind} are not taken; the hub's agents have their own",
            details={"param": place},
        )
    return {**tool, "parameters": tool.get("input_schema")}


def _use(call: ClientCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _arguments(call: ClientCall) -> str:
    """Return the arguments of a call as a JSON object, which this API insists on."""
    try:
        return call.arguments if isinstance(orjson.loads(call.arguments), dict) else "{}"
    except ValueError:
        return orjson.dumps({"malformed_arguments": call.arguments}).decode()


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }


def _event(type: str, **data: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (type.encode(), orjson.dumps({"type": type, **data}))
