"""The entries of a run: created, stored in the transcript, and published on the bus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from hub.agent.conversation.conversation import PARTS, PROGRAM_ASKED, RUN_ENDED, RUN_RESTARTED, said_data
from hub.agent.conversation.side_note import note_channel
from hub.agent.outcome import RunOutcome
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunRequest, SteeredMessage
from hub.agent.taint.authorship import AUTOMATION, is_own, provenance_of
from hub.core.context import Context
from hub.core.errors import InvalidRequest
from hub.hooks.contract import BeforeMessageWrite
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, Usage, tool_result
from hub.sessions.entry import Provenance, TranscriptEntry, event_entry, message_entry
from hub.sessions.repair import pending_calls
from hub.sessions.transcript import Transcript
from hub.tools.contract import ToolResult
from hub.tools.quoting import quote_untrusted

MODEL = Provenance(trusted=True, who="model")
DERIVED = Provenance(trusted=False, who="model", derived=True)
HUB = Provenance(trusted=True, who="hub")
CLIENT_TOOL = "a tool of the program that asked"
REMOVED = "[removed by a hook]"
PROGRAMS = ("token:", "device:")
"""Principals that no channel names for the model."""


class RunRecord:
    """The entries of one run.

    Args:
        transcript: Where they go.
        person: Whom the session belongs to, when known.

    Attributes:
        messages: What was added behind the user's words.
        text: What the model said last.
    """

    def __init__(
        self,
        parts: RunDependencies,
        request: RunRequest,
        context: Context,
        transcript: Transcript,
        person: str | None = None,
    ) -> None:
        self.transcript = transcript
        self.messages: list[Message] = []
        self.text = ""
        self._parts = parts
        self._request = request
        self._context = context
        self._person = person

    @property
    def has_heard(self) -> bool:
        """Whether an earlier attempt of this run has stored the user's words."""
        return self.transcript.get(f"{self._request.run_id}-user") is not None

    async def hear(self) -> None:
        """Store the user's words; those that an earlier attempt of this run had heard are taken up again.

        Results of the caller's tools come first. The owner's are taken for the owner's words, all others are data.

        Raises:
            InvalidRequest: Nothing waits for one of the results.
        """
        request = self._request
        authority = request.context.authority
        if request.results:
            await self._hear_results(trusted=authority.owner and not authority.tainted)
        if not request.message.content:
            return
        came = provenance_of(authority, request.session_key, self._person)
        quoted = request.quoted and is_own(authority, request.session_key, self._person)
        known = came.who if came.who.startswith(PROGRAMS) and not came.trusted else None
        said = message_entry(
            request.message,
            self._parts.now_ms(),
            id=f"{request.run_id}-user",
            run_id=request.run_id,
            inbox_id=request.inbox_id,
            data=said_data(
                channel=AUTOMATION if request.by_hub else request.channel,
                sender=request.sender_name or known,
                trusted=came.trusted,
                quoted=quoted and not came.trusted,
            )
            | ({PARTS: list(request.parts)} if request.parts else {}),
            provenance=came,
        )
        if self.transcript.get(said.id) is None:
            await self.store([said])
            return
        branch = self.transcript.branch()
        heard = next((at for at, entry in enumerate(branch) if entry.id == said.id), len(branch))
        after = branch[heard + 1 :]
        if after and all(entry.run_id == request.run_id for entry in after):
            again = event_entry(RUN_RESTARTED, self._parts.now_ms(), run_id=request.run_id, parent_id=said.id)
            await self.transcript.append(again)

    async def _hear_results(self, *, trusted: bool) -> None:
        branch = self.transcript.branch()
        waiting = {call.id: call.name for call in pending_calls([each.message for each in branch if each.message])}
        entries = []
        for result in self._request.results:
            name = waiting.pop(result.tool_call_id or "", None)
            if name is None:
                raise InvalidRequest("this conversation does not wait for the result of that tool call, or no longer")
            said = result if trusted else _with_text(result, quote_untrusted(result.text, source=CLIENT_TOOL))
            entries.append(self._entry(replace(said, tool_name=name), Provenance(trusted, name)))
        await self.store(entries)
        self.messages.clear()

    async def hear_more(self, steered: SteeredMessage) -> None:
        """Store what the user said while the run went on."""
        request = self._request
        came = provenance_of(request.context.authority, request.session_key, self._person)
        said = message_entry(
            steered.message,
            self._parts.now_ms(),
            run_id=request.run_id,
            inbox_id=steered.inbox_id,
            data=said_data(channel=request.channel, sender=steered.sender_name, trusted=came.trusted)
            | ({PARTS: [steered.run_id]} if steered.run_id is not None else {}),
            provenance=came,
        )
        await self.store([said])

    async def ask_program(self) -> None:
        """Put on the disk that a program is asked that acts by itself: the run is not run again after a crash."""
        request = self._request
        id = f"{request.run_id}-program"  # asked again, it is there already
        asked = event_entry(PROGRAM_ASKED, self._parts.now_ms(), id=id, run_id=request.run_id)
        await self.transcript.append(asked, sync=True)

    async def store(self, entries: Iterable[TranscriptEntry]) -> None:
        """Append entries, in order, and tell of them.

        Raises:
            Unavailable: The disk did not take them.
        """
        for stored in await self.transcript.append(self._settled(entries)):
            self._tell(stored)

    def _settled(self, entries: Iterable[TranscriptEntry]) -> Iterable[TranscriptEntry]:
        """Return entries with the texts that hooks chose for them."""
        hooks = self._parts.hooks
        return entries if hooks is None or not hooks.wants(BeforeMessageWrite) else map(self._asked, entries)

    def _asked(self, entry: TranscriptEntry) -> TranscriptEntry:
        hooks, message = self._parts.hooks, entry.message
        if hooks is None or message is None or not message.text or self.transcript.get(entry.id) is not None:
            return entry
        asked = BeforeMessageWrite(
            context=self._context,
            run_id=self._request.run_id,
            session_key=self._request.session_key,
            agent_id=self._request.agent_id,
            role=message.role.value,
            text=message.text,
        )
        text = hooks.settle(asked).text or REMOVED
        return entry if text == message.text else replace(entry, message=_with_text(message, text))

    def said(
        self,
        message: Message,
        model: str | None,
        usage: Usage | None,
        data: Mapping[str, Any] | None = None,
        *,
        derived: bool,
    ) -> TranscriptEntry:
        """Return the entry of what a model said; `derived` is whether words from outside were before it."""
        provenance = DERIVED if derived else MODEL
        return self._entry(message, provenance, model=model, usage=usage, data=data or {})

    def answered(self, call: ToolCallBlock, result: ToolResult) -> TranscriptEntry:
        """Return the entry of a tool's result."""
        message = Message(
            Role.TOOL,
            (TextBlock(result.output), *result.media),
            tool_call_id=call.id,
            tool_name=call.name,
            is_error=result.is_error,
        )
        return self._entry(message, Provenance(result.trusted, call.name))

    def unanswered(self, call: ToolCallBlock, why: str) -> TranscriptEntry:
        """Return the entry of a result that a call never had."""
        return self._entry(tool_result(call, why, is_error=True), HUB)

    def asked(self, text: str) -> TranscriptEntry:
        """Return the entry of what the hub itself asks the model."""
        return self._entry(Message(Role.USER, (TextBlock(text),)), HUB)

    def ended(self, outcome: RunOutcome) -> TranscriptEntry:
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
        request = self._request
        return event_entry(RUN_ENDED, self._parts.now_ms(), data, run_id=request.run_id, inbox_id=request.inbox_id)

    def _entry(self, message: Message, provenance: Provenance, **fields: Any) -> TranscriptEntry:
        return message_entry(
            message,
            self._parts.now_ms(),
            run_id=self._request.run_id,
            inbox_id=self._request.inbox_id,
            provenance=provenance,
            **fields,
        )

    def _tell(self, entry: TranscriptEntry) -> None:
        """Count a stored entry in, and tell the bus of it."""
        message = entry.message
        if message is None:
            return
        if message.role is not Role.USER:
            self.messages.append(message)
        if message.role is Role.ASSISTANT:
            self.text = message.text.strip() or self.text
        told = {
            "run_id": self._request.run_id,
            "session_key": self._request.session_key,
            "agent_id": self._request.agent_id,
            "message": message.as_dict(),
            "entry_id": entry.id,
        }
        if PARTS in entry.data:
            told[PARTS] = entry.data[PARTS]
        if (channel := note_channel(entry)) is not None:
            told["note"] = channel
        self._parts.bus.fire("run_message", told, self._context)


def _with_text(message: Message, text: str) -> Message:
    """Return a message with one text in the place of its text blocks."""
    at = next((index for index, block in enumerate(message.content) if isinstance(block, TextBlock)), 0)
    rest = tuple(block for block in message.content[at:] if not isinstance(block, TextBlock))
    return replace(message, content=(*message.content[:at], TextBlock(text), *rest))
