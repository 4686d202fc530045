"""Conversations from elsewhere, as they are added to a plan and staged for the hub to write."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from hub.migrate.plan import Move, MoveItem, NewSession, Verdict
from hub.models.contract import Role

CONVERSATIONS_LIMIT = 20_000
TEXT_LIMIT = 200_000
"""Characters of one message; what is longer is cut."""


class StagedMessage(Struct, frozen=True, omit_defaults=True):
    """A message of a conversation that is added, a line of its file."""

    role: Role
    text: str
    ts_ms: int
    model: str | None = None


class Conversation(Struct, frozen=True):
    """A conversation from elsewhere.

    Attributes:
        key: Its full session key here, the same each time.
    """

    key: str
    agent: str
    title: str
    messages: tuple[StagedMessage, ...]


def add_conversations(move: Move, found: Iterable[Conversation], stage: Path | None) -> None:
    """Add conversations to a plan, each archived; with a folder, write their messages into it."""
    for each in found:
        if not each.messages or len(move.changes.sessions) >= CONVERSATIONS_LIMIT:
            continue
        file = f"{sha256(each.key.encode()).hexdigest()[:24]}.jsonl"
        if stage is not None:
            lines = (msgspec.json.encode(message) + b"\n" for message in each.messages)
            (stage / file).write_bytes(b"".join(lines))
        title = " ".join(each.title.split())[:200]
        move.changes.sessions.append(NewSession(each.key, each.agent, title, file))
        move.add(MoveItem("conversation", title or "?", Verdict.TAKEN, to=each.key))
