"""The contract for tools: what an agent can do, what it takes, and annotations that say how risky it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, Self

import orjson
from msgspec import Struct, field

from hub.core.context import Authority, Context, ToolPolicy
from hub.core.secret import Secret
from hub.models.contract import Image


class Annotations(Struct, frozen=True):
    """The effects of a tool; the defaults are the least safe.

    Attributes:
        read_only: It changes nothing.
        destructive: It may remove or overwrite.
        idempotent: Doing it twice is the same as once.
        open_world: It reaches beyond this home (so its output is untrusted).
        owner_only: Only an owner's authority may use it.
        parallel_safe: It may run concurrently with other calls of the same turn.
        egress: It can carry data out of this home: by a request, a query, a message to a new target.
    """

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    owner_only: bool = True
    parallel_safe: bool = False
    egress: bool = True


READS_HOME = Annotations(
    read_only=True,
    destructive=False,
    idempotent=True,
    open_world=False,
    owner_only=False,
    parallel_safe=True,
    egress=False,
)
"""The safest: it looks at what this home has, and anyone with a session may use it at any time."""


class Confinement(Struct, frozen=True):
    """The limits of a conversation in a sandbox.

    Attributes:
        policies: All must permit a tool.
        harmless: Tools that need no approval, since what they change is the sandbox's own.
        outside: Whether files that tools show were written in the sandbox, so that they count as words from outside.
    """

    policies: tuple[ToolPolicy, ...] = ()
    harmless: frozenset[str] = frozenset()
    outside: bool = False


FREE = Confinement()
"""Not confined at all."""


class ToolUpdate(Protocol):
    """Reports the progress of a call to people."""

    def __call__(self, output: str = "", *, waits: bool = False) -> None:
        """Show the output so far, and whether the call waits for an approval."""
        ...


def no_update(output: str = "", *, waits: bool = False) -> None:
    """Default: no one watches."""


class ToolCall(Struct, frozen=True):
    """One call of a tool, with arguments that its schema has validated.

    Attributes:
        id: The model's id of the call; its result carries the same.
        name: The tool.
        arguments: Validated arguments.
        context: The cause, and the authority.
        agent_id: The agent that calls.
        session_key: The conversation it happens in.
        run_id: The run it belongs to.
        environment: Variables that skills are given, for programs that the tool starts; those it has go before. And
            the secrets that its arguments name (`Tool.secrets`).
        update: Shows people the partial result.
        area: Name of the area of the home that the speaker is in; None where nobody knows.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    context: Context
    agent_id: str
    session_key: str
    run_id: str
    environment: Mapping[str, Secret] = {}
    update: ToolUpdate = no_update
    area: str | None = None


class ToolResult(Struct, frozen=True):
    """The result of a tool: `output` for the model, `details` for people, `media` for both.

    `trusted` is False when the output holds words from outside this home; it then taints the session.
    """

    output: str
    details: Mapping[str, Any] = field(default_factory=dict)
    media: tuple[Image, ...] = ()
    is_error: bool = False
    trusted: bool = True

    @classmethod
    def of(cls, data: Mapping[str, Any], *, trusted: bool = True) -> Self:
        """Return data as a result: as JSON for the model, and as it is for people."""
        return cls(orjson.dumps(data, default=str).decode(), details=data, trusted=trusted)


class Parameters(Struct, frozen=True):
    """The parameters of a tool: JSON Schema for models and people, and the check itself.

    `validate` returns the valid arguments or raises `hub.core.errors.InvalidRequest`. `hub.tools.parameters` makes
    one from a voluptuous schema or from a JSON Schema as it comes.
    """

    json_schema: Mapping[str, Any]
    validate: Callable[[Mapping[str, Any]], dict[str, Any]]


class Tool(Struct, frozen=True):
    """Something an agent can do.

    Attributes:
        name: `[a-z][a-z0-9_]*`, at most 64.
        description: For the model: what it does and when to use it.
        parameters: What it takes.
        run: Does it. Errors a model should read are raised as `HubError` or returned with `is_error`.
        group: For policies: files, memory, home, session, web, …
        annotations: How risky it is.
        label: Its name for people; without one, `name` as words.
        optional: Whether it is off unless the owner names it, or its group, in `tools: also_allow:` or `allow:`.
        approval: Why the owner has to approve a call with these arguments, or None; instead of the rule
            that in a session with words from outside all is asked about but reading what cannot carry data out.
        unasked: Returns whether this call needs no approval, given the conversation it happens in, although its
            arguments alone would need one.
        preview: Returns the change of a call as a unified diff, which is shown when the owner is asked.
        secrets: Arguments in which `$NAME` names a secret, which the call then has in its environment: the command of a
            tool that starts a program.
        timeout_s: Bound on one call.
        output_limit: Characters of `output` given to the model; the rest is cut with a mark.
    """

    name: str
    description: str
    parameters: Parameters
    run: Callable[[ToolCall], Awaitable[ToolResult]]
    group: str
    annotations: Annotations = Annotations()
    approval: Callable[[Mapping[str, Any], Authority], str | None] | None = None
    preview: Callable[[ToolCall], Awaitable[str]] | None = None
    secrets: frozenset[str] = frozenset({"command"})
    timeout_s: float = 60.0
    output_limit: int = 30_000
    unasked: Callable[[ToolCall], Awaitable[bool]] | None = None
    label: str = ""
    optional: bool = False


class AroundCalls(Protocol):
    """Callbacks around a tool call: the hooks."""

    async def before(self, call: ToolCall) -> Mapping[str, Any] | None:
        """Return other arguments, which are validated and judged like the first; None changes nothing.

        Raises:
            Forbidden: The call is refused.
        """
        ...

    def after(self, facts: Mapping[str, str], context: Context, result: ToolResult, duration_ms: float) -> None:
        """Record the result of a call, which `facts` name by call, tool, run, session and agent. Does not block."""
        ...
