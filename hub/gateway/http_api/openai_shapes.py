"""The shapes of the OpenAI API: what clients send, and errors as they read them."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from hub.agent.agents import Agents
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import All, AnyOf, In, Length, Optional, Schema, boolean
from hub.core.surfaces import WRITE, HttpCall, Route
from hub.models.contract import Block, Image, Message, Role, TextBlock, Usage

MODEL = "homarus"
MESSAGES_LIMIT = 2_000
BODY_LIMIT_BYTES = 26_214_400
SYSTEM_ROLES = frozenset({"system", "developer"})

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


def answering(path: str, handler: Callable[[HttpCall], Awaitable[web.StreamResponse]], body: Schema) -> Route:
    """Return the route of a request that a run answers."""
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
    """Return the names of models that mean an agent."""
    return [MODEL, *(f"{MODEL}/{each.id}" for each in agents.all())]


def refuse(body: Mapping[str, Any], names: Iterable[str], reason: str) -> None:
    """Raise when a parameter is used that cannot be honoured.

    Raises:
        InvalidRequest: It is; `reason` says why it cannot.
    """
    for name in names:
        if body.get(name):
            raise InvalidRequest(f"{name}: {reason}", details={"param": name})


def thinking_of(effort: str | None) -> str | None:
    """Return the thinking level that an effort means."""
    return "off" if effort == "none" else effort


def read_messages(
    given: list[Any], name: str, read: Callable[[Mapping[str, Any], str], Message | str | None]
) -> tuple[str | None, list[Message]]:
    """Return the extra prompt of system messages, and the others; neighbours of the assistant become one.

    Args:
        given: As the client sent them.
        name: The parameter they came in, for errors.
        read: Returns the message that one is, given its place too, a text for the prompt, or None for nothing.

    Raises:
        InvalidRequest: One is malformed, or not taken.
    """
    system: list[str] = []
    messages: list[Message] = []
    for index, each in enumerate(given):
        place = f"{name}[{index}]"
        if not isinstance(each, Mapping):
            raise InvalidRequest(f"{place}: expected an object", details={"param": place})
        message = read(each, place)
        if isinstance(message, str):
            system.append(message)
        elif message is not None:
            if messages and message.role is messages[-1].role is Role.ASSISTANT:
                messages[-1] = Message(Role.ASSISTANT, (*messages[-1].content, *message.content))
            else:
                messages.append(message)
    return "\n\n".join(filter(None, system)) or None, messages


def said_message(message: Mapping[str, Any], place: str, kinds: Mapping[str, str]) -> Message | str:
    """Return a message of the user or the assistant, or the text of one of the system.

    Raises:
        InvalidRequest: It is none of them, or malformed.
    """
    role = message.get("role")
    if role not in ("user", "assistant", *SYSTEM_ROLES):
        raise InvalidRequest(
            f"{place}.role: expected system, user, assistant or a tool's result", details={"param": place}
        )
    content = message.get("content")
    empty = content is None and role == "assistant"
    blocks = () if empty else blocks_of(content, f"{place}.content", kinds)
    if role in SYSTEM_ROLES:
        return Message(Role.USER, blocks).text
    return Message(Role.USER if role == "user" else Role.ASSISTANT, blocks)


def result_message(id: Any, content: Any, place: str, kinds: Mapping[str, str]) -> Message:
    """Return the result of a client's tool.

    Raises:
        InvalidRequest: It does not say of which call, or is malformed.
    """
    if not isinstance(id, str) or not id:
        raise InvalidRequest(f"{place}: expected the id of the tool call", details={"param": place})
    blocks = () if content is None else blocks_of(content, f"{place}.content", kinds)
    return Message(Role.TOOL, blocks, tool_call_id=id, tool_name="tool")


def blocks_of(content: Any, place: str, kinds: Mapping[str, str]) -> tuple[Block, ...]:
    """Return the blocks of a message's content.

    Args:
        content: Text, or a list of parts.
        place: Where it stands, for errors.
        kinds: Type of part → `text` or `image`.

    Raises:
        InvalidRequest: A part is of another kind, or malformed.
    """
    if isinstance(content, str):
        return (TextBlock(content),)
    if not isinstance(content, list):
        raise InvalidRequest(f"{place}: expected text or a list of parts", details={"param": place})
    return tuple(_block(part, f"{place}[{index}]", kinds) for index, part in enumerate(content))


def joined(messages: Iterable[Message]) -> Message:
    """Return several messages of a user as one."""
    blocks: list[Block] = []
    for message in messages:
        if blocks and isinstance(blocks[-1], TextBlock):
            blocks.append(TextBlock("\n\n"))
        blocks.extend(message.content)
    return Message(Role.USER, tuple(blocks))


def prompt_tokens(usage: Usage) -> int:
    """Return the tokens that went in, those from a cache too."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def _block(part: Any, place: str, kinds: Mapping[str, str]) -> Block:
    if not isinstance(part, Mapping):
        raise InvalidRequest(f"{place}: expected an object", details={"param": place})
    kind = kinds.get(str(part.get("type")))
    if kind == "text" and isinstance(part.get("text"), str):
        return TextBlock(part["text"])
    if kind == "image":
        return image_of(part.get("image_url"), place)
    raise InvalidRequest(
        f"{place}: a part of the type {str(part.get('type'))[:40]!r} is not taken; send text, or images as "
        "data: URLs (recordings go to /v1/audio/transcriptions first)",
        details={"param": place},
    )


def image_of(source: Any, place: str) -> Image:
    """Return the image of a data: URL.

    Raises:
        InvalidRequest: It is another URL, or malformed.
    """
    url = source.get("url") if isinstance(source, Mapping) else source
    match = _DATA_URL.match(url) if isinstance(url, str) else None
    if match is None:
        raise InvalidRequest(
            f"{place}: images are taken as data: URLs in base64; the hub fetches no addresses for clients",
            details={"param": place},
        )
    data = "".join(match[2].split())
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"{place}: the image is not base64", details={"param": place}) from None
    return Image(match[1].lower(), data)
