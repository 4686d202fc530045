"""The contract for hooks: a payload for each, which says once what its handlers are given and what they may change.

A handler is called with the payload of its hook. It changes something by returning a mapping of the fields that are
`Replaced` or `Joined`; one that returns None changes nothing. The reference in docs/hooks.md is made from this file.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

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


class Replaced(Struct, frozen=True):
    """Marks a field that a handler may return, in place of what is there.

    Attributes:
        means: What is returned, in a few words.
        type: What it must be; read from the annotation of the field.
    """

    means: str
    type: type = object


class Joined(Replaced, frozen=True):
    """Marks a text to which each handler may add a paragraph."""


class HookPayload(Struct, frozen=True, kw_only=True):
    """The payload of a hook.

    Attributes:
        hook: The name of the hook.
        kind: How its handlers are called.
        changes: The fields that a handler may return.
        guard: Whether the subject is refused when a handler fails or is late.
        brings_words: Whether it may carry what somebody wrote, so that who acts on it is tainted by that.
        since: The version of Homarus that it came with.
    """

    hook: ClassVar[str]
    kind: ClassVar[HookKind]
    changes: ClassVar[Mapping[str, Replaced]]
    guard: ClassVar[bool]
    brings_words: ClassVar[bool]
    since: ClassVar[str]

    context: Context


HOOKS: dict[str, type[HookPayload]] = {}
"""Every hook by its name."""

HookHandler = Callable[[Any], Any]
"""A function or coroutine function of the payload."""

P = TypeVar("P", bound=HookPayload)


def hook(
    name: str,
    kind: HookKind = HookKind.OBSERVE,
    *,
    guard: bool = False,
    brings_words: bool = True,
    since: str = "0.1.0",
) -> Callable[[type[P]], type[P]]:
    """Add a payload to `HOOKS`; see `HookPayload` for the arguments."""

    def add(payload: type[P]) -> type[P]:
        payload.hook, payload.kind, payload.guard = name, kind, guard
        payload.brings_words, payload.since = brings_words, since
        own = payload.__annotations__.items()
        payload.changes = {field: rule for field, annotation in own if (rule := _rule(annotation)) is not None}
        HOOKS[name] = payload
        return payload

    return add


def _rule(annotation: Any) -> Replaced | None:
    """Return how a field of this type is changed; None for one that may not be."""
    if get_origin(annotation) is not Annotated:
        return None
    of, rule = get_args(annotation)
    bare = next((each for each in get_args(of) if each is not NoneType), of) if NoneType in get_args(of) else of
    found: Replaced = type(rule)(rule.means, get_origin(bare) or bare)
    return found


class RunHookPayload(HookPayload, frozen=True, kw_only=True):
    """The payload of a hook about a run."""

    run_id: str
    session_key: str
    agent_id: str


class OutboxHookPayload(HookPayload, frozen=True, kw_only=True):
    """The payload of a hook about a message that is sent."""

    outbox_id: str
    message_kind: str
    channel: str
    account: str
    peer: str
    session_key: str | None
    run_id: str | None


@hook("message_received")
class MessageReceived(HookPayload, frozen=True, kw_only=True):
    """A message was accepted, and is on disk."""

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


@hook("before_model_resolve", HookKind.MODIFY)
class BeforeModelResolve(RunHookPayload, frozen=True, kw_only=True):
    """A model is about to be chosen for a run; `model` is the requested one, if any, and may be changed."""

    text: str
    model: Annotated[str | None, Replaced("another one for this run")] = None


@hook("before_prompt_build", HookKind.MODIFY)
class BeforePromptBuild(RunHookPayload, frozen=True, kw_only=True):
    """A run's system prompt is made; `append` is added to its end."""

    model: str
    text: str
    append: Annotated[str, Joined("a paragraph behind the system prompt")] = ""


@hook("agent:bootstrap", HookKind.MODIFY)
class AgentBootstrap(RunHookPayload, frozen=True, kw_only=True):
    """The workspace's files are put into a run's prompt; `files` are their texts by name, and may be changed."""

    files: Annotated[dict[str, str], Replaced("other workspace files in the prompt, texts by name")]


@hook("before_agent_start", HookKind.MODIFY)
class BeforeAgentStart(RunHookPayload, frozen=True, kw_only=True):
    """A run is ready to begin; another `system` replaces its whole system prompt."""

    model: str
    system: Annotated[str, Replaced("another system prompt")]


@hook("llm_input")
class LlmInput(RunHookPayload, frozen=True, kw_only=True):
    """A model is asked; `messages` are the conversation as it is sent."""

    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[str]


@hook("llm_output")
class LlmOutput(RunHookPayload, frozen=True, kw_only=True):
    """A model has spoken; `tools` are the names of those that it calls."""

    model: str | None
    text: str
    tools: Sequence[str]
    usage: Mapping[str, Any]


@hook("before_tool_call", HookKind.MODIFY, guard=True)
class BeforeToolCall(RunHookPayload, frozen=True, kw_only=True):
    """A tool is about to be called; changed arguments are validated and judged as if the model had sent them.

    A `block` refuses the call and is the reason that the model reads; no further handler is asked.
    """

    call_id: str
    name: str
    arguments: Annotated[dict[str, Any], Replaced("others for the call")]
    block: Annotated[str, Replaced("why it is refused")] = ""


@hook("tool_result_persist", HookKind.SYNC)
class ToolResultPersist(RunHookPayload, frozen=True, kw_only=True):
    """A tool's result is about to be written into the transcript; `output` is what the model will read of it."""

    call_id: str
    name: str
    output: Annotated[str, Replaced("what is kept of a result, which is what the model reads")]
    is_error: bool


@hook("before_message_write", HookKind.SYNC)
class BeforeMessageWrite(RunHookPayload, frozen=True, kw_only=True):
    """A message of a person or an agent is about to be written into the transcript; `text` is what is stored of it."""

    role: str
    text: Annotated[str, Replaced("what is kept of a message in the conversation")]


@hook("after_tool_call")
class AfterToolCall(RunHookPayload, frozen=True, kw_only=True):
    """A tool call ended; `output` is what the model reads."""

    call_id: str
    name: str
    output: str
    is_error: bool
    duration_ms: float


@hook("agent_end")
class AgentEnd(RunHookPayload, frozen=True, kw_only=True):
    """A run ended."""

    status: str
    reply: str
    model: str | None
    usage: Mapping[str, Any]
    error: Mapping[str, Any] | None
    stop: str | None


@hook("message_sending", HookKind.MODIFY)
class MessageSending(OutboxHookPayload, frozen=True, kw_only=True):
    """A message is about to be sent to a platform; `text` may be changed, and `block` is a reason not to send it.

    A long answer is several messages. The message waits in the outbox until its handlers have answered; one whose
    sending is cut off may be shown again, as it was or as it was changed.
    """

    text: Annotated[str, Replaced("another one")]
    block: Annotated[str, Replaced("why it is not sent")] = ""


@hook("message_sent", brings_words=False)
class MessageSent(OutboxHookPayload, frozen=True, kw_only=True):
    """A platform took a message."""

    platform_ids: list[str]


@hook("command:*")
class CommandReceived(HookPayload, frozen=True, kw_only=True):
    """A slash command is about to run; `name` is without the slash."""

    name: str
    arguments: str
    session_key: str
    agent_id: str
    channel: str
    sender: str
    from_owner: bool


@hook("session_start", brings_words=False)
class SessionStart(HookPayload, frozen=True, kw_only=True):
    """A session began: it was created, or reset."""

    session_key: str
    reason: str


@hook("session_end", brings_words=False)
class SessionEnd(HookPayload, frozen=True, kw_only=True):
    """A session ended: it was reset, or deleted."""

    session_key: str
    reason: str


@hook("before_compaction", brings_words=False)
class BeforeCompaction(HookPayload, frozen=True, kw_only=True):
    """The older part of a conversation is about to be summarised."""

    run_id: str | None
    session_key: str
    agent_id: str
    reason: str
    tokens_before: int


@hook("after_compaction", brings_words=False)
class AfterCompaction(HookPayload, frozen=True, kw_only=True):
    """A conversation was summarised, or could not be: then `error` says why."""

    run_id: str | None
    session_key: str
    agent_id: str
    reason: str
    tokens_before: int
    tokens_after: int | None
    error: str | None


@hook("subagent_spawning", HookKind.MODIFY)
class SubagentSpawning(HookPayload, frozen=True, kw_only=True):
    """A subagent is about to get a task; `block` refuses it, and is the reason that the model reads."""

    requester_key: str
    agent_id: str
    depth: int
    task: str
    label: Annotated[str, Replaced("another one")]
    model: Annotated[str | None, Replaced("another one")]
    thinking: Annotated[str | None, Replaced("another one")]
    block: Annotated[str, Replaced("why there is none")] = ""


@hook("subagent_spawned", brings_words=False)
class SubagentSpawned(RunHookPayload, frozen=True, kw_only=True):
    """A subagent began."""

    subagent_id: str
    requester_key: str
    label: str
    depth: int


@hook("subagent_delivery_target", HookKind.MODIFY)
class SubagentDeliveryTarget(HookPayload, frozen=True, kw_only=True):
    """An agent's answer to its subagents' results is about to go to a chat, which may be changed; all empty: none."""

    subagent_id: str
    label: str
    state: str
    session_key: str
    requester_key: str
    channel: Annotated[str, Replaced("where results go")] = ""
    account: Annotated[str, Replaced("the account there")] = ""
    peer: Annotated[str, Replaced("the chat or person there")] = ""
    chat_type: Annotated[str, Replaced("the kind of chat")] = ""
    thread: Annotated[str, Replaced("the thread there")] = ""


@hook("subagent_ended", brings_words=False)
class SubagentEnded(RunHookPayload, frozen=True, kw_only=True):
    """A subagent ended; `state` says how."""

    subagent_id: str
    requester_key: str
    label: str
    depth: int
    state: str


@hook("gateway_start", brings_words=False)
class GatewayStart(HookPayload, frozen=True, kw_only=True):
    """The hub is open."""

    version: str
    recovery: bool


@hook("gateway_stop", brings_words=False)
class GatewayStop(HookPayload, frozen=True, kw_only=True):
    """The hub stops, which waits for handlers for 2 seconds."""

    restarting: bool
