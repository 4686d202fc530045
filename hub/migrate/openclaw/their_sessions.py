"""The conversations of an OpenClaw: in a database of each agent, and in files, a line of JSON for each message."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from hub.core.errors import HubError
from hub.migrate.conversations import CONVERSATIONS_LIMIT, TEXT_LIMIT, Conversation, StagedMessage
from hub.migrate.openclaw.their_state import TheirState
from hub.models.contract import Role

TRANSCRIPT_LIMIT_BYTES = 64 * 1024 * 1024
EVENT_LIMIT_BYTES = 4 * 1024 * 1024
EVENTS_LIMIT = 100_000
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_WINDOWS = """
select w.session_id, coalesce(n.label, n.display_name, w.display_name) from session_windows w
left join session_nodes n on n.session_key = w.session_key order by w.created_at
"""
_SHOWN = """
select e.event_json, e.event_zstd from session_transcript_active_events a
join transcript_events e on e.session_id = a.session_id and e.seq = a.event_seq
where a.session_id = ? order by a.active_position
"""
"""The branch that is shown, where the index of it is whole."""
_ALL = "select event_json, event_zstd from transcript_events where session_id = ? order by seq"
_PLAIN = "select event_json, null from transcript_events where session_id = ? order by seq"
"""Of versions that compress nothing."""


def their_conversations(theirs: TheirState, agents: frozenset[str]) -> Iterator[Conversation]:
    """Yield the conversations of agents that come along."""
    for agent in sorted(agents):
        seen: set[str] = set()
        for each in (*_in_database(theirs, agent), *_in_files(theirs, agent)):
            if each.key not in seen:
                seen.add(each.key)
                yield each


def _in_database(theirs: TheirState, agent: str) -> Iterator[Conversation]:
    database = f"agents/{agent}/agent/openclaw-agent.sqlite"
    for id, title in theirs.rows(_WINDOWS, database=database, limit=CONVERSATIONS_LIMIT):
        events: list[tuple[Any, ...]] = []
        for query in (_SHOWN, _ALL, _PLAIN):
            if events := theirs.rows(query, id, database=database, limit=EVENTS_LIMIT):
                break
        yield from _conversation(agent, str(id), title, (_event(*each) for each in events))


def _in_files(theirs: TheirState, agent: str) -> Iterator[Conversation]:
    for name in theirs.files_below(f"agents/{agent}/sessions"):
        if not name.endswith(".jsonl"):
            continue
        try:
            text = theirs.root.read_text(name, TRANSCRIPT_LIMIT_BYTES, "replace")
        except (OSError, HubError):
            continue
        yield from _conversation(agent, name.rpartition("/")[2].removesuffix(".jsonl"), None, text.splitlines())


def _conversation(agent: str, id: str, title: Any, events: Iterable[str | bytes]) -> Iterator[Conversation]:
    messages = tuple(_messages(events))
    if messages and all(each.isalnum() or each in "-_" for each in id):
        shown = title or next((each.text for each in messages if each.role is Role.USER), id)
        yield Conversation(f"agent:{agent}:openclaw:{id}", agent, str(shown)[:80], messages)


def _event(plain: Any, packed: Any) -> str | bytes:
    """Return an event as JSON; one of more than a kilobyte is compressed."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    if isinstance(plain, str):
        return plain
    try:
        return bytes(zstd.ZstdDecompressor().decompress(packed, max_length=EVENT_LIMIT_BYTES))
    except (zstd.ZstdError, TypeError):
        return b""


def _messages(events: Iterable[str | bytes]) -> Iterator[StagedMessage]:
    last = 0
    for each in events:
        try:
            entry = json.loads(each)
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
