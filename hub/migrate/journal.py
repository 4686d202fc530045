"""The journal of a move: what is about to be written is on disk before the first file changes, for an undo.

Everything here blocks.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct, field

from hub.config import edit
from hub.config.files import ROOT_FILE, SECRETS_FILE, YAML_SUFFIXES, content_hash
from hub.config.files_editor import FilesEditor
from hub.config.paths import KeyPath
from hub.core.errors import HubError, NotFound
from hub.core.phrases import phrase
from hub.migrate.plan import Changes, Move
from hub.security.root import Root

FOLDER = ".storage/moves"
FILE_LIMIT_BYTES = 64 * 1024 * 1024
JOURNAL = "journal.json"
SESSIONS = "sessions"


class State(StrEnum):
    """How far a move is."""

    BEGUN = "begun"
    """Its changes are being written, or taken back; or the hub ended meanwhile."""
    DONE = "done"
    UNDONE = "undone"


class FileChange(Struct, frozen=True):
    """A file that a move writes.

    Attributes:
        name: Below the home directory.
        before: Hash of its content before; None when there was none. The content is kept beside the journal.
        after: Hash of its new content.
    """

    name: str
    before: str | None
    after: str


class Journal(Struct, frozen=True):
    """A move that was begun.

    Attributes:
        id: Of the move, which sorts by time.
        begun_ms: Milliseconds since the epoch.
        counts: Of each kind, how many came.
        sessions: The keys of the conversations it adds.
        places: The kinds and ids of the labels, floors and areas it adds.
    """

    id: str
    source: str
    path: str
    begun_ms: int
    state: State
    counts: dict[str, int]
    files: list[FileChange]
    edits: list[tuple[str | int, ...]] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)


class UndoResult(Struct, frozen=True):
    """The result of an undo.

    Attributes:
        restored: Files that are as they were, or gone again.
        left: Files that were changed since and stay, with the reason.
    """

    restored: list[str]
    left: dict[str, str]


class Journals:
    """The moves of a home.

    Args:
        root: The home directory.
        editor: Of its configuration files: checks, history.
    """

    def __init__(self, root: Root, editor: FilesEditor) -> None:
        self._root = root
        self._editor = editor

    def all(self) -> Iterator[Journal]:
        """Yield the moves, the newest first."""
        if not self._root.is_dir(FOLDER):
            return
        for name in sorted(self._root.listdir(FOLDER), reverse=True):
            try:
                data = self._root.read_bytes(f"{FOLDER}/{name}/{JOURNAL}", FILE_LIMIT_BYTES)
                yield msgspec.json.decode(data, type=Journal)
            except (OSError, HubError, ValueError):
                continue  # it was not begun: nothing of it was written

    def latest(self) -> Journal:
        """Return the newest move that is in force, whole or in part.

        Raises:
            NotFound: There is none.
        """
        found = next((each for each in self.all() if each.state is not State.UNDONE), None)
        if found is None:
            raise NotFound(phrase("nothing was brought over that could be undone"))
        return found

    def begin(self, id: str, move: Move) -> Journal:
        """Keep what will change, as it is now; the journal is on disk when this returns."""
        changes = move.changes
        files = []
        for number, each in enumerate(changes.files):
            files.append(FileChange(each.name, each.base, content_hash(each.data)))
            if (before := self._data(each.name)) is not None:
                self._root.write_bytes(f"{FOLDER}/{id}/before/{number}", before, parents=True)
        journal = Journal(
            id,
            move.source,
            move.path,
            int(time.time() * 1_000),
            State.BEGUN,
            _came(move),
            files,
            changes.edits,
            changes.secrets,
            [each.key for each in changes.sessions],
            [(each.kind, each.id) for each in changes.places],
        )
        self._put(journal)
        return journal

    def write(self, changes: Changes) -> None:
        """Write the files of a move, in their order.

        Raises:
            Conflict: One was changed since the plan was made.
        """
        for each in changes.files:
            if is_configuration(each.name):
                self._editor.write_file(each.name, each.data.decode(), each.base)
            else:
                self._root.write_bytes(each.name, each.data, parents=True)

    def finish(self, journal: Journal, state: State) -> None:
        """Note how far a move is; once it is whole, the messages that were staged for it go."""
        self._put(msgspec.structs.replace(journal, state=state))
        if state is not State.BEGUN:
            shutil.rmtree(self._root.path / FOLDER / journal.id / SESSIONS, ignore_errors=True)

    def undo_files(self, journal: Journal, *, force: bool = False) -> UndoResult:
        """Put the files of a move back, the last one first; what was changed since stays, unless `force`.

        Of the root file and the secrets, what the move added is taken out where the rest was changed.
        """
        restored: list[str] = []
        left: dict[str, str] = {}
        for number, each in reversed(list(enumerate(journal.files))):
            now = self._data(each.name)
            found = content_hash(now) if now is not None else None
            if found == each.before:
                restored.append(each.name)
                continue
            if found != each.after and not force:
                if each.name in (ROOT_FILE, SECRETS_FILE) and self._taken_out(each.name, journal):
                    restored.append(each.name)
                else:
                    left[each.name] = phrase("it was changed since")
                continue
            self._put_back(each.name, number, journal)
            restored.append(each.name)
        return UndoResult(restored, left)

    def forget(self, id: str) -> None:
        """Delete the folder of a move that was not begun."""
        shutil.rmtree(self._root.path / FOLDER / id, ignore_errors=True)

    def folder(self, id: str) -> Path:
        """Return the folder of a move, made now; what is left of moves that never began goes."""
        for name in self._root.listdir(FOLDER) if self._root.is_dir(FOLDER) else ():
            if not self._root.is_file(f"{FOLDER}/{name}/{JOURNAL}"):
                self.forget(name)
        self._root.mkdir(f"{FOLDER}/{id}/{SESSIONS}")
        return self._root.path / FOLDER / id

    # -- below -------------------------------------------------------------------------------------------------------

    def _put_back(self, name: str, number: int, journal: Journal) -> None:
        now = self._data(name)
        try:
            before = self._root.read_bytes(f"{FOLDER}/{journal.id}/before/{number}", FILE_LIMIT_BYTES)
        except FileNotFoundError:
            if now is not None and is_configuration(name):
                self._editor.history.keep(name, now)
            if now is not None:
                self._root.unlink(name)
            return
        if is_configuration(name):
            self._editor.write_file(name, before.decode(), content_hash(now) if now is not None else None)
        else:
            self._root.write_bytes(name, before, parents=True)

    def _taken_out(self, name: str, journal: Journal) -> bool:
        """Take what a move added out of a file that was changed since; False where that is not possible."""
        text, base = self._editor.read_file(name, admin=True)
        added: list[KeyPath] = [(each,) for each in journal.secrets]
        if name == ROOT_FILE:
            added = [keys for keys in journal.edits if keys[:2] == ("hub", "packages")]
        changed = text
        try:
            for keys in added:
                changed = edit.remove(changed, keys)
                if name == ROOT_FILE and not edit.get_value(changed, keys[:-1]):
                    changed = edit.remove(changed, keys[:-1])
            if changed != text:
                self._editor.write_file(name, changed, base)
        except HubError:
            return False
        return True

    def _put(self, journal: Journal) -> None:
        self._root.write_bytes(f"{FOLDER}/{journal.id}/{JOURNAL}", msgspec.json.encode(journal), parents=True)

    def _data(self, name: str) -> bytes | None:
        try:
            return self._root.read_bytes(name, FILE_LIMIT_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None


def is_configuration(name: str) -> bool:
    """Whether a file is written by the editor of the configuration, with a check and a history."""
    return (
        name.endswith(YAML_SUFFIXES)
        and "/skills/" not in name
        and not name.startswith(("blueprints/", "workspace", ".storage/"))
    )


def _came(move: Move) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in move.items:
        if each.verdict.value in ("taken", "waits"):
            found[each.kind] = found.get(each.kind, 0) + 1
    return found
