"""The contract for model providers: one request in, a stream of events out, typed errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import asdict

from hub.core.context import Context
from hub.core.errors import HubError
from hub.models.answer_form import AnswerForm

AUTO = "auto"
"""The reference that leaves the choice of a model to the hub."""
CACHE_TTL_S = 300.0
"""Seconds for which a provider keeps what it was sent in its cache, where nothing else is agreed with it."""
DEFAULT_TIMEOUT_S = 120.0
"""Seconds until the first event of a model, then between two."""


class Role(StrEnum):
    """The role of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "toolResult"


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSED = "refused"
    ABORTED = "aborted"


class TextBlock(Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="text"):
    """A piece of text."""

    text: str


class Thinking(Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="thinking"):
    """The visible thinking of a model; `signature` is the provider's, to be sent back unchanged."""

    text: str = field(name="thinking")
    signature: str | None = None


class ToolCallBlock(Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="toolCall"):
    """A tool call a model asks for.

    `arguments` is what the model wrote, parsed; when it wrote no valid JSON object, `arguments` is empty and
    `malformed` holds its text.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    malformed: str | None = None


class Image(Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="image"):
    """An image, base64 without prefix."""

    mime_type: str = field(name="mimeType")
    data: str


Block = TextBlock | Thinking | ToolCallBlock | Image


class Message(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """One message of a conversation; names in JSON are those of `as_dict`.

    Attributes:
        role: The speaker.
        content: Its blocks, in order.
        tool_call_id, tool_name, is_error: Of a tool result: the call it answers, the tool, and whether it failed.
    """

    role: Role
    content: tuple[Block, ...]
    tool_call_id: str | None = field(default=None, name="toolCallId")
    tool_name: str | None = field(default=None, name="toolName")
    is_error: bool = field(default=False, name="isError")

    @property
    def text(self) -> str:
        """All its text blocks, joined."""
        text = ""
        for block in self.content:
            if isinstance(block, TextBlock):
                text += block.text
        return text

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        """Its tool calls, in order."""
        calls: tuple[ToolCallBlock, ...] = ()
        for block in self.content:
            if type(block) is ToolCallBlock:
                calls += (block,)
        return calls

    def as_dict(self) -> dict[str, Any]:
        """The message in the gateway's wire shape, which is also the stored form in transcripts."""
        shown: dict[str, Any] = {"role": self.role.value, "content": list(map(_block_as_dict, self.content))}
        if self.role is Role.TOOL:
            shown |= {"toolCallId": self.tool_call_id, "toolName": self.tool_name, "isError": self.is_error}
        return shown

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Message:
        """Read the result of `as_dict`; blocks of unknown types become text that says so.

        Raises:
            ValueError, KeyError: It is not a message.
        """
        content = stored["content"]
        blocks: Sequence[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return cls(
            role=Role(stored["role"]),
            content=tuple(_block_from_dict(block) for block in blocks),
            tool_call_id=stored.get("toolCallId"),
            tool_name=stored.get("toolName"),
            is_error=bool(stored.get("isError", False)),
        )


def user_message(text: str) -> Message:
    """Return a user's message of plain text."""
    return Message(Role.USER, (TextBlock(text),))


def tool_result(call: ToolCallBlock, output: str, *, is_error: bool = False) -> Message:
    """Return the result message that answers `call`."""
    return Message(Role.TOOL, (TextBlock(output),), tool_call_id=call.id, tool_name=call.name, is_error=is_error)


class ToolSpec(Struct, frozen=True):
    """A tool as described to a model; `parameters` is JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ModelRequest(Struct, frozen=True):
    """One call of a model.

    Attributes:
        model: Id as the provider knows it.
        system: System prompt; byte-stable between the turns of a session so that provider caches hit.
        messages: The conversation; every tool call in it has its result.
        tools: Tools it may call, in a stable order.
        max_output_tokens: Bound on the answer; None leaves it to the provider.
        temperature: None leaves it to the provider.
        thinking: off | minimal | low | medium | high, or None for the model's default.
        session_key: The conversation, for providers that cache by it and for the offline model.
        timeout_s: The time until the first event; then between two events.
        extra: Provider-specific parameters from the configuration (`params`), sent as they are.
        tool_choice: `required`, or the name of the tool to call; None leaves it to the model.
        form: The form of the answer, for providers that can keep to one.
        said, context, session_id, run_id: For a program (`ModelInfo.program`), in a run of a kept conversation: the
            message to answer, whose words they are, the conversation until it is begun again, and the run.
        on_sent: Called by a provider with the bytes of each body that it sends over the network.
        final_tags: Whether the answer is what stands between `<final>` and `</final>` alone.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    thinking: str | None = None
    session_key: str | None = None
    timeout_s: float = 120.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    form: AnswerForm | None = None
    said: Message | None = None
    context: Context | None = None
    session_id: str | None = None
    run_id: str | None = None
    on_sent: Callable[[int], object] | None = None
    final_tags: bool = False


class TextDelta(Struct, frozen=True):
    """A new piece of the answer."""

    text: str


class ThinkingDelta(Struct, frozen=True):
    """A new piece of thinking; `signature` comes with the last piece of a block, if at all."""

    text: str
    signature: str | None = None


class TextWasThinking(Struct, frozen=True):
    """All text of this call so far was thinking: the model marked only the end of it."""


class ToolCallEvent(Struct, frozen=True):
    """A complete tool call."""

    call: ToolCallBlock


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one call and their cost in US dollars (None when the price is not known).

    `input_tokens` does not include those read from or written to the provider's cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None

    @property
    def total_tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            sum(costs) if costs else None,
        )

    def as_dict(self) -> dict[str, Any]:
        """The usage as plain data."""
        return {**asdict(self), "total_tokens": self.total_tokens}


class UsageEvent(Struct, frozen=True):
    """Usage of the call so far; the last one counts."""

    usage: Usage


class StopEvent(Struct, frozen=True):
    """The end of the answer; always the last event."""

    reason: StopReason


ModelEvent = TextDelta | ThinkingDelta | TextWasThinking | ToolCallEvent | UsageEvent | StopEvent


class ModelInfo(Struct, frozen=True):
    """The properties of a model.

    Attributes:
        id: The id as the provider knows it.
        provider: Name of the provider in the configuration.
        context_window: Tokens in and out together; 200 000 where nothing is known of it.
        max_output_tokens: Bound on an answer, when known.
        input_usd, output_usd, cache_read_usd, cache_write_usd: Dollars per million tokens, when known.
        cache_ttl_s: Seconds for which its provider keeps a conversation in its cache.
        tools, images, thinking: Its abilities.
        final_tags: Whether its answer is what it writes between `<final>` and `</final>` alone.
        name: The name shown to people.
        program: Whether it acts by itself, outside the rules for tools; its output counts as words from outside.
    """

    id: str
    provider: str
    context_window: int = 200_000
    max_output_tokens: int | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None
    cache_ttl_s: float = CACHE_TTL_S
    tools: bool = True
    images: bool = False
    thinking: bool = False
    final_tags: bool = False
    name: str | None = None
    program: bool = False

    @property
    def ref(self) -> str:
        """`provider/id`, as people write it in the configuration."""
        return f"{self.provider}/{self.id}"

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of a call, or None if the price is unknown."""
        if self.input_usd is None or self.output_usd is None:
            return None
        read = self.cache_read_usd if self.cache_read_usd is not None else self.input_usd
        write = self.cache_write_usd if self.cache_write_usd is not None else self.input_usd
        return (
            usage.input_tokens * self.input_usd
            + usage.output_tokens * self.output_usd
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        ) / 1_000_000


class ModelProvider(Protocol):
    """A model provider."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Run one call.

        Raises a `ModelError` before or between events. Closing or cancelling the iterator ends the call at the
        provider too.
        """

    async def models(self) -> list[ModelInfo]:
        """Return the models it offers, as far as known."""

    async def close(self) -> None:
        """Close connections."""


@runtime_checkable
class CanPrepare(Protocol):
    """A provider whose first request takes longer than others, unless it was prepared for it."""

    async def prepare(self, model: str, language: str | None, voice: str | None = None) -> None:
        """Load what the next request needs.

        Args:
            model: Id of the model, at the provider.
            language: What is spoken; None if it is not known.
            voice: What is to speak, empty for its usual voice; None where the model hears, or answers.
        """
        ...


class ModelError(HubError):
    """A call of a model failed."""

    code = "MODEL_ERROR"
    http_status = 502
    try_fallback = True
    """Whether another model may be tried for the same request."""


class AuthError(ModelError):
    """The provider refused the key."""

    code = "MODEL_AUTH"


class BillingError(ModelError):
    """The provider needs payment."""

    code = "MODEL_BILLING"


class RateLimited(ModelError):
    """Too many calls; `retry_after_s` says when to try again, if the provider says so."""

    code = "MODEL_RATE_LIMITED"
    http_status = 429


class ContextOverflow(ModelError):
    """The conversation is longer than the model's window."""

    code = "MODEL_CONTEXT_OVERFLOW"
    try_fallback = False


class Overloaded(ModelError):
    """The provider is overloaded, failing, or cannot be reached."""

    code = "MODEL_OVERLOADED"
    http_status = 503


class ModelTimeout(ModelError):
    """The provider did not answer in time."""

    code = "MODEL_TIMEOUT"
    http_status = 504


class FormatError(ModelError):
    """The provider refused the request's form, or answered in an unknown form."""

    code = "MODEL_FORMAT"


def _block_as_dict(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text} | ({"signature": signature} if signature else {})
        case ToolCallBlock(id, name, arguments, malformed):
            shown = {"type": "toolCall", "id": id, "name": name, "arguments": dict(arguments)}
            return shown | ({"malformed": malformed} if malformed is not None else {})
        case Image(mime_type, data):
            return {"type": "image", "mimeType": mime_type, "data": data}


def _block_from_dict(stored: Mapping[str, Any]) -> Block:
    match stored.get("type"):
        case "text":
            return TextBlock(str(stored["text"]))
        case "thinking":
            return Thinking(str(stored["thinking"]), stored.get("signature"))
        case "toolCall":
            arguments = dict(stored["arguments"])
            return ToolCallBlock(str(stored["id"]), str(stored["name"]), arguments, stored.get("malformed"))
        case "image":
            return Image(str(stored["mimeType"]), str(stored["data"]))
        case other:
            return TextBlock(f"[a block of the unknown type {other!r}]")
