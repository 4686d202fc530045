"""The shapes of the OpenAI API: its requests, and its errors.

Messages of Chat Completions are the only shape that is read; other APIs translate theirs into it.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.errors import HubError
from hub.core.schema import All, AnyOf, In, Length, Optional, Schema, boolean
from hub.core.surfaces import WRITE, HttpHandler, Route
from hub.gateway.http_api.client_tools import arguments_of, malformed
from hub.models.contract import Block, Image, Message, Role, TextBlock, ToolCallBlock, Usage

ShowError = Callable[[HubError], Mapping[str, Any]]

MODEL = "homarus"
MESSAGES_LIMIT = 2_000
BODY_LIMIT_BYTES = 26_214_400
SYSTEM_ROLES = frozenset({"system", "developer"})
PARTS = {"text": "text", "input_text": "text", "output_text": "text", "image_url": "image", "input_image": "image"}
"""Types of the parts of a message's content, those of Responses too, and what each is."""

EFFORT = AnyOf(None, In(["none", "minimal", "low", "medium", "high"]))
USUAL_KEYS: Mapping[Any, Any] = {
    Optional("model", default=MODEL): All(str, Length(min=1, max=200)),
    Optional("stream", default=False): AnyOf(boolean, None),
    Optional("user"): AnyOf(None, All(str, Length(min=1, max=256))),
}
"""What every request may say. Sampling parameters (temperature and the like) are the agent's own and are not taken."""

_DATA_URL = re.compile(r"^data:(image/[a-z0-9.+-]{1,40});base64,([A-Za-z0-9+/=\s]+)$", re.IGNORECASE)
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
_STATUS_OF_CODE = {
    "INVALID_REQUEST": 400,
    "NOT_FOUND": 404,
    "FORBIDDEN": 403,
    "LIMIT_EXCEEDED": 429,
    "MODEL_RATE_LIMITED": 429,
    "MODEL_CONTEXT_OVERFLOW": 400,
    "MODEL_OVERLOADED": 503,
    "MODEL_TIMEOUT": 504,
    "TIMEOUT": 504,
    "UNAVAILABLE": 503,
}
FINISH_REASONS = {
    "end": "stop",
    "length": "length",
    "limit": "length",
    "refused": "content_filter",
    "tool_calls": "tool_calls",
}


class RunFailed(HubError):
    """A run ended without an answer; code and status are those of its error."""

    def __init__(self, error: Mapping[str, Any] | None, status: str) -> None:
        error = error or {}
        super().__init__(str(error.get("message") or f"the run ended: {status}"))
        self.code = str(error.get("code") or ("TIMEOUT" if status == "timeout" else "INTERNAL"))
        fallback = 502 if self.code.startswith("MODEL_") else 500
        self.http_status = _STATUS_OF_CODE.get(self.code, fallback)


def show_error(error: HubError) -> Mapping[str, Any]:
    """Return an error in OpenAI's shape; `code` is ours."""
    status = error.http_status
    return {
        "error": {
            "message": error.message,
            "type": _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error"),
            "param": error.details.get("param"),
            "code": error.code,
        }
    }


def post_route(path: str, handler: HttpHandler, body: Schema, show_error: ShowError = show_error) -> Route:
    """Return a route that takes JSON."""
    return Route(
        "POST", path, handler, "gateway", scope=WRITE, body=body, body_limit=BODY_LIMIT_BYTES, show_error=show_error
    )


def agent_of(model: str, agents: Agents) -> str | None:
    """Return the agent a model name means: `homarus/<agent>`; None for anything else, the default agent.

    Raises:
        NotFound: There is no such agent.
    """
    prefix, _, agent = model.partition("/")
    return agents.get(agent).id if prefix == MODEL and agent else None


def model_names(agents: Agents) -> list[str]:
    """Return the model names that select an agent."""
    return [MODEL, *(f"{MODEL}/{each.id}" for each in agents.all())]


def refuse(body: Mapping[str, Any], names: Iterable[str], reason: str) -> None:
    """Raise for a parameter that cannot be honoured.

    Raises:
        InvalidRequest: It is present; `reason` says why it is refused.
    """
    for name in names:
        if body.get(name):
            raise malformed(name, reason)


def thinking_level(effort: str | None) -> str | None:
    """Return the thinking level for an effort."""
    return "off" if effort == "none" else effort


def enumerate_items(given: list[Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the items of a request's list, each with its path, for errors.

    Raises:
        InvalidRequest: One is not an object.
    """
    for index, each in enumerate(given):
        if not isinstance(each, Mapping):
            raise malformed(f"{name}[{index}]", "expected an object")
        yield f"{name}[{index}]", each


def read_messages(given: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[str | None, list[Message]]:
    """Return the system messages as an extra prompt, and the others; adjacent assistant messages are joined.

    Args:
        given: Messages of Chat Completions, each with its place, for errors; `is_error` marks a tool's failure.

    Raises:
        InvalidRequest: One is malformed, or not taken.
    """
    system: list[str] = []
    messages: list[Message] = []
    for place, each in given:
        message = _message(each, place)
        if isinstance(message, str):
            system.append(message)
        elif messages and message.role is messages[-1].role is Role.ASSISTANT:
            messages[-1] = Message(Role.ASSISTANT, (*messages[-1].content, *message.content))
        else:
            messages.append(message)
    return "\n\n".join(filter(None, system)) or None, messages


def _message(message: Mapping[str, Any], place: str) -> Message | str:
    """Return a message, or the text of a system message."""
    role, content, id = message.get("role"), message.get("content"), message.get("tool_call_id")
    if role not in ("user", "assistant", "tool", *SYSTEM_ROLES):
        raise malformed(f"{place}.role", "expected system, user, assistant or a tool's result")
    if role == "tool" and not (isinstance(id, str) and id):
        raise malformed(place, "expected the id of the tool call")
    is_empty = content is None and role in ("assistant", "tool")
    blocks = () if is_empty else blocks_of(content, f"{place}.content")
    if role in SYSTEM_ROLES:
        return Message(Role.USER, blocks).text
    if role == "tool":
        return Message(Role.TOOL, blocks, tool_call_id=id, tool_name="tool", is_error=message.get("is_error") is True)
    calls = _calls(message.get("tool_calls"), f"{place}.tool_calls") if role == "assistant" else ()
    return Message(Role(role), (*blocks, *calls))


def _calls(given: Any, place: str) -> Iterator[ToolCallBlock]:
    """Yield the tool calls of an earlier answer."""
    for index, call in enumerate(given if isinstance(given, list) else ()):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(call.get("id"), str):
            raise malformed(f"{place}[{index}]", "expected the call of a function")
        yield ToolCallBlock(
            call["id"], str(function.get("name")), *arguments_of(function.get("arguments"), f"{place}[{index}]")
        )


def blocks_of(content: Any, place: str) -> tuple[Block, ...]:
    """Return the blocks of a message's content: text, or a list of parts.

    Args:
        place: Its path, for errors.

    Raises:
        InvalidRequest: A part is of another kind, or malformed.
    """
    if isinstance(content, str):
        return (TextBlock(content),)
    if not isinstance(content, list):
        raise malformed(place, "expected text or a list of parts")
    return tuple(_block(part, at) for at, part in enumerate_items(content, place))


def join_messages(messages: Iterable[Message]) -> Message:
    """Return several messages of a user as one."""
    blocks: list[Block] = []
    for message in messages:
        if blocks and isinstance(blocks[-1], TextBlock):
            blocks.append(TextBlock("\n\n"))
        blocks.extend(message.content)
    return Message(Role.USER, tuple(blocks))


def prompt_tokens(usage: Usage) -> int:
    """Return the input tokens, including cached ones."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def _block(part: Mapping[str, Any], place: str) -> Block:
    kind = PARTS.get(str(part.get("type")))
    if kind == "text" and isinstance(part.get("text"), str):
        return TextBlock(part["text"])
    if kind == "image":
        return _image(part.get("image_url"), place)
    raise malformed(
        place,
        f"a part of the type {str(part.get('type'))[:40]!r} is not supported; send text, or images as data: URLs "
        "(recordings go to /v1/audio/transcriptions first)",
    )


def _image(source: Any, place: str) -> Image:
    url = source.get("url") if isinstance(source, Mapping) else source
    match = _DATA_URL.match(url) if isinstance(url, str) else None
    if match is None:
        raise malformed(place, "expected images as data: URLs in base64; the hub fetches no addresses for clients")
    data = "".join(match[2].split())
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise malformed(place, "the image is not base64") from None
    return Image(match[1].lower(), data)
