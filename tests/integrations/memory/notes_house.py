"""A memory over a workspace of a test's own, without an index: every search reads the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, timezone
from pathlib import Path
from typing import Any

from hub.core.clock import ManualClock
from hub.memory.contract import NO_FILTERS, Added, Filters, Forget, Hit, MemoryEntry, MemoryKind
from hub.memory.notebook import Change, Edit
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.security.root import Root
from integrations.memory.notes.job import Job, Source
from integrations.memory.notes.memory import NotesMemory

OWNER = MemoryScope(person="me", private=True, shared=True)
ANNA = MemoryScope(person="anna", private=False, shared=True)
BEN = MemoryScope(person="ben", private=False, shared=True)
ROOM = MemoryScope(person=None, private=False, group="telegram-100-abc", shared=True)
OTHER_ROOM = MemoryScope(person=None, private=False, group="telegram-200-def")
NOBODY = MemoryScope(person=None, private=False)
MAIN = "agent:main:main"
NOON = 1_778_587_200.0  # 2026-05-12 12:00 UTC
TODAY = "memory/2026-05-12.md"


class Notes:
    """The memory, and shorter ways to it."""

    def __init__(
        self,
        folder: Path,
        zone: timezone = UTC,
        worker: Any = None,  # an IndexWorker, or what answers in its place
        sources: tuple[Source, ...] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = folder / "workspace"
        self.history = folder / "history"
        self.folder.mkdir(exist_ok=True)
        self.clock = ManualClock(NOON)
        self.changed: list[str] = []
        job = Job("main", str(folder / "index"), (Source("", str(self.folder)), *sources), settings or {})
        self.memory = NotesMemory(
            lambda agent_id: Root(self.folder),
            lambda agent_id: job,
            worker,
            history_of=lambda agent_id: self.history,
            now=self.clock.time,
            zone=lambda: zone,
            changed=self.changed.append,
        )
        self.notebook = self.memory.notebook

    async def put(
        self,
        text: str,
        kind: MemoryKind = MemoryKind.FACT,
        scope: MemoryScope = OWNER,
        *,
        trusted: bool = True,
        replaces: str | None = None,
        shared: bool = False,
        session: str = MAIN,
        person: str | None = None,
    ) -> Added:
        came = MemoryProvenance(session, person or scope.person, self.clock.time(), trusted)
        entry = MemoryEntry(text, kind, came, replaces=replaces, shared=shared)
        return await self.memory.add(entry, agent_id="main", scope=scope)

    async def add(
        self, text: str, kind: MemoryKind = MemoryKind.FACT, scope: MemoryScope = OWNER, *, trusted: bool = True
    ) -> Hit:
        return (await self.put(text, kind, scope, trusted=trusted)).hit

    async def search(
        self, query: str, scope: MemoryScope = OWNER, limit: int = 6, filters: Filters = NO_FILTERS
    ) -> list[Hit]:
        answer = await self.memory.search(query, agent_id="main", scope=scope, limit=limit, filters=filters)
        return list(answer.hits)

    async def found(self, query: str, scope: MemoryScope = OWNER) -> list[str]:
        return [hit.text for hit in await self.search(query, scope)]

    async def forget(self, query: str, scope: MemoryScope = OWNER) -> list[str]:
        return [hit.text for hit in await self.remove(Forget(query), scope)]

    async def remove(self, what: Forget, scope: MemoryScope = OWNER, *, dry_run: bool = False) -> list[Hit]:
        return await self.memory.forget(what, agent_id="main", scope=scope, dry_run=dry_run)

    async def get(self, path: str, scope: MemoryScope = OWNER, start: int = 1, lines: int = 200) -> str:
        return await self.memory.get(path, agent_id="main", scope=scope, start=start, lines=lines)

    async def changes(self) -> Sequence[Change]:
        return await self.notebook.changes(agent_id="main", scope=OWNER)

    async def edit(self, *edits: Edit, scope: MemoryScope = OWNER, reason: str = "edit", who: str = "me") -> str:
        change = await self.notebook.write(
            edits, agent_id="main", scope=scope, reason=reason, who=who, summary="an edit"
        )
        return change.id

    async def rewrite(self, path: str, text: str | None, scope: MemoryScope = OWNER) -> str:
        """Edit a file as somebody does who just read it."""
        base = (await self.notebook.read(path, agent_id="main", scope=scope)).hash
        return await self.edit(Edit(path, text, base), scope=scope)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8", newline="")

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def kept(self) -> str:
        """All that is in the history."""
        return "".join(path.read_text() for path in sorted(self.history.glob("*")))
