"""The one way a tool is invoked, whoever asks: policy, taint, validation, time limit, output bound, redaction.

Whatever goes wrong with the call becomes a result that a model can read; only cancellation passes through.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.context import Context, ToolPolicy
from hub.core.errors import Forbidden, HubError, InvalidRequest, TimedOut
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.models.contract import Image, ToolCallBlock
from hub.tools.approval_questions import tool_question, why_not
from hub.tools.contract import Tool, ToolCall, ToolResult, ToolUpdate, no_update
from hub.tools.kept_results import READ_RESULT
from hub.tools.policy import belongs_here, is_listed, needs_approval, refusal
from hub.tools.quoting import quote_untrusted
from hub.tools.registry import ToolRegistry
from hub.tools.schema import MEDIA_LIMIT_BYTES

_log = logging.getLogger(__name__)

EVENT_TOOL_STARTED = "tool_started"
EVENT_TOOL_FINISHED = "tool_finished"
MALFORMED_SHOWN = 200

Redact = Callable[[str], str]
Number = TypeVar("Number", int, float)


class ToolCallRequest(Struct, frozen=True):
    """A request to call a tool, before any check.

    Attributes:
        id: The caller's id of the call.
        name: The tool.
        arguments: What was written.
        context: The cause, and the authority.
        agent_id: The agent that calls.
        session_key: The conversation it happens in.
        run_id: The run it belongs to.
        malformed: The arguments' text when they were no JSON object.
        policies: Further policies that must permit the tool: the agent's.
        environment, update, area: See `ToolCall`.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    context: Context
    agent_id: str
    session_key: str
    run_id: str
    malformed: str | None = None
    policies: tuple[ToolPolicy, ...] = field(default=())
    environment: Mapping[str, Secret] = {}
    update: ToolUpdate = no_update
    area: str | None = None

    @classmethod
    def from_block(  # noqa: PLR0913  what goes with a call is said by name
        cls,
        block: ToolCallBlock,
        context: Context,
        *,
        agent_id: str,
        session_key: str,
        run_id: str,
        policies: Iterable[ToolPolicy] = (),
        environment: Mapping[str, Secret] = {},
        update: ToolUpdate = no_update,
        area: str | None = None,
    ) -> ToolCallRequest:
        """Return the request of a model's tool call."""
        return cls(
            block.id,
            block.name,
            block.arguments,
            context,
            agent_id,
            session_key,
            run_id,
            block.malformed,
            tuple(policies),
            environment,
            update,
            area,
        )


class ResultRoom(Struct, frozen=True):
    """The maximum characters of a result.

    Attributes:
        chars: At most, whatever the tool allows.
        keep: Keeps a longer result, given whether it is trusted; returns the id to read on by, None if it did not.
    """

    chars: int
    keep: Callable[[str, bool], Awaitable[str | None]] | None = None


async def invoke_tool(
    registry: ToolRegistry,
    request: ToolCallRequest,
    *,
    redact: Redact | None = None,
    room: ResultRoom | None = None,
) -> ToolResult:
    """Call a tool and return its result; every error is a result too.

    Fires `tool_started` and `tool_finished`. A result with `trusted` False holds words from outside: its output is
    quoted, and the caller narrows the authority of whatever follows (`authority.narrow(tainted=True)`).

    Args:
        registry: Where the tool is found, with the rules of the configuration.
        request: What to call.
        redact: Removes secrets from the tool's result.
        room: How long the result may be.

    Cancelling it cancels the tool; `tool_finished` is fired with `status` aborted.
    """
    loop = asyncio.get_running_loop()
    facts = {
        "call_id": request.id,
        "name": request.name,
        "run_id": request.run_id,
        "session_key": request.session_key,
        "agent_id": request.agent_id,
    }
    begun = loop.time()
    registry.bus.fire(EVENT_TOOL_STARTED, {**facts, "arguments": request.arguments}, request.context)
    status = "aborted"
    try:
        result = await _attempt(registry, request, redact, room)
        status = "error" if result.is_error else "ok"
        if registry.around is not None:
            registry.around.after(facts, request.context, result, round((loop.time() - begun) * 1_000, 3))
        return result
    finally:
        took_ms = round((loop.time() - begun) * 1_000, 3)
        finished = {**facts, "status": status, "is_error": status != "ok", "duration_ms": took_ms}
        registry.bus.fire(EVENT_TOOL_FINISHED, finished, request.context)


async def _attempt(
    registry: ToolRegistry, request: ToolCallRequest, redact: Redact | None, room: ResultRoom | None
) -> ToolResult:
    authority = request.context.authority
    confined = registry.confine(request.agent_id, request.session_key, authority)
    if confined.policies:
        request = replace(request, policies=(*request.policies, *confined.policies))
    tool = registry.get(request.name)
    if tool is None:
        return _unknown(registry, request)
    if (refused := refusal(tool, authority, request.policies, registry.rules)) is not None:
        return _failed("FORBIDDEN", refused)
    if request.malformed is not None:
        return _failed(
            "INVALID_REQUEST",
            f"the arguments of {tool.name} are not a JSON object: {request.malformed[:MALFORMED_SHOWN]!r}. "
            "Call it again with valid JSON.",
        )
    try:
        _check_characters(request.arguments)
        arguments = tool.parameters.validate(request.arguments)
        call = ToolCall(
            request.id,
            tool.name,
            arguments,
            request.context,
            request.agent_id,
            request.session_key,
            request.run_id,
            request.environment,
            request.update,
            request.area,
        )
        if registry.around is not None and (other := await registry.around.before(call)) is not None:
            call = replace(call, arguments=tool.parameters.validate(other))
            if (refused := refusal(tool, authority, request.policies, registry.rules)) is not None:
                raise Forbidden(refused)
        secrets = registry.secrets(call, tool.secrets)
        free = tool.name in confined.harmless and not secrets
        reason = None if free else needs_approval(tool, call.arguments, authority, secrets)
        if reason is not None and (secrets or tool.unasked is None or not await tool.unasked(call)):
            await _be_approved(registry, request, tool, call, reason)
        if secrets:
            call = replace(call, environment={**call.environment, **secrets})
        await registry.lease.held()
        result = await _run(tool, call, _least(tool.timeout_s, registry.rules.timeout_s))
        if confined.outside and tool.group == "files" and not result.is_error:
            result = replace(result, trusted=False)
    except HubError as error:
        told = f"error: {error.message}"
        result = ToolResult(told, details=error.as_dict(), is_error=True, trusted=not error.outside)
    except Exception:  # a tool's defect must not end the run; the model learns that it failed, the log says why
        reference = new_id()
        _log.exception("tool %s failed (reference %s, run %s)", tool.name, reference, request.run_id)
        result = _failed("INTERNAL", f"{tool.name} failed inside; the hub's log has the reason under {reference}")
    limit = _least(tool.output_limit, registry.rules.output_limit)
    if room is not None:
        limit = min(limit, room.chars)
        if not _may_read_on(registry, request):
            room = None
    return await _bounded(tool, result, limit, redact, room)


def _check_characters(arguments: Mapping[str, Any]) -> None:
    """Check that all text can be written and sent.

    Raises:
        InvalidRequest: There is half a character in it.
    """
    try:
        msgspec.json.encode(arguments, enc_hook=str)
    except UnicodeEncodeError as error:
        raise InvalidRequest("the arguments contain half a surrogate pair; write the character whole") from error


def _may_read_on(registry: ToolRegistry, request: ToolCallRequest) -> bool:
    reader = registry.get(READ_RESULT)
    if reader is None or request.name == READ_RESULT:
        return False
    return is_listed(reader, request.context.authority, request.policies, registry.rules)


async def _be_approved(
    registry: ToolRegistry, request: ToolCallRequest, tool: Tool, call: ToolCall, reason: str
) -> None:
    """Ask the owner about exactly this call; callers from outside this home cannot ask.

    Raises:
        Forbidden: Nobody said yes, or something of it changed meanwhile.
    """
    if registry.ask is None or not belongs_here(call.context.authority):
        raise Forbidden(
            f"{tool.name} needs the owner's approval, and there is no one to ask: {reason}. Tell the owner what you "
            "wanted to do; they can do it in a new conversation (/new), or allow it here (/trust)."
        )
    question = tool_question(call, reason, await _preview(tool, call))
    call.update(waits=True)
    decision = await registry.ask(question)
    call.update()
    if not decision.approved:
        raise Forbidden(f"{tool.name} needs the owner's approval: {why_not(decision)}")
    now = tool_question(call, reason, await _preview(tool, call))
    same = now.details == question.details and registry.get(tool.name) is tool
    if not same or refusal(tool, call.context.authority, request.policies, registry.rules) is not None:
        raise Forbidden(f"{tool.name} was approved, but the call or the rules have changed since; it was not run")


async def _preview(tool: Tool, call: ToolCall) -> str:
    return await tool.preview(call) if tool.preview is not None else ""


async def _run(tool: Tool, call: ToolCall, timeout_s: float) -> ToolResult:
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await tool.run(call)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimedOut(f"{tool.name} did not finish within {timeout_s:g} s and was stopped") from error


def _unknown(registry: ToolRegistry, request: ToolCallRequest) -> ToolResult:
    authority, rules = request.context.authority, registry.rules
    names = [tool.name for tool in registry.all() if is_listed(tool, authority, request.policies, rules)]
    close = difflib.get_close_matches(request.name[:100], names, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names) or 'none'}"
    return _failed("NOT_FOUND", f"there is no tool {request.name[:100]!r}; {hint}")


def _failed(code: str, message: str) -> ToolResult:
    return ToolResult(f"error: {message}", details={"code": code, "message": message}, is_error=True)


async def _bounded(
    tool: Tool, result: ToolResult, limit: int, redact: Redact | None, room: ResultRoom | None
) -> ToolResult:
    output = redact(result.output) if redact is not None else result.output
    # A tool that reaches beyond this home returns outside words, even if it does not say so.
    trusted = result.trusted and (not tool.annotations.open_world or result.is_error)
    if len(output) > limit:
        kept = await room.keep(output, trusted) if room is not None and room.keep is not None else None
        more = f"; {READ_RESULT} with id {kept} and offset {limit} reads on" if kept is not None else ""
        output = f"{output[:limit]}\n[cut: {limit} of {len(output)} characters are shown{more}]"
    media, dropped = _fitting(result.media)
    if dropped:
        output += f"\n[{dropped} of {len(result.media)} images were left out: over {MEDIA_LIMIT_BYTES} bytes together]"
    if not trusted:
        output = quote_untrusted(output, source=tool.name)
    if output == result.output and media == result.media and trusted == result.trusted:
        return result
    return replace(result, output=output, media=media, trusted=trusted)


def _fitting(media: tuple[Image, ...]) -> tuple[tuple[Image, ...], int]:
    kept: list[Image] = []
    total = 0
    for image in media:
        total += len(image.data)
        if total > MEDIA_LIMIT_BYTES:
            break
        kept.append(image)
    return (media, 0) if len(kept) == len(media) else (tuple(kept), len(media) - len(kept))


def _least(own: Number, bound: Number | None) -> Number:
    return own if bound is None else min(own, bound)
