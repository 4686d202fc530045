"""A house with a memory over plain files, and all that goes between conversations and it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from hub.core.errors import HubError, NotFound, Unavailable
from hub.memory.contract import NO_FILTERS, Filters, Hit, Memory, SearchAnswer
from hub.memory.notebook import Change, MemoryFile, MemoryText
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.memory.words import query_words, words_of
from hub.sessions.keys import direct_key, group_key
from tests.agent.house import AgentHouse

ANNAS = direct_key("main", "anna")
ROOM = group_key("main", "telegram", "-100")
STRANGERS = direct_key("main", "999", channel="telegram")


class PlainMemory:
    """Notes of each area in files of a folder, one a line, found by word; can be slow, empty, or full of rumours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notebook = PlainNotebook(self)
        self.delay: asyncio.Event | None = None
        self.fails: HubError | None = None
        self.engines: tuple[str, ...] = ("plain",)
        self.score = 1.0
        self.searches: list[str] = []
        self.within_s: list[float | None] = []
        self.untrusted: set[str] = set()

    def write(self, area: str, path: str, text: str) -> None:
        file = self.folder / area / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def texts(self, area: str) -> dict[str, str]:
        root = self.folder / area
        return {str(file.relative_to(root)): file.read_text() for file in sorted(root.rglob("*.md"))}

    def is_empty(self, *, agent_id: str, scope: MemoryScope) -> bool | None:
        return not any(self.texts(area) for area in _areas(scope))

    async def search(
        self,
        query: str,
        *,
        agent_id: str,
        scope: MemoryScope,
        limit: int | None = None,
        filters: Filters = NO_FILTERS,
        within_s: float | None = None,
    ) -> SearchAnswer:
        self.searches.append(query)
        self.within_s.append(within_s)
        if self.fails is not None:
            raise self.fails
        if self.delay is not None:
            await self.delay.wait()
        asked = set(query_words(query))
        hits = [
            Hit(path, number, number, line, self.score, trusted=line not in self.untrusted, text_score=1.0)
            for area in _areas(scope)
            for path, text in self.texts(area).items()
            for number, line in enumerate(text.splitlines(), start=1)
            if asked.intersection(words_of(line))
        ]
        return SearchAnswer(hits[: limit or 6], self.engines, 0.1)

    async def left_out(self, session_id: str, *, agent_id: str) -> frozenset[str] | None:
        return frozenset()


class PlainNotebook:
    """Its files."""

    def __init__(self, memory: PlainMemory) -> None:
        self._memory = memory
        self.sources: list[MemoryProvenance] = []
        self.calls = 0
        self.full = False
        self.forgotten: list[Change] = []

    async def files(self, *, agent_id: str, scope: MemoryScope) -> list[MemoryFile]:
        found = []
        for area in _areas(scope):
            for path in self._memory.texts(area):
                facts = (self._memory.folder / area / path).stat()
                found.append(MemoryFile(path, area, facts.st_size, facts.st_mtime_ns // 1_000_000))
        return found

    async def read(self, path: str, *, agent_id: str, scope: MemoryScope) -> MemoryText:
        for area in _areas(scope):
            if (text := self._memory.texts(area).get(path)) is not None:
                return MemoryText(path, text, "")
        raise NotFound(path)

    async def note(
        self, slug: str, title: str, text: str, provenance: MemoryProvenance, *, agent_id: str, scope: MemoryScope
    ) -> str:
        if self.full:
            raise Unavailable("memory cannot be written: No space left on device")
        self.calls += 1
        self.sources.append(provenance)
        path = f"memory/{self.calls}-{slug}.md"
        self._memory.write(_areas(scope)[0], path, f"# {title}\n\n{text}\n")
        return path

    async def changes(self, *, agent_id: str, scope: MemoryScope, limit: int = 50) -> list[Change]:
        return self.forgotten[:limit]


class RememberingHouse(AgentHouse):
    """An agent that remembers."""

    def __init__(self, folder: Path, base_url: str, **recall: Any) -> None:
        configured = {"direct": True, "groups": False, "limit": 3, "min_score": 0.45, "timeout": 5.0, **recall}
        sections = {"memory": {"recall": configured}, "session": {"dm_scope": "auto"}}
        super().__init__(folder, base_url, sections=sections, further=("remembering",))
        self.plain = PlainMemory(folder.parent / "plain")
        self.memory.register(cast(Memory, self.plain))  # what these tests need of one is there

    def shown(self, requests: Sequence[dict[str, Any]]) -> str:
        """Return all that the last request told the model."""
        return "\n".join(str(message["content"]) for message in requests[-1]["body"]["messages"][1:])


@asynccontextmanager
async def remembering(folder: Path, base_url: str, **recall: Any) -> AsyncIterator[RememberingHouse]:
    house = RememberingHouse(folder / "home", base_url, **recall)
    await house.open()
    try:
        yield house
    finally:
        await house.close()


def _areas(scope: MemoryScope) -> list[str]:
    if scope.group is not None:
        return ["group"]
    areas = ["private"] if scope.private else []
    return [*areas, f"person-{scope.person}"] if scope.person is not None else areas
