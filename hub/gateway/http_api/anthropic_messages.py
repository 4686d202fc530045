"""`POST /v1/messages`: the hub's agents for every client of Anthropic's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import Route
from hub.gateway.http_api.answers import AnswerShape, answering_route
from hub.gateway.http_api.client_tools import malformed, read_tools
from hub.gateway.http_api.kept_runs import Answer, ClientCall
from hub.gateway.http_api.openai_shapes import MESSAGES_LIMIT, MODEL, blocks_of, enumerate_items, read_messages
from hub.gateway.http_api.runs import ApiRequest, ApiRuns
from hub.models.contract import Message, Role, Usage

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


def anthropic_messages(runs: ApiRuns) -> Route:
    """Return the route."""
    return answering_route(runs, "/v1/messages", REQUEST_SCHEMA, _read, show_error)


def _read(body: Mapping[str, Any], clock: Clock) -> tuple[ApiRequest, AnswerShape]:
    _, messages = read_messages(_messages(body["messages"]))
    system, choice = body.get("system"), body.get("tool_choice")
    if isinstance(choice, Mapping) and "name" not in choice:
        choice = choice.get("type")
    asked = ApiRequest(
        body["model"],
        messages,
        Message(Role.USER, blocks_of(system, "system")).text if system else None,
        tools=read_tools(_tools(body.get("tools")), choice),
        stream=bool(body.get("stream")),
    )
    return asked, _MessageShape(body["model"])


class _MessageShape(AnswerShape):
    """One message, or its events."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._text = False

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
        return b"event: error\n" + super().broken(error)

    def error(self, error: HubError) -> Mapping[str, Any]:
        return show_error(error)

    def _message(self, content: list[dict[str, Any]], usage: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": f"msg_{self.run_id}",
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


def _messages(given: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield messages in the Chat Completions form: tool results first, each as a message of its own."""
    for place, message in enumerate_items(given, "messages"):
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            raise malformed(f"{place}.role", "expected user or assistant")
        parts: list[Mapping[str, Any]] = []
        calls: list[Mapping[str, Any]] = []
        results: list[tuple[str, Mapping[str, Any]]] = []
        for index, part in enumerate(_parts(content)):
            at = f"{place}.content[{index}]"
            match part:
                case {"type": "tool_use", "id": str(id), "name": str(name)} if role == "assistant":
                    arguments = part.get("input")
                    arguments = arguments if isinstance(arguments, Mapping) else {}
                    calls.append({"id": id, "function": {"name": name, "arguments": arguments}})
                case {"type": "tool_result"} if role == "user":
                    said = [_part(each, at) for each in _parts(part.get("content") or "")]
                    told = {"content": said, "is_error": part.get("is_error")}
                    results.append((at, {"role": "tool", "tool_call_id": part.get("tool_use_id"), **told}))
                case {"type": "thinking" | "redacted_thinking"} if role == "assistant":
                    pass  # another model's means nothing to the hub's agents
                case _:
                    parts.append(_part(part, at))
        yield from results
        if parts or not results:
            yield place, {"role": role, "content": parts, "tool_calls": calls}


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _part(part: Any, place: str) -> Mapping[str, Any]:
    match part:
        case {"type": "text"}:
            return {"type": "text", "text": part.get("text")}
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return {"type": "image_url", "image_url": f"data:{kind};base64,{data}"}
    kind = str(part.get("type") if isinstance(part, Mapping) else part)[:40]
    raise malformed(
        place,
        f"a block of the type {kind!r} is not supported; send text, images in base64, tool_use and tool_result",
    )


def _tools(given: Any) -> Any:
    """Return tools in the Responses form."""
    if not isinstance(given, list):
        return given
    return [
        {
            **each,
            **({"type": "function"} if each.get("type") in ("custom", None) else {}),
            "parameters": each.get("input_schema"),
        }
        if isinstance(each, Mapping)
        else each
        for each in given
    ]


def _use(call: ClientCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _arguments(call: ClientCall) -> str:
    """Return the arguments of a call as a JSON object, which this API requires."""
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
