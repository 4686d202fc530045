"""The contract for hooks: every hook by name, with its payload and what it may change.

A handler is called with the payload of its hook. It changes something by returning a mapping of the fields in
`changes`; one that returns None changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct

from hub.core.context import Context
from hub.models.contract import Message


class HookKind(StrEnum):
    """How the handlers of a hook are called."""

    OBSERVE = "observe"
    """Side by side, as tasks that nothing waits for; what they return is ignored."""
    MODIFY = "modify"
    """One after the other, the highest priority first; each gets what those before it have changed."""
    SYNC = "sync"
    """As `MODIFY`, but without waiting: one that returns an awaitable is named in the log, and changes nothing."""


TIMEOUT_S = {HookKind.OBSERVE: 30.0, HookKind.MODIFY: 15.0}
"""How long one handler may take, unless it says otherwise; who is asked without waiting has no time."""


class HookPayload(Struct, frozen=True, kw_only=True):
    """The payload of a hook.

    Attributes:
        hook: The name of the hook.
        kind: How its handlers are called.
        changes: The fields that a handler may return, with their types.
        joined: The texts among them to which each handler adds a paragraph; other fields are replaced.
        guard: Whether the subject is refused when a handler fails or is late.
    """

    hook: ClassVar[str]
    kind: ClassVar[HookKind] = HookKind.OBSERVE
    changes: ClassVar[Mapping[str, type]] = {}
    joined: ClassVar[frozenset[str]] = frozenset()
    guard: ClassVar[bool] = False

    context: Context


class RunHookPayload(HookPayload, frozen=True, kw_only=True):
    """The payload of a hook about a run."""

    run_id: str
    session_key: str
    agent_id: str


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


class BeforeModelResolve(RunHookPayload, frozen=True, kw_only=True):
    """A model is about to be chosen for a run; `model` is the requested one, if any, and may be changed."""

    hook: ClassVar[str] = "before_model_resolve"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"model": str}
    text: str
    model: str | None = None


class BeforePromptBuild(RunHookPayload, frozen=True, kw_only=True):
    """A run's system prompt is made; `append` is added to its end."""

    hook: ClassVar[str] = "before_prompt_build"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"append": str}
    joined: ClassVar[frozenset[str]] = frozenset({"append"})
    model: str
    text: str
    append: str = ""


class AgentBootstrap(RunHookPayload, frozen=True, kw_only=True):
    """The workspace's files are put into a run's prompt; `files` are their texts by name, and may be changed."""

    hook: ClassVar[str] = "agent:bootstrap"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"files": dict}
    files: dict[str, str]


class BeforeAgentStart(RunHookPayload, frozen=True, kw_only=True):
    """A run is ready to begin; another `system` replaces its whole system prompt."""

    hook: ClassVar[str] = "before_agent_start"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"system": str}
    model: str
    system: str


class LlmInput(RunHookPayload, frozen=True, kw_only=True):
    """A model is asked; `messages` are the conversation as it is sent."""

    hook: ClassVar[str] = "llm_input"
    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[str]


class LlmOutput(RunHookPayload, frozen=True, kw_only=True):
    """A model has spoken; `tools` are the names of those that it calls."""

    hook: ClassVar[str] = "llm_output"
    model: str | None
    text: str
    tools: Sequence[str]
    usage: Mapping[str, Any]


class BeforeToolCall(RunHookPayload, frozen=True, kw_only=True):
    """A tool is about to be called; changed arguments are validated and judged as if the model had sent them.

    A `block` refuses the call and is the reason that the model reads; no further handler is asked.
    """

    hook: ClassVar[str] = "before_tool_call"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"arguments": dict, "block": str}
    guard: ClassVar[bool] = True
    call_id: str
    name: str
    arguments: dict[str, Any]
    block: str = ""


class ToolResultPersist(RunHookPayload, frozen=True, kw_only=True):
    """A tool's result is about to be written into the transcript; `output` is what the model will read of it."""

    hook: ClassVar[str] = "tool_result_persist"
    kind: ClassVar[HookKind] = HookKind.SYNC
    changes: ClassVar[Mapping[str, type]] = {"output": str}
    call_id: str
    name: str
    output: str
    is_error: bool


class BeforeMessageWrite(RunHookPayload, frozen=True, kw_only=True):
    """A message with a text is about to be written into the transcript; `text` is what is stored of it.

    An agent's answer is what is stored of it.
    """

    hook: ClassVar[str] = "before_message_write"
    kind: ClassVar[HookKind] = HookKind.SYNC
    changes: ClassVar[Mapping[str, type]] = {"text": str}
    role: str
    text: str


class AfterToolCall(RunHookPayload, frozen=True, kw_only=True):
    """A tool call ended; `output` is what the model reads."""

    hook: ClassVar[str] = "after_tool_call"
    call_id: str
    name: str
    output: str
    is_error: bool
    duration_ms: float


class AgentEnd(RunHookPayload, frozen=True, kw_only=True):
    """A run ended."""

    hook: ClassVar[str] = "agent_end"
    status: str
    reply: str
    model: str | None
    usage: Mapping[str, Any]
    error: Mapping[str, Any] | None
    stop: str | None


class MessageSending(HookPayload, frozen=True, kw_only=True):
    """A message is about to be sent to a platform; `text` may be changed, and `block` is a reason not to send it.

    A long answer is several messages. The message waits in the outbox until its handlers have answered; one whose
    sending is cut off may be shown again, as it was or as it was changed.
    """

    hook: ClassVar[str] = "message_sending"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"text": str, "block": str}
    outbox_id: str
    message_kind: str
    channel: str
    account: str
    peer: str
    session_key: str | None
    run_id: str | None
    text: str
    block: str = ""


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


class CommandReceived(HookPayload, frozen=True, kw_only=True):
    """A slash command is about to run; `name` is without the slash."""

    hook: ClassVar[str] = "command:*"
    name: str
    arguments: str
    session_key: str
    agent_id: str
    channel: str
    sender: str
    from_owner: bool


class SessionStart(HookPayload, frozen=True, kw_only=True):
    """A session began: it was created, or reset."""

    hook: ClassVar[str] = "session_start"
    session_key: str
    reason: str


class SessionEnd(HookPayload, frozen=True, kw_only=True):
    """A session ended: it was reset, or deleted."""

    hook: ClassVar[str] = "session_end"
    session_key: str
    reason: str


class BeforeCompaction(HookPayload, frozen=True, kw_only=True):
    """The older part of a conversation is about to be summarised."""

    hook: ClassVar[str] = "before_compaction"
    run_id: str | None
    session_key: str
    agent_id: str
    reason: str
    tokens_before: int


class AfterCompaction(HookPayload, frozen=True, kw_only=True):
    """A conversation was summarised, or could not be: then `error` says why."""

    hook: ClassVar[str] = "after_compaction"
    run_id: str | None
    session_key: str
    agent_id: str
    reason: str
    tokens_before: int
    tokens_after: int | None
    error: str | None


class SubagentSpawning(HookPayload, frozen=True, kw_only=True):
    """A subagent is about to get a task; `block` refuses it, and is the reason that the model reads."""

    hook: ClassVar[str] = "subagent_spawning"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = {"label": str, "model": str, "thinking": str, "block": str}
    requester_key: str
    agent_id: str
    depth: int
    task: str
    label: str
    model: str | None
    thinking: str | None
    block: str = ""


class SubagentSpawned(RunHookPayload, frozen=True, kw_only=True):
    """A subagent began."""

    hook: ClassVar[str] = "subagent_spawned"
    subagent_id: str
    requester_key: str
    label: str
    depth: int


class SubagentDeliveryTarget(HookPayload, frozen=True, kw_only=True):
    """An agent's answer to its subagents' results is about to go to a chat, which may be changed; all empty: none."""

    hook: ClassVar[str] = "subagent_delivery_target"
    kind: ClassVar[HookKind] = HookKind.MODIFY
    changes: ClassVar[Mapping[str, type]] = dict.fromkeys(("channel", "account", "peer", "chat_type", "thread"), str)
    subagent_id: str
    label: str
    state: str
    session_key: str
    requester_key: str
    channel: str = ""
    account: str = ""
    peer: str = ""
    chat_type: str = ""
    thread: str = ""


class SubagentEnded(RunHookPayload, frozen=True, kw_only=True):
    """A subagent ended; `state` says how."""

    hook: ClassVar[str] = "subagent_ended"
    subagent_id: str
    requester_key: str
    label: str
    depth: int
    state: str


class GatewayStart(HookPayload, frozen=True, kw_only=True):
    """The hub is open."""

    hook: ClassVar[str] = "gateway_start"
    version: str
    recovery: bool


class GatewayStop(HookPayload, frozen=True, kw_only=True):
    """The hub stops, which waits for handlers for 2 seconds."""

    hook: ClassVar[str] = "gateway_stop"
    restarting: bool


_ALL: tuple[type[HookPayload], ...] = (
    *(MessageReceived, BeforeModelResolve, BeforePromptBuild, AgentBootstrap, BeforeAgentStart, LlmInput, LlmOutput),
    *(BeforeToolCall, ToolResultPersist, AfterToolCall, BeforeMessageWrite, AgentEnd, MessageSending, MessageSent),
    *(CommandReceived, SessionStart, SessionEnd, BeforeCompaction, AfterCompaction, SubagentSpawning, SubagentSpawned),
    *(SubagentDeliveryTarget, SubagentEnded, GatewayStart, GatewayStop),
)
HOOKS: Mapping[str, type[HookPayload]] = {each.hook: each for each in _ALL}
"""Every hook by its name."""

HookHandler = Callable[[Any], Any]
"""A function or coroutine function of the payload."""
