"""The prompt of a heartbeat: due checks, what happened since, and how to stay silent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from hub.automation.heartbeat.file import HeartbeatCheck
from hub.automation.services.system_event_queue import SystemEvent
from hub.messaging.outbox.ack import HEARTBEAT_OK
from hub.tools.quoting import quote_untrusted

OPENING = (
    "This is a heartbeat: nobody has asked anything. Look after what is below. Tell only what a person should know "
    "now, in a few words, as a message to them."
)
CLOSING = f"If nothing needs their attention, answer {HEARTBEAT_OK} and nothing else."


def heartbeat_prompt(
    checks: Sequence[HeartbeatCheck],
    notes: str,
    events: Sequence[SystemEvent],
    told: tuple[float, str] | None,
    zone: tzinfo,
    opening: str | None = None,
) -> str:
    """Return the message of a heartbeat.

    Args:
        checks: The due checks.
        notes: Other text of the file.
        events: Events since the last one; untrusted words are quoted as such.
        told: The last message sent, and when, so that it is not sent again.
        zone: The home's time zone.
        opening: Instead of the usual first words.
    """
    parts = [opening or OPENING]
    if notes:
        parts.append(notes)
    if checks:
        parts.append("Checks that are due:\n" + "\n".join(f"- {check.text}" for check in checks))
    if events:
        parts.append("What happened since the last time:\n" + "\n".join(event_line(event, zone) for event in events))
    if told is not None:
        when = datetime.fromtimestamp(told[0], zone)
        parts.append(
            f"Told already, {when:%a %H:%M}; do not repeat it unless it changed:\n> " + told[1].replace("\n", "\n> ")
        )
    parts.append(CLOSING)
    return "\n\n".join(parts)


def event_line(event: SystemEvent, zone: tzinfo) -> str:
    """Return a system event as one item of a list."""
    when = datetime.fromtimestamp(event.created_ms / 1000, zone)
    text = event.text if event.trusted else "\n" + quote_untrusted(event.text, source="system event")
    return f"- [{when:%a %H:%M}] {text}"
