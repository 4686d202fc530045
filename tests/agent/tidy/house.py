"""An agent whose memory is kept in files, as integrations keep it, and is tidied up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from hub.core.context import Authority, Context
from hub.memory.contract import Hit, MemoryEntry, MemoryKind
from hub.memory.markdown import format_entry
from hub.memory.notebook import Change
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.security.root import Root
from integrations.memory.notes.job import Job
from integrations.memory.notes.memory import NotesMemory
from tests.agent.house import AgentHouse
from tests.until import ShiftedClock

OWNER = MemoryScope("me", private=True, shared=True)
ANNA = MemoryScope("anna", private=False, shared=True)
ANNAS = Authority("peer:x", person="anna")
NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)
"""When each test begins, so that no day ends in one."""
SECTIONS = {"memory": {"recall": {"direct": False, "groups": False}}, "session": {"dm_scope": "auto"}}


class Meaning:
    """Stands for an index that knows what pairs of lines mean the same."""

    running = False

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str, float]] = []
        self.folder = Path()

    async def similar(
        self, job: Job, areas: Sequence[str], threshold: float, limit: int
    ) -> list[tuple[Hit, Hit, float]]:
        return [
            (self._hit(one), self._hit(other), likeness) for one, other, likeness in self.pairs if likeness >= threshold
        ]

    def _hit(self, text: str) -> Hit:
        for path in sorted(self.folder.rglob("*.md")):
            for number, line in enumerate(path.read_text().split("\n"), start=1):
                if line == f"- {text}":
                    return Hit(path.relative_to(self.folder).as_posix(), number, number + 1, text, 1.0)
        raise LookupError(text)


class TidyHouse(AgentHouse):
    """A house with the owner, Anna, and whoever talks in groups."""

    def __init__(self, folder: Path, base_url: str, *, meaning: Meaning | None = None) -> None:
        super().__init__(
            folder, base_url, clock=ShiftedClock(NOON.timestamp()), sections=SECTIONS, further=("remembering",)
        )
        self.workspace = self.agents.get("main").workspace
        self.workspace.mkdir(parents=True, exist_ok=True)
        if meaning is not None:
            meaning.folder = self.workspace
        self.notes = NotesMemory(
            lambda agent_id: Root(self.workspace),
            lambda agent_id: Job("main", str(folder / "index"), (), {}),
            cast("Any", meaning),  # nothing else of it is asked here
            history_of=lambda agent_id: folder / "history",
            now=self.clock.time,
        )
        self.memory.register(self.notes)

    async def tidy(self, authority: Authority | None = None, **data: Any) -> dict[str, Any]:
        """Call the service as the owner, or somebody else."""
        context = Context(authority or self.people.owner_authority())
        return dict(await self.services.call("memory", "tidy", data, context=context, wants_response=True) or {})

    async def changes(self, scope: MemoryScope = OWNER) -> list[Change]:
        return await self.notes.notebook.changes(agent_id="main", scope=scope)

    async def undo(self, change_id: str, scope: MemoryScope = OWNER) -> None:
        await self.notes.notebook.undo(change_id, agent_id="main", scope=scope, who="me")

    def write(self, path: str, text: str) -> None:
        (self.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (self.workspace / path).write_text(text)

    def read(self, path: str) -> str:
        file = self.workspace / path
        return file.read_text() if file.exists() else ""

    def files(self) -> dict[str, bytes]:
        return {str(file): file.read_bytes() for file in sorted(self.workspace.rglob("*")) if file.is_file()}

    def note(self, ago: int, *texts: str, **more: Any) -> None:
        """Write entries of a day of the owner's."""
        self.write(f"memory/{day(ago)}.md", f"# {day(ago)}\n\n" + "".join(entry(text, ago, **more) for text in texts))


def day(ago: int) -> date:
    """Return the day so many days before today."""
    return NOON.date() - timedelta(days=ago)


def entry(text: str, ago: int, kind: MemoryKind = MemoryKind.FACT, *, person: str = "me", trusted: bool = True) -> str:
    """Return an entry as it is in a file."""
    noon = datetime.combine(day(ago), datetime.min.time(), UTC).timestamp() + 43_200
    return format_entry(MemoryEntry(text, kind, MemoryProvenance("agent:main:main", person, noon, trusted)), UTC)


@asynccontextmanager
async def tidying(folder: Path, base_url: str, *, meaning: Meaning | None = None) -> AsyncIterator[TidyHouse]:
    house = TidyHouse(folder / "home", base_url, meaning=meaning)
    await house.open()
    try:
        yield house
    finally:
        await house.close()
