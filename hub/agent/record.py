"""The entries of a run: created, stored in its transcript, and published on the bus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from hub.agent.conversation.conversation import PARTS, PROGRAM_ASKED, RUN_ENDED, RUN_RESTARTED, message_data
from hub.agent.conversation.side_note import note_channel
from hub.agent.parts import RunDependencies
from hub.agent.run import AgentRun
from hub.agent.run_request import RunOutcome, SteeredMessage
from hub.agent.taint.authorship import AUTOMATION, is_own, provenance_of
from hub.core.errors import InvalidRequest
from hub.hooks.contract import BeforeMessageWrite, ToolResultPersist
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, Usage, tool_result
from hub.sessions.entry import Provenance, TranscriptEntry, event_entry, message_entry, user_entry_id
from hub.sessions.repair import pending_calls
from hub.tools.contract import ToolResult
from hub.tools.quoting import quote_untrusted

MODEL = Provenance(trusted=True, who="model")
DERIVED = Provenance(trusted=False, who="model", derived=True)
HUB = Provenance(trusted=True, who="hub")
CLIENT_TOOL = "a tool of the program that asked"
REMOVED = "[removed by a hook]"
PROGRAMS = ("token:", "device:")
"""Principals that no channel names for the model."""


# -- storing -----------------------------------------------------------------------------------------------------------


async def hear(parts: RunDependencies, run: AgentRun) -> None:
    """Store the user's words; those that an earlier attempt of this run has stored are used again.

    Results of the caller's tools come first. The owner's are taken for the owner's words, all others are data.

    Raises:
        InvalidRequest: Nothing waits for one of the results.
    """
    request = run.request
    authority = request.context.authority
    if request.results:
        await _hear_results(parts, run, trusted=authority.owner and not authority.tainted)
    if not request.message.content:
        return
    came = provenance_of(authority, request.session_key, run.person)
    known = came.who if came.who.startswith(PROGRAMS) and not came.trusted else None
    quoted = request.quoted and not came.trusted and is_own(authority, request.session_key, run.person)
    data = message_data(
        channel=AUTOMATION if request.by_hub else request.channel,
        sender=request.sender_name or known,
        trusted=came.trusted,
        quoted=quoted,
        area=request.area,
    )
    if request.parts:
        data[PARTS] = list(request.parts)
    said = message_entry(
        request.message,
        parts.now_ms(),
        id=user_entry_id(request.run_id),
        run_id=request.run_id,
        inbox_id=request.inbox_id,
        data=data,
        provenance=came,
    )
    transcript = run.conversation.transcript
    if transcript.get(said.id) is None:
        await store(parts, run, [said])
        return
    branch = transcript.branch()
    heard = next((at for at, entry in enumerate(branch) if entry.id == said.id), len(branch))
    after = branch[heard + 1 :]
    if after and all(entry.run_id == request.run_id for entry in after):
        again = event_entry(RUN_RESTARTED, parts.now_ms(), run_id=request.run_id, parent_id=said.id)
        await transcript.append(again)


async def _hear_results(parts: RunDependencies, run: AgentRun, *, trusted: bool) -> None:
    branch = run.conversation.transcript.branch()
    waiting = {call.id: call.name for call in pending_calls([each.message for each in branch if each.message])}
    entries = []
    for result in run.request.results:
        name = waiting.pop(result.tool_call_id or "", None)
        if name is None:
            raise InvalidRequest("no tool call with this id awaits a result in this conversation")
        said = result if trusted else _with_text(result, quote_untrusted(result.text, source=CLIENT_TOOL))
        entries.append(_entry(parts, run, replace(said, tool_name=name), Provenance(trusted, name)))
    await store(parts, run, entries)
    run.messages.clear()


async def hear_more(parts: RunDependencies, run: AgentRun, steered: SteeredMessage) -> None:
    """Store what the user said during the run."""
    request = run.request
    came = provenance_of(request.context.authority, request.session_key, run.person)
    data = message_data(channel=request.channel, sender=steered.sender_name, trusted=came.trusted, area=request.area)
    if steered.run_id is not None:
        data[PARTS] = [steered.run_id]
    said = message_entry(
        steered.message,
        parts.now_ms(),
        run_id=request.run_id,
        inbox_id=steered.inbox_id,
        data=data,
        provenance=came,
    )
    await store(parts, run, [said])


async def note_program(parts: RunDependencies, run: AgentRun) -> None:
    """Record on disk that an agentic program is called: the run is then not repeated after a crash."""
    run_id = run.request.run_id
    id = f"{run_id}-program"  # asked again, it is there already
    await run.conversation.transcript.append(
        event_entry(PROGRAM_ASKED, parts.now_ms(), id=id, run_id=run_id), sync=True
    )


async def store(
    parts: RunDependencies, run: AgentRun, entries: Iterable[TranscriptEntry], *, deferred: bool = False
) -> None:
    """Append entries in order, with the texts that hooks chose, and publish them; see `Transcript.append`.

    Raises:
        Unavailable: The disk did not take them.
    """
    if parts.hooks is not None and BeforeMessageWrite.hook in parts.hooks.wanted:
        entries = [_with_chosen_text(parts, run, entry) for entry in entries]
    for stored in await run.conversation.transcript.append(entries, deferred=deferred):
        _publish(parts, run, stored)


def _with_chosen_text(parts: RunDependencies, run: AgentRun, entry: TranscriptEntry) -> TranscriptEntry:
    hooks, message = parts.hooks, entry.message
    if hooks is None or message is None or not message.text or run.conversation.transcript.get(entry.id) is not None:
        return entry
    asked = BeforeMessageWrite(**run.facts, context=run.context, role=message.role.value, text=message.text)
    text = hooks.settle(asked).text or REMOVED
    return entry if text == message.text else replace(entry, message=_with_text(message, text))


def _publish(parts: RunDependencies, run: AgentRun, entry: TranscriptEntry) -> None:
    """Count a stored entry, and publish it."""
    message = entry.message
    if message is None:
        return
    if message.role is not Role.USER:
        run.messages.append(message)
    if message.role is Role.ASSISTANT:
        run.text = message.text.strip() or run.text
    told = {**run.facts, "message": message.as_dict(), "entry_id": entry.id}
    if PARTS in entry.data:
        told[PARTS] = entry.data[PARTS]
    if (channel := note_channel(entry)) is not None:
        told["note"] = channel
    parts.bus.fire("run_message", told, run.context)


# -- making ------------------------------------------------------------------------------------------------------------


def assistant_entry(
    parts: RunDependencies, run: AgentRun, message: Message, usage: Usage | None, data: Mapping[str, Any]
) -> TranscriptEntry:
    """Return the entry of a model's message; it is derived when words from outside came before it."""
    provenance = DERIVED if run.heard_outside else MODEL
    return _entry(parts, run, message, provenance, model=run.model, usage=usage, data=data)


def result_entry(parts: RunDependencies, run: AgentRun, call: ToolCallBlock, result: ToolResult) -> TranscriptEntry:
    """Return the entry of a tool's result, with the output that hooks chose for it."""
    output, hooks = result.output, parts.hooks
    if hooks is not None and ToolResultPersist.hook in hooks.wanted:
        about = {**run.facts, "call_id": call.id, "name": call.name, "is_error": result.is_error}
        output = hooks.settle(ToolResultPersist(**about, context=run.context, output=output)).output
    message = Message(
        Role.TOOL,
        (TextBlock(output), *result.media),
        tool_call_id=call.id,
        tool_name=call.name,
        is_error=result.is_error,
    )
    return _entry(parts, run, message, Provenance(result.trusted, call.name))


def no_result_entry(parts: RunDependencies, run: AgentRun, call: ToolCallBlock, why: str) -> TranscriptEntry:
    """Return the entry that replaces a missing tool result."""
    return _entry(parts, run, tool_result(call, why, is_error=True), HUB)


def question_entry(parts: RunDependencies, run: AgentRun, text: str) -> TranscriptEntry:
    """Return the entry of the hub's own question to the model."""
    return _entry(parts, run, Message(Role.USER, (TextBlock(text),)), HUB)


def end_entry(parts: RunDependencies, run: AgentRun, outcome: RunOutcome) -> TranscriptEntry:
    """Return the entry that says why a run gave no answer."""
    error = outcome.error or {}
    details = error.get("details") or {}
    data = {
        "status": outcome.status.value,
        "stop": outcome.stop,
        "code": error.get("code", ""),
        "message": error.get("message", ""),
        **({"details": details} if "measure" in details else {}),
    }
    request = run.request
    return event_entry(RUN_ENDED, parts.now_ms(), data, run_id=request.run_id, inbox_id=request.inbox_id)


def _entry(
    parts: RunDependencies, run: AgentRun, message: Message, provenance: Provenance, **fields: Any
) -> TranscriptEntry:
    request = run.request
    return message_entry(
        message, parts.now_ms(), run_id=request.run_id, inbox_id=request.inbox_id, provenance=provenance, **fields
    )


def _with_text(message: Message, text: str) -> Message:
    """Return a message with its text blocks replaced by one text."""
    at = next((index for index, block in enumerate(message.content) if isinstance(block, TextBlock)), 0)
    rest = tuple(block for block in message.content[at:] if not isinstance(block, TextBlock))
    return replace(message, content=(*message.content[:at], TextBlock(text), *rest))
