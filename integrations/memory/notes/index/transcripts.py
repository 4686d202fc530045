"""Conversations as passages: what was said on both sides, by line of the transcript; results of tools are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import orjson

from hub.memory.chunking import Chunk, chunk, tokens_in
from hub.memory.dates import marks_in, marks_of_day
from integrations.memory.notes.index.settings import LibrarySettings

HUB_CHANNELS = frozenset({"memory", "reminder", "system", "automation"})
"""Channels of words in the place of a person's that nobody said (`hub.agent.side_note`). What memory itself put before
a message lies in its own area, and is not to be found once more in that of the conversation."""

_SPEAKERS = {"user": "", "assistant": "Assistant: "}


@dataclass(frozen=True, slots=True)
class Said:
    """What one line of a transcript says: who, what, on which day, and whether all of it came from this home."""

    line: int
    role: str
    text: str
    day: str
    trusted: bool


def transcript_chunks(
    path: str, data: bytes, settings: LibrarySettings, *, person: str | None, trusted: bool
) -> list[Chunk]:
    """Cut a transcript into passages of about the usual length; whatever its bytes are, nothing is raised.

    A passage holds what one day and one trust have in common: a question stands with its answer. What the assistant
    says once words from outside were before it may be theirs; only what people said themselves is trusted after that.

    Args:
        path: Its name, for the title.
        data: Its lines.
        settings: How long a passage is.
        person: Who speaks in it.
        trusted: False when none of it came from this home's people.
    """
    title, session, said = _read(data)
    found: list[Chunk] = []
    for group in _groups(said, settings.tokens):
        first = group[0]
        text = "\n".join(_SPEAKERS[each.role] + each.text for each in group)
        whole = Chunk(
            start_line=first.line,
            end_line=group[-1].line,
            text=text,
            title=title,
            person=person,
            session=session,
            day=first.day,
            trusted=trusted and first.trusted,
            marks=tuple(dict.fromkeys([*marks_of_day(date.fromisoformat(first.day)), *marks_in(text)])),
        )
        found.extend(_cut(whole, settings) if tokens_in(text) > settings.tokens else [whole])
    return found


def _read(data: bytes) -> tuple[str, str | None, list[Said]]:
    session: str | None = None
    said: list[Said] = []
    seen: set[str] = set()
    outside = False
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            stored = orjson.loads(line) if line else {}
            if not isinstance(stored, dict):
                continue
            if stored.get("type") == "header":
                session = session or str(stored.get("key") or "") or None
            elif stored.get("type") == "message" and stored.get("id") not in seen:
                seen.add(stored.get("id", ""))
                outside = outside or not is_trusted(stored)
                if (found := _said(stored, number)) is not None:
                    is_ours = found.trusted and not (outside and found.role == "assistant")
                    said.append(replace(found, trusted=is_ours))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError):
            continue  # a damaged line is the transcript's affair
    return "Conversation", session, said


def _said(stored: dict[str, object], number: int) -> Said | None:
    message = stored["message"]
    if not isinstance(message, dict) or message.get("role") not in _SPEAKERS or is_of_the_hub(stored):
        return None
    content = message.get("content")
    if isinstance(content, str):
        text = content
    else:
        blocks = content if isinstance(content, list) else []
        texts = (each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text")
        text = "".join(each for each in texts if isinstance(each, str))
    text = text.encode("utf-8", "replace").decode()
    if not text.strip():
        return None
    ts_ms = stored["ts_ms"]
    if isinstance(ts_ms, bool) or not isinstance(ts_ms, int):
        return None
    day = datetime.fromtimestamp(ts_ms / 1_000, UTC).date().isoformat()
    return Said(number, str(message["role"]), text.strip(), day, is_trusted(stored))


def is_of_the_hub(stored: Mapping[str, object]) -> bool:
    """Whether a line of a transcript holds what the hub put before a message."""
    data = stored.get("data")
    return isinstance(data, dict) and data.get("channel") in HUB_CHANNELS


def is_trusted(stored: Mapping[str, object]) -> bool:
    """Whether a line of a transcript plainly says that it can be trusted."""
    provenance = stored.get("provenance")
    return isinstance(provenance, dict) and provenance.get("trusted") is True


def _groups(said: list[Said], tokens: int) -> Iterator[list[Said]]:
    group: list[Said] = []
    size = 0
    for each in said:
        own = tokens_in(each.text)
        if group and (size + own > tokens or (each.day, each.trusted) != (group[0].day, group[0].trusted)):
            yield group
            group, size = [], 0
        group.append(each)
        size += own
    if group:
        yield group


def _cut(whole: Chunk, settings: LibrarySettings) -> Iterator[Chunk]:
    """Cut one long thing that was said as other text is cut; all pieces stand on its lines."""
    pieces = chunk("conversation.md", whole.text, tokens=settings.tokens, overlap=settings.overlap)
    if not pieces:
        yield whole
    for piece in pieces:
        # What is said is text: whatever looks like a source line or front matter in it tells nothing about it.
        marks = tuple(dict.fromkeys([*marks_of_day(date.fromisoformat(whole.day or "")), *marks_in(piece.text)]))
        yield replace(whole, text=piece.text, headings=piece.headings, marks=marks)
