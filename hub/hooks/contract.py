"""The contract for hooks: every point by its name, with what a handler is given and what it may change.

A handler is called with the payload of its hook. It changes something by returning a mapping of the fields in
`changes`; one that returns None changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct

from hub.core.context import Context


class HookKind(StrEnum):
    """How the handlers of a hook are called."""

    OBSERVE = "observe"
    """Side by side, as tasks that nothing waits for; what they return is ignored."""
    MODIFY = "modify"
    """One after the other, the highest priority first; each gets what those before it have changed."""
    SYNC = "sync"
    """As `MODIFY`, but without waiting: one that returns an awaitable is named in the log, and changes nothing."""


class HookPayload(Struct, frozen=True, kw_only=True):
    """What a handler is given.

    Attributes:
        hook: The name of the hook.
        kind: How its handlers are called.
        changes: The fields that a handler may return, with their types.
        joined: Those of them that are texts to which each handler adds a paragraph; the others are replaced.
        guard: Whether what is asked about is refused when a handler fails or is late.
        timeout_s: How long one handler may take, unless it says otherwise.
    """

    hook: ClassVar[str]
    kind: ClassVar[HookKind] = HookKind.OBSERVE
    changes: ClassVar[Mapping[str, type]] = {}
    joined: ClassVar[frozenset[str]] = frozenset()
    guard: ClassVar[bool] = False
    timeout_s: ClassVar[float] = 30.0

    context: Context


class MessageReceived(HookPayload, frozen=True, kw_only=True):
    """A message was accepted, and is on disk."""

    hook: ClassVar[str] = "message_received"
    inbox_id: str
    channel: str
    account: str
    peer: str
    sender: str
    sender_name: str | None
    session_key: str | None
    chat_type: str
    from_owner: bool
    text: str


class BeforePromptBuild(HookPayload, frozen=True, kw_only=True):
    """A run's system prompt is made; `append` is put behind it."""

    hook: ClassVar[str] = "before_prompt_build"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"append": str}
    joined: ClassVar[frozenset[str]] = frozenset({"append"})
    timeout_s: ClassVar[float] = 15.0
    run_id: str
    session_key: str
    agent_id: str
    model: str
    text: str
    append: str = ""


class BeforeToolCall(HookPayload, frozen=True, kw_only=True):
    """A tool is to be called; other arguments are validated, and judged by the rules, as if the model had sent them.

    A `block` refuses the call and is the reason that the model reads; no further handler is asked.
    """

    hook: ClassVar[str] = "before_tool_call"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"arguments": dict, "block": str}
    guard: ClassVar[bool] = True
    timeout_s: ClassVar[float] = 15.0
    run_id: str
    session_key: str
    agent_id: str
    call_id: str
    name: str
    arguments: dict[str, Any]
    block: str = ""


class AfterToolCall(HookPayload, frozen=True, kw_only=True):
    """A tool call ended; `output` is what the model reads."""

    hook: ClassVar[str] = "after_tool_call"
    run_id: str
    session_key: str
    agent_id: str
    call_id: str
    name: str
    output: str
    is_error: bool
    duration_ms: float


class AgentEnd(HookPayload, frozen=True, kw_only=True):
    """A run ended."""

    hook: ClassVar[str] = "agent_end"
    run_id: str
    session_key: str
    agent_id: str
    status: str
    reply: str
    model: str | None
    usage: Mapping[str, Any]
    error: Mapping[str, Any] | None
    stop: str | None


class MessageSent(HookPayload, frozen=True, kw_only=True):
    """A platform took a message."""

    hook: ClassVar[str] = "message_sent"
    outbox_id: str
    message_kind: str
    channel: str
    account: str
    peer: str
    session_key: str | None
    run_id: str | None
    platform_ids: list[str]


HOOKS: Mapping[str, type[HookPayload]] = {
    each.hook: each
    for each in (MessageReceived, BeforePromptBuild, BeforeToolCall, AfterToolCall, AgentEnd, MessageSent)
}
"""Every hook by its name."""

HookHandler = Callable[[Any], Any]
"""A function or coroutine function of the payload."""
