"""Facts: the list items of the memory files, each with its place, cached while a file is unchanged."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from hub.memory.markdown import whole_items
from web.memory.file_list import File, day_of, is_writable

FILES_LIMIT = 4_000
"""Files whose facts are kept; of those used least recently, the oldest are read again."""
READS_AT_ONCE = 16


class Fact(Struct, frozen=True):
    """Something that is remembered, in one sentence or a few.

    Attributes:
        path, area: Its file.
        line: Its first line, from 1.
        when: `YYYY-MM-DD HH:MM` or `YYYY-MM-DD`; empty when it is not known.
        struck: Whether it no longer holds; `superseded` since which day.
    """

    path: str
    area: str
    line: int
    text: str
    kind: str | None
    person: str | None
    session: str | None
    when: str
    trusted: bool
    struck: bool
    superseded: str | None


class FactShelf:
    """Reads the facts of files and keeps them until a file changes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, int, int], Sequence[Fact]] = OrderedDict()

    async def all(self, agent: str, files: Sequence[File], read: Callable[[str], Awaitable[str]]) -> list[Fact]:
        """Return the facts of these files, the newest first.

        Args:
            files: The files that the reader may see, as `memory.list` returns them.
            read: Returns the text of one; empty for one that cannot be read.
        """
        wanted = [file for file in files if is_writable(str(file["path"]))]
        fresh = [file for file in wanted if _key(agent, file) not in self._kept]
        for at in range(0, len(fresh), READS_AT_ONCE):
            some = fresh[at : at + READS_AT_ONCE]
            texts = await asyncio.gather(*(read(str(file["path"])) for file in some))
            found = await asyncio.to_thread(lambda: [_facts_of(*pair) for pair in zip(some, texts, strict=True)])  # noqa: B023
            self._kept.update({_key(agent, file): facts for file, facts in zip(some, found, strict=True)})
        facts: list[Fact] = []
        for file in wanted:
            key = _key(agent, file)
            self._kept.move_to_end(key)
            facts += self._kept[key]
        while len(self._kept) > FILES_LIMIT:
            self._kept.popitem(last=False)
        return sorted(facts, key=lambda fact: fact.when, reverse=True)


def _key(agent: str, file: File) -> tuple[str, str, int, int]:
    return agent, str(file["path"]), int(file["changed_ms"]), int(file["size_bytes"])


def _facts_of(file: File, text: str) -> list[Fact]:
    path, area, day = str(file["path"]), str(file["area"]), day_of(file)
    return [
        Fact(
            path=path,
            area=area,
            line=each.start_line,
            text=each.text,
            kind=each.kind,
            person=each.person,
            session=each.session,
            when=each.noted or each.day or day,
            trusted=each.trusted,
            struck=each.struck,
            superseded=each.superseded,
        )
        for each in whole_items(text)
    ]
