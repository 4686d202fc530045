"""Writes an entry into its place, and strikes the ones it replaces. Blocks; texts come from `MemoryFiles`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, tzinfo
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import InvalidRequest
from hub.memory.alike import fact_key
from hub.memory.contract import Added, Hit, MemoryEntry
from hub.memory.markdown import Passage, format_entry, passages, struck
from hub.memory.places import CURATED, areas_of, may_strike, place_for
from hub.memory.ranking import SNIPPET_LIMIT
from hub.memory.scope import MemoryScope
from integrations.memory.notes.files.file_worker import FileWorker
from integrations.memory.notes.files.matching import Term, example_hint, matching_entries
from integrations.memory.notes.files.memory_files import displayable
from integrations.memory.notes.hits import hit_of

STRUCK_LIMIT = 3
"""Entries that one new one may replace."""

Texts = dict[str, tuple[str | None, str | None]]


class Remembering(Struct, frozen=True):
    """An entry to write.

    Attributes:
        entry: The entry.
        scope: The scope of the memory.
        replaced: The entries that the words of `entry.replaces` find.
        zone: The home's time zone.
    """

    entry: MemoryEntry
    scope: MemoryScope
    replaced: list[Term]
    zone: tzinfo

    def do(self, worker: FileWorker) -> tuple[Added, Sequence[str]]:
        """Write it, and return its place and the changed files.

        Raises:
            InvalidRequest: What it replaces is not clear; nothing was written.
            Forbidden: The session belongs to nobody who could have a memory.
            HubError, OSError: The files cannot be written.
        """
        made: list[Added] = []

        def make() -> tuple[Mapping[str, tuple[str | None, str | None]], str]:
            added, texts = self._made(worker)
            made.append(added)
            return texts, f"remembered in {added.hit.path}: {added.hit.text}"

        who = self.entry.provenance.person or "someone"
        record = worker.journal.rework(make, reason="add", who=who)
        return made[-1], [file.path for file in record.files]

    def _made(self, worker: FileWorker) -> tuple[Added, Texts]:
        """Return the written entry, and the old and new texts of the changed files."""
        provenance = self.entry.provenance
        place = place_for(
            self.entry.kind,
            self.scope,
            self._today(),
            trusted=provenance.trusted,
            curated_bytes=worker.files.curated_bytes(),
            shared=self.entry.shared,
        )
        texts: Texts = {}
        for path in (CURATED, place.path) if self.scope.private else (place.path,):
            texts[path] = (now := worker.files.text(path), now)
        known = self._known(texts)
        gone = self._replaced(worker)
        for path in dict.fromkeys(path for path, _ in gone):
            before, after = texts.get(path) or ((now := worker.files.text(path)), now)
            wanted = [each for at, each in gone if at == path]
            texts[path] = (before, struck(after or "", wanted, self._today()))
        hits = tuple(_hit(path, each) for path, each in gone)
        if known is not None:
            path, passage = known
            return Added(_hit(path, _found_again(texts[path][1] or "", passage)), known=True, struck=hits), texts
        item = format_entry(self.entry, self.zone)
        before, after = texts[place.path]
        fresh, line = place.with_item(after, item)
        texts[place.path] = (before, fresh)
        added = next(each for _, each in _facts(fresh) if each.start_line == line)
        return Added(_hit(place.path, added), struck=hits), texts

    def _known(self, texts: Texts) -> tuple[str, Passage] | None:
        """Return an existing equal entry that is at least as trusted."""
        wanted, trusted = fact_key(self.entry.text), self.entry.provenance.trusted
        for path, (_, text) in texts.items():
            for key, passage in _facts(text or ""):
                if key == wanted and wanted and (passage.trusted or not trusted):
                    return path, passage
        return None

    def _replaced(self, worker: FileWorker) -> list[tuple[str, Passage]]:
        """Return the replaced entries; words from outside never strike what people of this home said."""
        if not self.entry.replaces:
            return []
        trusted, same = self.entry.provenance.trusted, fact_key(self.entry.text)
        there = [
            (path, each)
            for path, text in worker.files.texts(areas_of(self.scope))
            for each in passages(text)
            if each.is_item
            and not each.struck
            and (trusted or not each.trusted)
            and fact_key(each.text) != same
            and may_strike(path, each.person, self.scope)
        ]
        found = matching_entries(there, self.entry.replaces, self.replaced)
        if len(found) > STRUCK_LIMIT:
            raise InvalidRequest(
                f"{len(found)} entries match what is replaced, and nothing was written. Say more precisely which, "
                f"{example_hint([each for _, each in found])}"
            )
        return found

    def _today(self) -> date:
        return datetime.fromtimestamp(self.entry.provenance.time, self.zone).date()


@lru_cache(maxsize=2)
def _facts(text: str) -> list[tuple[str, Passage]]:
    """Return the list items of a file that are not struck, each with its key."""
    return [(fact_key(each.text), each) for each in passages(text) if each.is_item and not each.struck]


def _found_again(text: str, passage: Passage) -> Passage:
    """Return a passage at its new position, after others were struck above it."""
    same = [each for each in passages(text) if each.text == passage.text and not each.struck and each.is_item]
    return same[0] if same else replace(passage)


def _hit(path: str, passage: Passage) -> Hit:
    return hit_of(path, passage, displayable(passage.text[:SNIPPET_LIMIT]))
