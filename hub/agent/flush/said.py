"""What was said in a conversation: the words of people and of the agent, without tools, notes of the hub, automations.

Reads what is stored, whether the transcript is open or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hub.agent.conversation.conversation import RUN_RESTARTED, harmless_name
from hub.agent.conversation.ephemeral import NoFile
from hub.agent.conversation.side_note import HUB_CHANNELS
from hub.memory.words import significant_words
from hub.models.contract import Role
from hub.sessions.entry import TranscriptEntry
from hub.sessions.transcript import Transcript


class SaidLine(Struct, frozen=True):
    """Something that was said; `speaker` is the sender's name, None for the agent."""

    speaker: str | None
    text: str


class SaidWords(Struct, frozen=True):
    """A part of a conversation, up to its end.

    Attributes:
        lines: The lines, in order.
        entry_id, entry_ms: Its last entry, after which the next part begins; "" for an empty conversation.
        trusted: Whether the conversation up to there has no words from outside.
    """

    lines: tuple[SaidLine, ...]
    entry_id: str
    entry_ms: int
    trusted: bool

    @property
    def names_something(self) -> bool:
        """Whether a person said more than a greeting."""
        return any(line.speaker is not None and significant_words(line.text) for line in self.lines)


def branch_of(entries: list[TranscriptEntry]) -> list[TranscriptEntry]:
    """Return the current branch of a transcript that was read."""
    return Transcript(NoFile(), entries).branch()


FORGET = "forget"
"""The tool by which something is forgotten; what was said until it was done would bring it back."""


def messages_since(
    branch: Sequence[TranscriptEntry],
    entry_id: str | None = None,
    entry_ms: int = 0,
    *,
    forgotten_ms: int = 0,
    left_out: frozenset[str] | None = frozenset(),
) -> SaidWords:
    """Return what was said after an entry, and after the last time something was forgotten.

    Args:
        branch: The conversation.
        entry_id: The last entry to leave out; None for none.
        entry_ms: The time of that entry in milliseconds since the epoch, in case the branch no longer has it.
        forgotten_ms: The last time anything was forgotten elsewhere, in milliseconds since the epoch.
        left_out: Entries that were forgotten, each with its run and all before it; None for all of the conversation.
    """
    begin = 0
    if entry_id is not None:
        known = [at for at, entry in enumerate(branch) if entry.id == entry_id]
        begin = known[0] + 1 if known else sum(entry.ts_ms <= entry_ms for entry in branch)
    gone = {entry.id for entry in branch if left_out is None or entry.id in left_out or entry.ts_ms <= forgotten_ms}
    forgot = {entry.run_id for entry in branch if entry.id in gone or _has_forgotten(entry)} - {None}
    over = (at + 1 for at, entry in enumerate(branch) if entry.id in gone or entry.run_id in forgot)
    begin = max([begin, *over])
    of_people = frozenset(entry.run_id for entry in branch if entry.run_id is not None and _is_of_a_person(entry))
    lines = tuple(line for entry in branch[begin:] if (line := _line(entry, of_people)) is not None)
    last = branch[-1] if branch else None
    return SaidWords(
        lines,
        last.id if last is not None else "",
        last.ts_ms if last is not None else 0,
        all(entry.provenance.trusted for entry in branch),
    )


def _is_of_a_person(entry: TranscriptEntry) -> bool:
    message = entry.message
    return (
        message is not None
        and message.role is Role.USER
        and entry.data.get("channel") not in HUB_CHANNELS
        and entry.data.get("name") != RUN_RESTARTED
    )


def _has_forgotten(entry: TranscriptEntry) -> bool:
    message = entry.message
    return message is not None and message.role is Role.TOOL and message.tool_name == FORGET and not message.is_error


def _line(entry: TranscriptEntry, of_people: frozenset[str]) -> SaidLine | None:
    message = entry.message
    if message is None or not (text := message.text.strip()):
        return None
    if message.role is Role.USER:
        name = harmless_name(entry.data.get("sender"))
        return SaidLine(name or "User", text) if _is_of_a_person(entry) else None
    if message.role is Role.ASSISTANT and (entry.run_id is None or entry.run_id in of_people):
        return SaidLine(None, text)
    return None
