"""The notebook: memory files as people read and edit them, with a history of every change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo

from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from hub.memory.contract import CHANGES_LIMIT
from hub.memory.file_names import free_name, slug_of
from hub.memory.front_matter import FrontMatter, with_front_matter
from hub.memory.markdown import without_sources
from hub.memory.notebook import Change, Edit, MemoryFile, MemoryText
from hub.memory.places import (
    FOLDER,
    IMPORTED,
    area_of,
    areas_of,
    day_of,
    may_see,
    may_write,
    own_folder,
)
from hub.memory.scope import MemoryProvenance, MemoryScope
from integrations.memory.notes.files import elsewhere
from integrations.memory.notes.files.file_worker import FileWorker, FileWorkers
from integrations.memory.notes.files.history import Record
from integrations.memory.notes.files.memory_files import Draft, MemoryFiles, StaleWrite, displayable, hash_of
from integrations.memory.notes.files.undoing import summary_of_undoing, undo_change
from integrations.memory.notes.job import FILE_LIMIT_BYTES, Source

EDITS_LIMIT = 500
FILES_LIMIT = 1_000
BRING_IN_LIMIT = 16 * 1_048_576
"""Characters that come in at once."""
NOTE_LIMIT = 200_000
"""Characters of a note."""
NAMES_TRIED = 1_000
NO_SLUG = "notes"
NAME_LIMIT = 100
"""Characters of each part of an imported file's name, which has at most `DEPTH_LIMIT` parts."""
DEPTH_LIMIT = 8
REASONS = frozenset({"add", "edit", "tidy", "import", "undo", "note", "forget"})

_ORIGIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NOT_NAME = re.compile(r"[^\w.-]+")


class NotesNotebook:
    """The files of every agent's memory; see `hub.memory.contract.Notebook`.

    Args:
        workers: Run the work on files.
        sources: Gives the parts of an agent's memory outside its workspace.
        zone: The time zone of this home, in which days begin.
    """

    def __init__(
        self, workers: FileWorkers, sources: Callable[[str], Sequence[Source]], zone: Callable[[], tzinfo]
    ) -> None:
        self._workers = workers
        self._sources = sources
        self._zone = zone

    async def files(self, *, agent_id: str, scope: MemoryScope) -> list[MemoryFile]:
        """Return the files visible in a scope: curated ones first, then the newest days, then the others."""
        areas, sources = areas_of(scope), self._sources(agent_id)

        def listed(worker: FileWorker) -> list[MemoryFile]:
            return [
                MemoryFile(
                    each.path,
                    area_of(each.path) or "",
                    each.size_bytes,
                    each.mtime_ns // 1_000_000,
                    day.isoformat() if (day := day_of(each.path)) else None,
                    writable=may_write(each.path, scope),
                )
                for each in worker.files.entries(areas)
            ] + elsewhere.files_in_areas(sources, areas)

        return await self._workers.look(agent_id, listed) if areas else []

    async def read(self, path: str, *, agent_id: str, scope: MemoryScope) -> MemoryText:
        """Return a file's text; invalid UTF-8 is shown as U+FFFD.

        Raises:
            NotFound: There is no such file within `scope`.
            LimitExceeded, Unavailable: It cannot be read.
        """
        sources = self._sources(agent_id)

        def text(worker: FileWorker) -> MemoryText:
            if elsewhere.is_elsewhere(path):
                found = elsewhere.read(sources, path, areas_of(scope))
                if found is None:
                    raise no_such_file(path)
                return MemoryText(path, found.text, hash_of(found.text) or "")
            now = worker.files.text(path) if may_see(path, scope) else None
            if now is None:
                raise no_such_file(path)
            return MemoryText(path, displayable(now), hash_of(now) or "")

        return await self._workers.look(agent_id, text)

    async def write(
        self, edits: Sequence[Edit], *, agent_id: str, scope: MemoryScope, reason: str, who: str, summary: str
    ) -> Change:
        """Change files together: all or none.

        Raises:
            Conflict: A file changed since it was read; nothing was written.
            NotFound, Forbidden, InvalidRequest: It may not be written, or not so.
            Unavailable: The disk cannot be written.
        """
        _check_edits(edits, scope, reason)

        def write(worker: FileWorker) -> tuple[Change, Sequence[str]]:
            drafts = []
            for edit in edits:
                before = worker.files.text(edit.path)
                if hash_of(before) != edit.base_hash:
                    raise _changed(edit.path)
                drafts.append(Draft(edit.path, before, edit.text))
            record = _change(worker, drafts, reason=reason, who=who, summary=summary)
            return record.as_change(), [file.path for file in record.files]

        return await self._workers.change(agent_id, write)

    async def note(
        self, slug: str, title: str, text: str, provenance: MemoryProvenance, *, agent_id: str, scope: MemoryScope
    ) -> str:
        """Write the summary of a conversation into a separate file, and return its path.

        Raises:
            Forbidden: The session belongs to nobody who could have a memory.
            InvalidRequest: There is nothing to write, or too much.
            Unavailable: The disk cannot be written.
        """
        if not text.strip() or len(text) > NOTE_LIMIT:
            raise InvalidRequest(f"a note has 1 to {NOTE_LIMIT} characters")
        _check_text(text)
        folder = FOLDER if scope.private else own_folder(scope)
        day = datetime.fromtimestamp(provenance.time, self._zone()).date()
        name = f"{folder}/{day:%Y-%m-%d}-{slug_of(slug, NO_SLUG)}"
        front = FrontMatter(
            trusted=provenance.trusted, source="conversation", person=provenance.person, session=provenance.session_key
        )
        # Whoever wrote the text, each line of it came from this conversation.
        body = without_sources(text.strip())
        whole = with_front_matter(front, f"# {' '.join(title.split()) or day.isoformat()}\n\n{body}\n")

        def write(worker: FileWorker) -> tuple[str, Sequence[str]]:
            path = _free(worker.files, name)
            who = provenance.person or "someone"
            _change(
                worker, [Draft(path, None, whole)], reason="note", who=who, summary=f"notes of a conversation: {title}"
            )
            return path, [path]

        return await self._workers.change(agent_id, write)

    async def changes(self, *, agent_id: str, scope: MemoryScope, limit: int = 50) -> list[Change]:
        """Return the changes, newest first; a change is visible to those who see all of its files."""
        most = max(0, min(limit, CHANGES_LIMIT))

        def newest(worker: FileWorker) -> list[Change]:
            found: list[Change] = []
            for record in worker.history.newest():
                if len(found) >= most:
                    break
                if _is_seen(record, scope):
                    found.append(record.as_change())
            return found

        return await self._workers.look(agent_id, newest)

    async def undo(self, change_id: str, *, agent_id: str, scope: MemoryScope, who: str) -> Change:
        """Undo a change; later changes by others in the same files stay.

        Raises:
            NotFound: There is no such change within `scope`.
            Forbidden: Its files may be read, not written.
            Conflict: Its files were changed again since, or it cannot be undone.
            Unavailable: The disk cannot be written.
        """

        def undo(worker: FileWorker) -> tuple[Change, Sequence[str]]:
            record = worker.history.get(change_id)
            if record is None or not _is_seen(record, scope):
                raise NotFound(
                    f"there is no change {change_id!r:.80}; the list of changes has the ids of those there are"
                )
            if not record.can_undo:
                why = "it was taken back already" if record.undone else "what it changed is not kept"
                if record.reason == "forget":
                    why = "what was forgotten is not kept"
                raise Conflict(f"the change cannot be undone: {why}")
            if not all(may_write(file.path, scope) for file in record.files):
                raise Forbidden("what is shared in this home is the owner's to edit")
            drafts = [undo_change(file, worker.files.text(file.path)) for file in record.files]
            summary = summary_of_undoing(record)
            done = _change(worker, drafts, reason="undo", who=who, summary=summary, undoes=record.id)
            worker.history.mark(record.id, undone=True)
            if record.undoes is not None:
                worker.history.mark(record.undoes, undone=False)
            return done.as_change(), [file.path for file in done.files]

        return await self._workers.change(agent_id, undo)

    async def bring_in(
        self, files: Mapping[str, str], *, origin: str, trusted: bool, agent_id: str, scope: MemoryScope
    ) -> list[str]:
        """Write files of another assistant below `memory/imported/<origin>/`; return the paths written.

        What exists already, word for word, is not written again; what differs is replaced, and the
        history has the old version.

        Raises:
            Forbidden: The requester is not the owner.
            InvalidRequest: It is too large, or not text.
            Unavailable: The disk cannot be written.
        """
        if not scope.private:
            raise Forbidden("only an owner can bring in memories of another assistant")
        if not _ORIGIN.fullmatch(origin):
            raise InvalidRequest(f"the origin must be a word of a-z, 0-9, - and _, not {origin!r:.80}")
        if len(files) > FILES_LIMIT or sum(len(text) for text in files.values()) > BRING_IN_LIMIT:
            raise InvalidRequest(f"at most {FILES_LIMIT} files and {BRING_IN_LIMIT} characters come in at once")
        texts: dict[str, str] = {}
        for name, text in sorted(files.items()):
            _check_text(text)
            body = text.removeprefix("\ufeff") if trusted else without_sources(text.removeprefix("\ufeff"))
            path = _imported(origin, name, texts)
            texts[path] = with_front_matter(FrontMatter(trusted=trusted, source=origin), body)

        def write(worker: FileWorker) -> tuple[list[str], Sequence[str]]:
            drafts = [Draft(path, worker.files.text(path), text) for path, text in texts.items()]
            summary = f"brought in {len(texts)} files of {origin}"
            record = _change(worker, drafts, reason="import", who=scope.person or "owner", summary=summary)
            paths = [file.path for file in record.files]
            return paths, paths

        return await self._workers.change(agent_id, write)


def no_such_file(path: str) -> NotFound:
    """Return the message that a file does not exist, or not for this session."""
    return NotFound(f"there is no memory file {path!r:.200} here; a path is written as the list of files has it")


def _change(
    worker: FileWorker, drafts: Sequence[Draft], *, reason: str, who: str, summary: str, undoes: str | None = None
) -> Record:
    try:
        return worker.journal.change(drafts, reason=reason, who=who, summary=summary, undoes=undoes)
    except StaleWrite as stale:
        raise _changed(stale.path) from stale


def _changed(path: str) -> Conflict:
    return Conflict(f"{path} changed since it was read, and nothing was written; read it again", details={"path": path})


def _check_edits(edits: Sequence[Edit], scope: MemoryScope, reason: str) -> None:
    if not 1 <= len(edits) <= EDITS_LIMIT:
        raise InvalidRequest(f"expected 1 to {EDITS_LIMIT} files at once, got {len(edits)}")
    if reason not in REASONS:
        raise InvalidRequest(f"{reason!r:.40} is not a reason; expected one of {', '.join(sorted(REASONS))}")
    if len({edit.path for edit in edits}) < len(edits):
        raise InvalidRequest("expected each file once")
    for edit in edits:
        if elsewhere.is_elsewhere(edit.path):
            raise Forbidden(f"{edit.path!r:.200} is outside the workspace, and is only read here")
        if not may_see(edit.path, scope):
            raise no_such_file(edit.path)
        if not may_write(edit.path, scope):
            raise Forbidden("what is shared in this home is the owner's to edit; others add to it")
        if edit.text is not None:
            _check_text(edit.text)


def _check_text(text: str) -> None:
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"that is not text: character {error.start} is invalid") from error
    if size_bytes > FILE_LIMIT_BYTES:
        raise InvalidRequest(f"a memory file has at most {FILE_LIMIT_BYTES} bytes")
    if "\x00" in text:
        raise InvalidRequest("expected text, got a NUL character")


def _is_seen(record: Record, scope: MemoryScope) -> bool:
    return bool(record.files) and all(may_see(file.path, scope) for file in record.files)


def _free(files: MemoryFiles, name: str) -> str:
    """Return a free path."""
    for number in range(1, NAMES_TRIED):
        path = f"{name}.md" if number == 1 else f"{name}-{number}.md"
        if not files.root.exists(path):
            return path
    raise Conflict(f"there are too many notes called {name}")


def _imported(origin: str, name: str, taken: Mapping[str, str]) -> str:
    """Return the destination of an imported file; its name is made safe and unique."""
    parts = [_NOT_NAME.sub("-", part).strip(".-")[:NAME_LIMIT] for part in name.removesuffix(".md").split("/")]
    plain = "/".join([part for part in parts if part][-DEPTH_LIMIT:]) or "notes"
    return free_name(taken, f"{IMPORTED}/{origin}/{plain}.md")
