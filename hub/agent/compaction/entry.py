"""The transcript entry of a compaction: from then on, models are sent its summary in place of older messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from hub.models.contract import Message, Role, TextBlock
from hub.sessions.entry import Provenance, TranscriptEntry, event_entry
from hub.tools.quoting import new_marker, quote_untrusted

COMPACTION = "compaction"
"""The name of the event entry."""

_HEAD = "[The conversation before this point was summarised by the hub; it is kept, but no longer shown here]"
_STARTUP = "[From AGENTS.md, which still holds]"
_SOURCE = "the summary of this conversation"


class Compaction(Struct, frozen=True):
    """The contents of a compaction entry.

    Attributes:
        summary: The summary.
        first_kept: Id of the first entry that is still shown as it was said.
        turn: Id of the request that is shown before it, when the turn it began was cut.
        reason: threshold | overflow | asked.
        messages: How many messages the summary replaces.
        tokens_before: About how many tokens the conversation had.
        startup: Sections of AGENTS.md that are shown again.
        marker: Marks the quotation of a summary that was made of words from outside.
    """

    summary: str
    first_kept: str
    turn: str | None = None
    reason: str = ""
    messages: int = 0
    tokens_before: int = 0
    startup: str = ""
    marker: str = ""


def compaction_entry(done: Compaction, ts_ms: int, *, derived: bool, run_id: str | None) -> TranscriptEntry:
    """Return the entry; `derived` is whether the summary may contain words from outside."""
    data: dict[str, Any] = {**asdict(done), "marker": new_marker() if derived else ""}
    provenance = Provenance(trusted=not derived, who="model", derived=derived)
    return event_entry(COMPACTION, ts_ms, data, run_id=run_id, provenance=provenance)


def read_compaction(entry: TranscriptEntry) -> Compaction | None:
    """Return the contents of a compaction entry; None for any other entry, and for an incomplete one."""
    data = entry.data
    if entry.message is not None or data.get("name") != COMPACTION:
        return None
    summary, first_kept, turn = data.get("summary"), data.get("first_kept"), data.get("turn")
    if not (isinstance(summary, str) and summary and isinstance(first_kept, str) and isinstance(turn, str | None)):
        return None
    startup, marker = data.get("startup"), data.get("marker")
    return Compaction(
        summary,
        first_kept,
        turn,
        startup=startup if isinstance(startup, str) else "",
        marker=marker if isinstance(marker, str) else "",
    )


def compactions_in(branch: Sequence[TranscriptEntry]) -> int:
    """Return how often a conversation was compacted."""
    return sum(entry.data.get("name") == COMPACTION for entry in branch)


def since_compaction(branch: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
    """Return the entries of a branch that models are still sent unsummarised."""
    for entry in reversed(branch):
        if entry.message is None and (done := read_compaction(entry)) is not None:
            return branch[next((at for at, each in enumerate(branch) if each.id == done.first_kept), 0) :]
    return branch


def summary_message(done: Compaction, entry: TranscriptEntry) -> Message:
    """Return the message that replaces the summarised ones; derived words are quoted."""
    summary = done.summary
    if not entry.provenance.trusted:
        summary = quote_untrusted(summary, source=_SOURCE, marker=done.marker or entry.id)
    parts = [_HEAD, summary, *([f"{_STARTUP}\n{done.startup}"] if done.startup else [])]
    return Message(Role.USER, (TextBlock("\n\n".join(parts)),))
