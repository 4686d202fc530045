"""The entries of one area of a memory, read for tidying. Pure.

Only what this home's people vouch for is read: tidying does not see untrusted entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct

from hub.memory.alike import Gist, fact_key, gist_of
from hub.memory.contract import MemoryKind
from hub.memory.markdown import Passage, whole_items
from hub.memory.places import (
    CURATED,
    CURATED_TITLE,
    GROUP_AREA,
    GROUPS,
    PEOPLE,
    PERSON_AREA,
    PRIVATE_AREA,
    SHARED,
    SHARED_AREA,
    SHARED_TITLE,
    MemoryPlace,
    section_for,
)
from hub.memory.tidy.marks import TO_BE_SETTLED

LOOK_BACK_DAYS = 90
"""Days that are looked at. What was struck is kept as long, so that what holds no longer is not taken up once more."""
_ALWAYS = "9999-12-31"
_TILDES = re.compile(r"\s*~~.*~~\s*")


class AreaFile(Struct, frozen=True):
    """A file of an area, and the day it is about, as `YYYY-MM-DD`."""

    path: str
    text: str
    day: str | None = None


class Area(Struct, frozen=True):
    """One area of a memory, and the right places in it.

    Attributes:
        name: The name as `MemoryFile.area`.
        curated: The lasting file, in which a fact is kept once.
        settled: The file in which contradictions are marked.
        title: The first line of the curated file when it is new.
        has_sections: Whether the curated file has a section for each kind.
    """

    name: str
    curated: str
    settled: str
    title: str
    has_sections: bool

    def place_for(self, kind: MemoryKind | None) -> MemoryPlace:
        """Return the place of a kind in the curated file."""
        return MemoryPlace(self.curated, self.title, section_for(kind) if self.has_sections else None)

    @classmethod
    def from_name(cls, name: str) -> Area | None:
        """Return an area by its name; None for one that is not tidied."""
        if name == PRIVATE_AREA:
            return cls(name, CURATED, CURATED, CURATED_TITLE, has_sections=True)
        if name == SHARED_AREA:
            return cls(name, SHARED, SHARED, SHARED_TITLE, has_sections=True)
        for prefix, folder in ((PERSON_AREA, PEOPLE), (GROUP_AREA, GROUPS)):
            owner = name.removeprefix(prefix)
            if owner and owner != name:
                own = f"{folder}/{owner}"
                return cls(name, f"{own}.md", f"{own}/to-be-settled.md", f"# {owner}", has_sections=False)
        return None


class Standing(Struct, frozen=True):
    """A valid entry.

    Attributes:
        path: The file it is in.
        passage: Its passage; the text is whole.
        key: The key of its text.
        gist: Its compared parts.
        when: `YYYY-MM-DD HH:MM` as far as it is known; "" for what nobody dated.
        curated: Whether it is in the curated file.
    """

    path: str
    passage: Passage
    key: str
    gist: Gist
    when: str
    curated: bool

    @property
    def day(self) -> str:
        """The day of the entry."""
        return self.when[:10]

    @property
    def by_hand(self) -> bool:
        """Whether it was written by hand, without a source; such lines stay unchanged."""
        return self.passage.kind is None

    @property
    def is_todo(self) -> bool:
        """Whether it is a task, which gets done and never lasts."""
        return self.passage.kind == MemoryKind.TODO.value

    @property
    def order(self) -> tuple[str, bool, int]:
        """The sort key for the later of two entries."""
        return self.when, self.curated, self.passage.start_line


def area_entries(area: Area, files: Sequence[AreaFile], today: date) -> list[Standing]:
    """Return the entries of an area: all of the curated file, and those of the last days.

    An entry of a day is left out when the same was struck since, or when it speaks of its own day (today, 昨天).
    """
    oldest = (today - timedelta(days=LOOK_BACK_DAYS)).isoformat()
    found: list[Standing] = []
    struck: dict[tuple[object, ...], str] = {}
    for file in files:
        is_curated = file.path == area.curated
        if not is_curated and (file.day is None or file.day <= oldest):
            continue
        for passage in whole_items(file.text):
            if passage.heading == TO_BE_SETTLED or not passage.trusted:
                continue
            gist = gist_of(passage.text)
            if passage.struck or _is_struck_by_hand(passage.text):
                struck[gist.identity] = max(struck.get(gist.identity, ""), passage.superseded or _ALWAYS)
            elif gist.words and not gist.bound:
                when = passage.noted or (f"{file.day} 00:00" if file.day else "")
                found.append(Standing(file.path, passage, fact_key(passage.text), gist, when, is_curated))
    return [each for each in found if each.curated or each.day > struck.get(each.gist.identity, "")]


def _is_struck_by_hand(text: str) -> bool:
    """Whether an entry was struck by hand, with its source unchanged."""
    lines = [line for line in text.split("\n") if line.strip()]
    return bool(lines) and all(_TILDES.fullmatch(line) for line in lines)


def by_place(entries: Iterable[Standing]) -> Mapping[tuple[str, int], Standing]:
    """Return entries by path and the line they begin at."""
    return {(each.path, each.passage.start_line): each for each in entries}
