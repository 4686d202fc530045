"""Removes forgotten text from files, their history and conversations. Blocks; run by a file worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hub.memory.chunking import chunk
from hub.memory.contract import Forget, Hit
from hub.memory.places import area_of
from hub.memory.scope import MemoryScope
from integrations.memory.notes.files.file_worker import FileWorker
from integrations.memory.notes.files.matching import Term
from integrations.memory.notes.files.memory_files import Draft, displayable
from integrations.memory.notes.files.omissions import Omissions
from integrations.memory.notes.forget.conversations import Runs
from integrations.memory.notes.forget.deletion_plan import DeletionPlan, areas_searched, deletion_plans, within_limit
from integrations.memory.notes.forget.redaction import Redaction, embedded_leftovers, redactions
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.job import Source

PORTION = 4_000_000
"""The number of characters sent to the worker at once."""


class SearchedConversations(Struct, frozen=True):
    """The conversations to search.

    Attributes:
        source: All of them.
        omissions: The omitted parts.
        runs: The runs in which the forgotten person spoke.
    """

    source: Source
    omissions: Omissions
    runs: Runs = field(default_factory=dict)


class DeletionResult(Struct, frozen=True):
    """The parts of files and conversations that are, or would be, forgotten."""

    files: Sequence[DeletionPlan]
    said: Sequence[Redaction]

    @property
    def hits(self) -> list[Hit]:
        """The parts as results."""
        return [hit for each in self.files for hit in each.hits()] + [hit for each in self.said for hit in each.hits]

    @property
    def paths(self) -> list[str]:
        """The paths to index again."""
        return [each.path for each in self.files] + [each.path for each in self.said]


class Deletion(Struct, frozen=True):
    """A deletion of memories.

    Attributes:
        agent_id: By whom.
        what: The request.
        terms: The terms of its query.
        scope: The scope of the caller.
        spoken: The conversations; None when they are not part of the memory.
    """

    agent_id: str
    what: Forget
    terms: list[Term]
    scope: MemoryScope
    spoken: SearchedConversations | None

    def find(self, worker: FileWorker) -> DeletionResult:
        """Return what would be forgotten.

        Raises:
            InvalidRequest: The words name too much.
        """
        what, terms, scope, spoken = self.what, self.terms, self.scope, self.spoken
        replaced = worker.history.replacements() if what.query else {}
        files = deletion_plans(worker.files.texts(areas_searched(what, scope)), what, terms, scope, replaced)
        said = [] if spoken is None else list(redactions(spoken.source, what, terms, scope, spoken.runs))
        gone = DeletionResult(files, said)
        within_limit(gone.hits, what, sum(each.older for each in files))
        return gone

    def do(self, worker: FileWorker) -> tuple[DeletionResult, Sequence[str]]:
        """Delete, and return the deleted parts and the paths to index again.

        Raises:
            InvalidRequest, LimitExceeded: It is too much; nothing was forgotten.
            HubError, OSError: Not all of it could be forgotten.
        """
        gone = self.find(worker)
        spoken = self.spoken if gone.said else None
        if spoken is not None:
            left_out = spoken.omissions.with_more(self.agent_id, {each.file.id: each.entries for each in gone.said})
        self._from_files(worker, gone)
        if spoken is not None:
            spoken.omissions.keep(self.agent_id, left_out)
        return gone, gone.paths

    def _from_files(self, worker: FileWorker, gone: DeletionResult) -> None:
        """Delete from the history, then from the files."""
        lines = [line for each in gone.files for line in each.lines]
        if self.what.query:
            lines += [line for each in gone.said for said in each.said or () for line in said.text.split("\n")]
        worker.journal.heal()
        worker.history.scrub(lines, [each.path for each in gone.files if each.passages is None])
        by_area: dict[str, list[DeletionPlan]] = {}
        for each in gone.files:
            by_area.setdefault(area_of(each.path) or "", []).append(each)
        who = self.scope.person or "owner"
        for area in by_area.values():
            # One record for each area: who sees all of it learns that something was forgotten there, and by whom.
            worker.journal.forget([Draft(each.path, each.text, each.rest) for each in area], who=who)


def embedded_texts(
    gone: DeletionResult, spoken: SearchedConversations | None, settings: Mapping[str, Any]
) -> Iterator[list[str]]:
    """Yield the embedded texts of the deleted parts, in portions."""
    portion: dict[str, None] = {}
    size = 0
    for text in _embedded(gone, spoken, IndexSettings.from_plain(settings)):
        if text not in portion:
            portion[text] = None
            size += len(text)
        if size > PORTION:
            yield list(portion)
            portion, size = {}, 0
    if portion:
        yield list(portion)


def _embedded(gone: DeletionResult, spoken: SearchedConversations | None, settings: IndexSettings) -> Iterator[str]:
    for each in gone.files:
        lines = [(passage.start_line, passage.end_line) for passage in each.passages or ()]
        text = displayable(each.text).removeprefix("\ufeff")
        for piece in chunk(each.path, text, tokens=settings.tokens, overlap=settings.overlap):
            if each.passages is None or any(a <= piece.end_line and piece.start_line <= b for a, b in lines):
                yield piece.embed_text
    if spoken is not None:
        for said in gone.said:
            yield from embedded_leftovers(said, spoken.source, settings)
