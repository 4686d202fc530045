"""Side notes: text that the hub inserts before a person's message. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.conversation.conversation import message_data
from hub.agent.run_request import RunRequest
from hub.core.lanes import MAIN
from hub.models.contract import Role, user_message
from hub.sessions.entry import Provenance, TranscriptEntry, message_entry
from hub.tools.quoting import harmless

MEMORY = "memory"
"""Channel of what was recalled."""
REMINDER = "reminder"
"""The channel of standing reminders."""
NOTE_CHANNELS = frozenset({MEMORY, REMINDER, "system"})
"""Channels of side notes; events of the system are such notes too."""
HUB_CHANNELS = frozenset({*NOTE_CHANNELS, "automation"})
"""Channels of words in the place of a person's that no person said just then."""


def side_note(
    id: str, text: str, ts_ms: int, *, channel: str, trusted: bool = True, data: Mapping[str, Any] | None = None
) -> TranscriptEntry:
    """Return a side note as a transcript entry; untrusted text is quoted when a model is sent it.

    Args:
        id: The same for the same note, so that it is written once.
        text: Its text.
        ts_ms: Milliseconds since the epoch.
        channel: Named in the line that the hub puts before it: `memory`, `reminder`.
        trusted: Whether all of it came from this home's people.
        data: Further facts, for people and programs.
    """
    return message_entry(
        user_message(text),
        ts_ms,
        id=id,
        data={**(data or {}), **message_data(channel=channel, sender=None, trusted=trusted)},
        provenance=Provenance(trusted, channel),
    )


def note_channel(entry: TranscriptEntry) -> str | None:
    """Return the channel of a side note, None for any other entry."""
    channel = entry.data.get("channel")
    is_note = entry.message is not None and entry.message.role is Role.USER and channel in NOTE_CHANNELS
    return str(channel) if is_note else None


def quote_lines(text: str) -> str:
    """Return text as a Markdown quotation, with anything that looks like one of our markers defused."""
    return "\n".join(f"> {line.rstrip()}" for line in harmless(text).splitlines() if line.strip())


def is_said_by_a_person(request: RunRequest) -> bool:
    """Return whether a run answers a person, and not an automation, a heartbeat or a subagent's parent."""
    return request.lane == MAIN and not request.ephemeral
