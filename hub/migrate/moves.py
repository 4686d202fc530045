"""Carries plans out, and back: one at a time, with a journal before the first change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hub.config.files_editor import FilesEditor
from hub.config.history import COMMAND, changed_by, who_changes
from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.entities.registry import HomeRegistry
from hub.migrate import uploads
from hub.migrate.conversations import StagedMessage
from hub.migrate.job import MoveJob, make_plan
from hub.migrate.journal import SESSIONS, Journal, Journals, State
from hub.migrate.plan import Move, NewPlace, NewSession, Verdict
from hub.models.contract import Message, Role, TextBlock
from hub.security.root import Root
from hub.sessions.entry import Provenance, TranscriptEntry, message_entry
from hub.sessions.session import Session
from hub.sessions.store import SessionStore

WHO = "import"
BATCH = 200
"""Messages that are appended together."""


class Moves:
    """The moves of a home.

    Args:
        home: The home directory.
        editor: Of its configuration files.
        reload: Puts changed files into force.
        changed: Called when a move was begun or ended.
        make: Makes the plan of a job.
    """

    def __init__(
        self,
        home: Path,
        editor: FilesEditor,
        *,
        registry: HomeRegistry,
        sessions: SessionStore,
        clock: Clock,
        reload: Callable[[], Awaitable[Any]],
        changed: Callable[[Journal | None], None],
        make: Callable[[MoveJob], Awaitable[Move]] = make_plan,
    ) -> None:
        self._home = home
        self._journals = Journals(Root(home), editor)
        self._registry = registry
        self._sessions = sessions
        self._clock = clock
        self._reload = reload
        self._changed = changed
        self._make = make
        self._working = asyncio.Lock()

    async def plan(self, job: MoveJob) -> Move:
        """Return the plan of a job; nothing is written.

        Raises:
            HubError: It cannot be made.
        """
        return self._without_known(await self._make(job))

    async def apply(self, job: MoveJob, digest: str | None, person: str | None) -> Mapping[str, Any]:
        """Carry a plan out; when it fails, all of it is taken back.

        Args:
            digest: Of the plan that was shown; None to take it as it is now.
            person: Whose the conversations are.

        Raises:
            Conflict: Another one is going on, one was cut off, or the folder has changed since the plan was shown.
            InvalidRequest: The configuration would not be valid.
        """
        if self._working.locked():
            raise Conflict(phrase("something is being brought over already; wait until it has ended"))
        async with self._working:
            if (cut := await self.unfinished()) is not None:
                raise Conflict(
                    phrase("bringing {path} over was cut off; take it back first: homarus migrate undo", path=cut.path)
                )
            id = new_id()
            folder = await asyncio.to_thread(self._journals.folder, id)
            begun = False
            try:
                staged = msgspec.structs.replace(job, stage=str(folder / SESSIONS))
                move = self._without_known(await self._make(staged))
                self._refuse(move, digest)
                if not move.changes.any:
                    return {"id": None, **move.as_dict()}
                journal = await asyncio.to_thread(self._journals.begin, id, move)
                begun = True
            finally:
                if not begun:
                    await asyncio.to_thread(self._journals.forget, id)
            try:
                await self._carry_out(move, folder, person)
            except BaseException:
                await asyncio.shield(self._take_back(journal, force=True))
                raise
            await asyncio.to_thread(self._journals.finish, journal, State.DONE)
            if Path(job.path).is_relative_to(self._home / uploads.FOLDER):
                await asyncio.to_thread(uploads.forget_upload, self._home)
        self._changed(None)
        return {"id": id, **move.as_dict()}

    async def undo(self, *, force: bool = False) -> Mapping[str, Any]:
        """Take the newest move back, also one that was cut off.

        Args:
            force: Whether files that were changed since are put back too; their versions stay in the history.

        Raises:
            NotFound: There is none.
            Conflict: One is going on.
        """
        if self._working.locked():
            raise Conflict(phrase("something is being brought over already; wait until it has ended"))
        async with self._working:
            journal = await asyncio.to_thread(self._journals.latest)
            return await self._take_back(journal, force=force)

    async def list(self) -> list[Journal]:
        """Return the moves, the newest first."""
        return await asyncio.to_thread(lambda: list(self._journals.all()))

    async def unfinished(self) -> Journal | None:
        """Return a move that was cut off."""
        return next((each for each in await self.list() if each.state is State.BEGUN), None)

    # -- below -------------------------------------------------------------------------------------------------------

    def _without_known(self, move: Move) -> Move:
        """Leave out conversations that are here already."""
        fresh = [each for each in move.changes.sessions if self._sessions.get(each.key) is None]
        there = {each.key for each in move.changes.sessions} - {each.key for each in fresh}
        if there:
            move.changes.sessions = fresh
            for number, each in enumerate(move.items):
                if each.to in there:
                    move.items[number] = msgspec.structs.replace(each, verdict=Verdict.THERE)
        return move

    def _refuse(self, move: Move, digest: str | None) -> None:
        if digest is not None and digest != move.digest:
            raise Conflict(
                phrase("{path} or this home has changed since the plan was shown; look at it again", path=move.path)
            )
        if move.errors:
            told = phrase("nothing was changed; the configuration would not be valid: {error}", error=move.errors[0])
            raise InvalidRequest(told)

    async def _carry_out(self, move: Move, folder: Path, person: str | None) -> None:
        who = who_changes() or COMMAND

        def write() -> None:
            with changed_by(who):
                self._journals.write(move.changes)

        await asyncio.to_thread(write)
        for each in move.changes.places:
            self._add_place(each)
        await self._registry.flush()
        for new in move.changes.sessions:
            await self._add_session(new, folder / SESSIONS / new.file, person)
        await self._reload()

    def _add_place(self, new: NewPlace) -> None:
        made = self._registry.create(new.kind, new.id)  # its id comes of its name
        self._registry.update(new.kind, made.id, name=new.name, **new.fields)

    async def _add_session(self, new: NewSession, file: Path, person: str | None) -> None:
        messages = await asyncio.to_thread(lambda: list(_messages(file)))
        if not messages:
            return
        session = Session(
            new.key,
            new_id(),
            new.agent,
            messages[0].ts_ms,
            max(each.ts_ms for each in messages),
            title=new.title[:200] or None,
            person=person,
            archived=new.archived,
            tainted=True,  # what others wrote may be in it
        )
        await self._sessions.add(session)
        transcript = await self._sessions.open_transcript(session)
        entries = [_entry(each) for each in messages]
        for start in range(0, len(entries), BATCH):
            await transcript.append(entries[start : start + BATCH])
            await asyncio.sleep(0)
        await transcript.sync()

    async def _take_back(self, journal: Journal, *, force: bool) -> Mapping[str, Any]:
        await asyncio.to_thread(self._journals.finish, journal, State.BEGUN)  # cut off now, it is undone again
        for key in journal.sessions:
            await self._sessions.delete(key)
        for kind, id in reversed(journal.places):
            try:
                self._registry.remove(kind, id)
            except NotFound:
                continue  # it was removed since, or not added yet
        await self._registry.flush()
        who = who_changes() or COMMAND

        def write() -> Any:
            with changed_by(who):
                undone = self._journals.undo_files(journal, force=force)
                self._journals.finish(journal, State.UNDONE)
                uploads.forget_upload(self._home)
                return undone

        undone = await asyncio.to_thread(write)
        self._changed(None)
        await self._reload()
        return {
            "id": journal.id,
            "source": journal.source,
            "path": journal.path,
            "restored": undone.restored,
            "left": {name: str(why) for name, why in undone.left.items()},
            "sessions": len(journal.sessions),
            "areas": len(journal.places),
        }


def _messages(file: Path) -> Iterator[StagedMessage]:
    with file.open("rb") as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=StagedMessage)


def _entry(message: StagedMessage) -> TranscriptEntry:
    came = Provenance(trusted=False, who=WHO, derived=message.role is Role.ASSISTANT)
    return message_entry(
        Message(message.role, (TextBlock(message.text),)), message.ts_ms, model=message.model, provenance=came
    )
