"""A whole memory of another kind than the bundled notes: one list of entries for each area, found by word.

In `configuration.yaml`: `kiosk: {keeps_memory: true}`, and `homarus integration disable notes`: one integration keeps
the memory.

- `areas_of(scope)` are the areas that a session may see, its own first: every method answers within `scope`, and
  nothing else keeps one person's memory from another.
- What came from outside is a `Hit` with `trusted=False`, and is marked in the lines of `get`.
- `MemoryTools` are the tools `remember`, `memory_search`, `memory_get` and `forget` over any memory.

The contract: `hub/memory/contract.py`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hub.core.errors import Forbidden, InvalidRequest, NotFound
from hub.host import IntegrationHost
from hub.memory.contract import (
    EVENT_CHANGED,
    NO_FILTERS,
    UNTRUSTED_MARK,
    Added,
    Filters,
    Forget,
    Hit,
    MemoryEntry,
    MemoryKind,
    SearchAnswer,
    Synced,
    Verified,
)
from hub.memory.front_matter import on_one_line
from hub.memory.notebook import Change, Edit, MemoryFile, MemoryText, Notebook
from hub.memory.places import SHARED_AREA, areas_of
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.memory.words import query_words, words_of
from integrations.memory.memory_tools import MemoryTools

Entry = dict[str, Any]
Save = Callable[[str], Awaitable[None]]


async def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Keep the memory, if the configuration says so."""
    if not config.get("keeps_memory"):
        return
    storage = host.storage("entries")
    entries = await storage.load([])

    async def save(agent_id: str) -> None:
        await storage.save(entries)
        host.bus.fire(EVENT_CHANGED, {"agent": agent_id})

    diary = Diary(entries, save)
    host.memory.add(diary)
    host.tools.add(*MemoryTools(diary, lambda: host.people, time.time).all())


class Diary:
    """The entries of all agents, in the order in which they came."""

    def __init__(self, entries: list[Entry], save: Save) -> None:
        self._entries = entries
        self._save = save
        self.notebook: Notebook = Pages(self)

    def pages(self, agent_id: str, scope: MemoryScope) -> dict[str, list[Entry]]:
        """Return the entries that a session sees, by page; its own page is the first."""
        return {
            page_of(area): [each for each in self._entries if (each["agent"], each["area"]) == (agent_id, area)]
            for area in areas_of(scope)
        }

    def lines(self, path: str, agent_id: str, scope: MemoryScope) -> list[str]:
        """Return the lines of a page."""
        pages = self.pages(agent_id, scope)
        if path not in pages:
            raise NotFound(f"there is no page {path}")
        return [f"- {each['text']}{'' if each['trusted'] else UNTRUSTED_MARK}" for each in pages[path]]

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
        """Return the entries that share most words with a query, the newest first."""
        asked = set(query_words(query))
        wanted = (filters.person, filters.session, filters.kind, filters.trusted)
        found = []
        for hit in reversed(self._hits(agent_id, scope)):
            share = len(asked & set(words_of(hit.text))) / len(asked) if asked else 1.0
            facts = (hit.person, hit.session, hit.kind, hit.trusted)
            if share > 0 and all(want in (None, fact) for want, fact in zip(wanted, facts, strict=True)):
                found.append(replace(hit, score=share))
        found.sort(key=lambda hit: -hit.score)
        return SearchAnswer(found[: limit or 6], ["diary"], 0.0)

    def is_empty(self, *, agent_id: str, scope: MemoryScope) -> bool:
        """Whether there is nothing to find."""
        return not self._hits(agent_id, scope)

    async def get(self, path: str, *, agent_id: str, scope: MemoryScope, start: int = 1, lines: int = 200) -> str:
        """Return lines of a page."""
        return "\n".join(self.lines(path, agent_id, scope)[start - 1 : start - 1 + lines])

    async def add(self, entry: MemoryEntry, *, agent_id: str, scope: MemoryScope) -> Added:
        """Write an entry onto the session's own page, or onto that of the home."""
        areas, said, text = areas_of(scope), entry.provenance, on_one_line(entry.text).strip()
        if not areas:
            raise Forbidden("nothing is remembered here: it is not known who is speaking")
        if not text:
            raise InvalidRequest("text: expected something to remember")
        shared = entry.shared and said.trusted and scope.group is None and SHARED_AREA in areas
        area = SHARED_AREA if shared else areas[0]
        for hit in self._hits(agent_id, scope):
            if (hit.path, hit.text) == (page_of(area), text):
                return Added(hit, known=True)
        struck = self._own(agent_id, scope, entry.replaces) if entry.replaces else []
        self._remove(agent_id, scope, struck)
        new = {"agent": agent_id, "area": area, "text": text, "kind": entry.kind, "time": said.time}
        self._entries.append({**new, "person": said.person, "session": said.session_key, "trusted": said.trusted})
        await self._save(agent_id)
        return Added([hit for hit in self._hits(agent_id, scope) if hit.path == page_of(area)][-1], struck=struck)

    async def forget(self, what: Forget, *, agent_id: str, scope: MemoryScope, dry_run: bool = False) -> list[Hit]:
        """Remove the entries of the session's own page that match."""
        if not (what.query or what.session or what.person):
            raise InvalidRequest("say what is to be forgotten: words, a session or a person")
        own = self._own(agent_id, scope, what.query or "")
        found = [each for each in own if what.session in (None, each.session) and what.person in (None, each.person)]
        if found and not dry_run:
            self._remove(agent_id, scope, found)
            await self._save(agent_id)
        return found

    async def left_out(self, session_id: str, *, agent_id: str) -> frozenset[str]:
        """Return what was forgotten of a conversation: nothing, since none is searched."""
        return frozenset()

    async def similar(
        self, *, agent_id: str, scope: MemoryScope, threshold: float, limit: int = 200
    ) -> list[tuple[Hit, Hit, float]]:
        """Return pairs of entries that are alike; they are not looked for."""
        return []

    async def sync(self, *, agent_id: str, force: bool = False) -> Synced:
        """Update the index; there is none."""
        return Synced(files=0, chunks=len(self._entries), embedded=0, requests=0, seconds=0.0)

    async def verify(self, *, agent_id: str) -> Verified:
        """Compare files and index; there are none."""
        return Verified(files=0, chunks=len(self._entries), problems=[])

    async def status(self, *, agent_id: str) -> dict[str, Any]:
        """Return how much there is."""
        return {"passages": len(self._entries)}

    def _hits(self, agent_id: str, scope: MemoryScope) -> list[Hit]:
        return [
            Hit(
                path,
                line,
                line,
                each["text"],
                score=1.0,
                trusted=each["trusted"],
                text_score=1.0,
                kind=each["kind"],
                person=each["person"],
                session=each["session"],
            )
            for path, entries in self.pages(agent_id, scope).items()
            for line, each in enumerate(entries, start=1)
        ]

    def _own(self, agent_id: str, scope: MemoryScope, query: str) -> list[Hit]:
        """Return the entries of the session's own page that have all words of a query."""
        own, asked = next(iter(self.pages(agent_id, scope)), None), set(words_of(query))
        return [hit for hit in self._hits(agent_id, scope) if hit.path == own and asked <= set(words_of(hit.text))]

    def _remove(self, agent_id: str, scope: MemoryScope, hits: Sequence[Hit]) -> None:
        pages = self.pages(agent_id, scope)
        for entry in [pages[hit.path][hit.start_line - 1] for hit in hits]:
            self._entries.remove(entry)


class Pages:
    """The pages as people read them; they are not edited."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    async def files(self, *, agent_id: str, scope: MemoryScope) -> list[MemoryFile]:
        """Return the pages that a session sees."""
        found = []
        for area, (path, entries) in zip(areas_of(scope), self._diary.pages(agent_id, scope).items(), strict=True):
            size = len("\n".join(self._diary.lines(path, agent_id, scope)).encode())
            last = max((each["time"] for each in entries), default=0)
            found.append(MemoryFile(path, area, size, int(last * 1000), writable=False))
        return found

    async def read(self, path: str, *, agent_id: str, scope: MemoryScope) -> MemoryText:
        """Return a page's text."""
        text = "\n".join(self._diary.lines(path, agent_id, scope))
        return MemoryText(path, text, str(hash(text)))

    async def note(
        self, slug: str, title: str, text: str, provenance: MemoryProvenance, *, agent_id: str, scope: MemoryScope
    ) -> str:
        """Keep the summary of a conversation as an entry."""
        entry = MemoryEntry(f"{title}: {text}", MemoryKind.FACT, provenance)
        return (await self._diary.add(entry, agent_id=agent_id, scope=scope)).hit.path

    async def changes(self, *, agent_id: str, scope: MemoryScope, limit: int = 50) -> list[Change]:
        """Return what was changed; it is not kept."""
        return []

    async def undo(self, change_id: str, *, agent_id: str, scope: MemoryScope, who: str) -> Change:
        """Refuse: no change is kept."""
        raise NotFound("the diary keeps no changes")

    async def write(
        self, edits: Sequence[Edit], *, agent_id: str, scope: MemoryScope, reason: str, who: str, summary: str
    ) -> Change:
        """Refuse: the pages are not edited."""
        raise Forbidden("the pages of the diary are not edited")

    async def bring_in(
        self, files: Mapping[str, str], *, origin: str, trusted: bool, agent_id: str, scope: MemoryScope
    ) -> list[str]:
        """Refuse: nothing is imported."""
        raise Forbidden("nothing is imported into the diary")


def page_of(area: str) -> str:
    """Return the name of the page of an area."""
    return f"diary/{area}.md"
