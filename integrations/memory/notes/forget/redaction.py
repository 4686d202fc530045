"""Plans which parts of conversations are forgotten. Reads transcripts, and blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import date

from msgspec import Struct

from hub.core.errors import HubError
from hub.memory.contract import Forget, Hit
from hub.memory.places import areas_of
from hub.memory.ranking import SNIPPET_LIMIT
from hub.memory.scope import MemoryScope
from hub.security.root import Root
from integrations.memory.notes.files.matching import Term, has_all
from integrations.memory.notes.forget.conversations import Runs
from integrations.memory.notes.hits import WHOLE
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.transcripts import (
    Conversation,
    TranscriptLine,
    read_conversation,
    transcript_chunks,
)
from integrations.memory.notes.job import TRANSCRIPT_LIMIT_BYTES, TRANSCRIPTS, Source, TranscriptSource

_USER = "user"


class Redaction(Struct, frozen=True):
    """The planned deletion in one conversation.

    Attributes:
        file: The conversation.
        said: The deleted parts; None: all of it, and its future messages.
        hits: It as results; without a text when the session does not see it.
    """

    file: TranscriptSource
    said: tuple[TranscriptLine, ...] | None
    hits: tuple[Hit, ...]

    @property
    def path(self) -> str:
        """As in `Hit.path`."""
        return f"{TRANSCRIPTS}/{self.file.id}"

    @property
    def entries(self) -> frozenset[str] | None:
        """The deleted entries' ids; None for all."""
        return None if self.said is None else frozenset(each.id for each in self.said)


def redactions(source: Source, what: Forget, terms: list[Term], scope: MemoryScope, runs: Runs) -> Iterator[Redaction]:
    """Yield the planned deletions, by conversation.

    All of a conversation is deleted when it is named, or is that person's. Where others speak too, only their words.
    As with files, an owner may have everything of a person or a session forgotten wherever it is; by words only the
    visible ones are searched.

    Args:
        source: The conversations.
        what: The request.
        terms: The terms of its query.
        scope: The scope of the caller.
        runs: The runs in which the requested person spoke.
    """
    seen = areas_of(scope)
    for file in source.files:
        is_seen = file.area in seen
        if not is_seen and (what.query or not scope.private):
            continue
        if what.session is not None and what.session != file.key:
            continue
        is_theirs = what.person in (None, file.person)
        if not is_theirs and file.id not in runs:
            continue
        if (conversation := _read(source, file)) is None:
            continue
        if is_theirs and not what.query:
            yield Redaction(file, None, (_whole(file, conversation, is_seen=is_seen),))
            continue
        said = [
            each
            for each in conversation.said
            if (is_theirs or (each.role == _USER and each.run_id in runs[file.id]))
            and has_all(each.text, date.fromisoformat(each.day), terms)
        ]
        if said:
            yield Redaction(file, tuple(said), tuple(_hit(file, each, is_seen=is_seen) for each in said))


def embedded_leftovers(gone: Redaction, source: Source, settings: IndexSettings) -> Collection[str]:
    """Return deleted texts that may have been embedded and are no longer passages."""
    file = gone.file
    try:
        data = Root(source.root).read_bytes(file.path, TRANSCRIPT_LIMIT_BYTES)
    except (OSError, HubError):
        return ()

    def texts(left_out: Collection[str], *, grown: bool) -> list[str]:
        chunks = transcript_chunks(data, settings, person=None, trusted=True, left_out=left_out, grown=grown)
        return [each.embed_text for each in chunks]

    before = texts(file.left_out, grown=True)
    after = set() if gone.entries is None else set(texts({*gone.entries, *file.left_out}, grown=False))
    return [text for text in before if text not in after]


def _read(source: Source, file: TranscriptSource) -> Conversation | None:
    """Return a transcript without forgotten parts; empty if unreadable, None without a file."""
    root = Root(source.root)
    if not root.is_file(file.path):
        return None
    with suppress(OSError, HubError):
        return read_conversation(root.read_bytes(file.path, TRANSCRIPT_LIMIT_BYTES), file.left_out)
    return Conversation()


def _whole(file: TranscriptSource, conversation: Conversation, *, is_seen: bool) -> Hit:
    text = _beginning(conversation.said) if is_seen else ""
    return Hit(
        f"{TRANSCRIPTS}/{file.id}",
        1,
        max(1, conversation.lines),
        text,
        WHOLE,
        trusted=file.trusted and all(each.trusted for each in conversation.said),
        person=file.person,
        session=file.key,
    )


def _hit(file: TranscriptSource, said: TranscriptLine, *, is_seen: bool) -> Hit:
    return Hit(
        f"{TRANSCRIPTS}/{file.id}",
        said.line,
        said.line,
        said.text[:SNIPPET_LIMIT] if is_seen else "",
        WHOLE,
        trusted=file.trusted and said.trusted,
        person=file.person,
        session=file.key,
        day=said.day,
    )


def _beginning(said: Sequence[TranscriptLine]) -> str:
    found = ""
    for each in said:
        if len(found) >= SNIPPET_LIMIT:
            break
        found += f"{each.role}: {each.text}\n"
    return found[:SNIPPET_LIMIT].rstrip("\n")
