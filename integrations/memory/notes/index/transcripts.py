"""Conversations as passages: both sides, by line of the transcript; results of tools are left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime

import orjson
from msgspec import Struct, field, structs
from msgspec.structs import replace

from hub.memory.chunking import Chunk, chunk, tokens_in
from hub.memory.dates import marks_of_day, search_marks
from integrations.memory.notes.index.settings import IndexSettings

HUB_CHANNELS = frozenset({"memory", "reminder", "system", "automation"})
"""Channels of words in the place of a person's that nobody said (`hub.agent.conversation.side_note`). What memory
itself put before a message lies in its own area, and is not to be found once more in that of the conversation."""

_TITLE = "Conversation"
_SPEAKERS = {"user": "", "assistant": "Assistant: "}


class TranscriptLine(Struct, frozen=True):
    """One line of a transcript.

    Attributes:
        line: Counted from 1.
        id: The id of the entry.
        run_id: The id of the run that wrote it.
        role: `user` or `assistant`.
        text: The message.
        day: `YYYY-MM-DD`.
        trusted: Whether all of it came from this home.
    """

    line: int
    id: str
    run_id: str | None
    role: str
    text: str
    day: str
    trusted: bool


class Conversation(Struct):
    """The messages of a conversation, by line.

    Attributes:
        session: Its key.
        said: The messages, in order.
        lines: The lines of the file.
        trusted: Whether it has no words from outside.
    """

    session: str | None = None
    said: list[TranscriptLine] = field(default_factory=list)
    lines: int = 0
    trusted: bool = True


def transcript_chunks(
    data: bytes,
    settings: IndexSettings,
    *,
    person: str | None,
    trusted: bool,
    left_out: Collection[str] = (),
    grown: bool = False,
) -> list[Chunk]:
    """Cut a transcript into passages of about the usual length; whatever its bytes are, nothing is raised.

    A passage holds the lines of one day and one trust: a question stays with its answer. What the assistant
    says once words from outside were before it may be theirs; only what people said themselves is trusted after that.

    Args:
        data: Its lines.
        settings: How long a passage is.
        person: Its speaker.
        trusted: False when none of it came from this home's people.
        left_out: Ids of entries that were forgotten.
        grown: Whether to return also the earlier passages from while the conversation grew.
    """
    conversation = read_conversation(data, left_out)
    found: list[Chunk] = []
    whole_groups = _groups(conversation.said, settings.tokens)
    groups = (group[:end] for group in whole_groups for end in range(1 if grown else len(group), len(group) + 1))
    for group in groups:
        first = group[0]
        text = "\n".join(_SPEAKERS[each.role] + each.text for each in group)
        whole = Chunk(
            start_line=first.line,
            end_line=group[-1].line,
            text=text,
            title=_TITLE,
            person=person,
            session=conversation.session,
            day=first.day,
            trusted=trusted and first.trusted,
            marks=tuple(dict.fromkeys([*marks_of_day(date.fromisoformat(first.day)), *search_marks(text)])),
        )
        found.extend(_cut(whole, settings) if tokens_in(text) > settings.tokens else [whole])
    return found


def read_conversation(data: bytes, left_out: Collection[str] = ()) -> Conversation:
    """Return the words of a transcript; never raises, whatever its bytes are.

    A line without an id is not treated as said: it could not be left out.

    Args:
        data: Its lines.
        left_out: Ids of forgotten entries; the taint of their words from outside is kept.
    """
    found = Conversation()
    seen: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), start=1):
        found.lines = number
        try:
            stored = orjson.loads(line) if line else {}
            if not isinstance(stored, dict):
                continue
            if stored.get("type") == "header":
                found.session = found.session or str(stored.get("key") or "") or None
            elif stored.get("type") == "message" and (id_ := _id(stored)) not in seen:
                seen.add(id_)
                found.trusted = found.trusted and is_trusted(stored)
                said = _said(stored, number) if id_ not in left_out else None
                if said is not None:
                    is_ours = said.trusted and (found.trusted or said.role != "assistant")
                    found.said.append(replace(said, trusted=is_ours))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError):
            continue  # a damaged line is the transcript's affair
    return found


def _id(stored: Mapping[str, object]) -> str:
    id_ = stored["id"]
    if not isinstance(id_, str) or not id_:
        raise TypeError("expected an id: a text that is not empty")
    return id_


def _said(stored: dict[str, object], number: int) -> TranscriptLine | None:
    message = stored["message"]
    if not isinstance(message, dict) or message.get("role") not in _SPEAKERS or is_hub_note(stored):
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
    run_id = stored.get("run_id")
    role, whose = str(message["role"]), run_id if isinstance(run_id, str) else None
    return TranscriptLine(number, _id(stored), whose, role, text.strip(), day, is_trusted(stored))


def is_hub_note(stored: Mapping[str, object]) -> bool:
    """Whether a line of a transcript holds the hub's insertion before a message."""
    data = stored.get("data")
    return isinstance(data, dict) and data.get("channel") in HUB_CHANNELS


def is_trusted(stored: Mapping[str, object]) -> bool:
    """Whether a line of a transcript plainly says that it can be trusted."""
    provenance = stored.get("provenance")
    return isinstance(provenance, dict) and provenance.get("trusted") is True


def _groups(said: list[TranscriptLine], tokens: int) -> Iterator[list[TranscriptLine]]:
    group: list[TranscriptLine] = []
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


def _cut(whole: Chunk, settings: IndexSettings) -> Iterator[Chunk]:
    """Cut one long message like other text; all pieces are on its lines."""
    pieces = chunk("conversation.md", whole.text, tokens=settings.tokens, overlap=settings.overlap)
    if not pieces:
        yield whole
    for piece in pieces:
        # What is said is text: whatever looks like a source line or front matter in it tells nothing about it.
        marks = tuple(dict.fromkeys([*marks_of_day(date.fromisoformat(whole.day or "")), *search_marks(piece.text)]))
        yield structs.replace(whole, text=piece.text, headings=piece.headings, marks=marks)
