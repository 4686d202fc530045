"""The conversations of an OpenClaw that lie in files: a line of JSON for each message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from hub.core.errors import HubError
from hub.migrate.conversations import TEXT_LIMIT, Conversation, StagedMessage
from hub.migrate.openclaw.their_state import TheirState
from hub.models.contract import Role

TRANSCRIPT_LIMIT_BYTES = 64 * 1024 * 1024
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def their_conversations(theirs: TheirState, agents: frozenset[str]) -> Iterator[Conversation]:
    """Yield the conversations of agents that come along."""
    for agent in sorted(agents):
        for name in theirs.files_below(f"agents/{agent}/sessions"):
            if not name.endswith(".jsonl"):
                continue
            try:
                text = theirs.root.read_text(name, TRANSCRIPT_LIMIT_BYTES, "replace")
            except (OSError, HubError):
                continue
            id = name.rpartition("/")[2].removesuffix(".jsonl")
            messages = tuple(_messages(text))
            if messages and all(each.isalnum() or each in "-_" for each in id):
                title = next((each.text for each in messages if each.role is Role.USER), id)
                yield Conversation(f"agent:{agent}:openclaw:{id}", agent, title[:80], messages)


def _messages(text: str) -> Iterator[StagedMessage]:
    last = 0
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "message" else None
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            continue
        said = _said(message.get("content"))
        if not said:
            continue
        last = max(last, _ms(entry.get("timestamp") or message.get("timestamp")) or last)
        model = message.get("model")
        yield StagedMessage(_ROLES[message["role"]], said[:TEXT_LIMIT], last, model if isinstance(model, str) else None)


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
    return "\n\n".join(each.strip() for each in texts if isinstance(each, str) and each.strip())


def _ms(value: Any) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value)
    try:
        return int(datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp() * 1_000)
    except ValueError:
        return 0
