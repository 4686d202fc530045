"""The input of tidying: the files of each area, their similar texts, and what was undone before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct, field

from hub.core.errors import HubError, NotFound
from hub.memory.alike import NEAR, fact_key
from hub.memory.contract import CHANGES_LIMIT, Hit, Memory
from hub.memory.notebook import MemoryFile, MemoryText
from hub.memory.scope import MemoryScope
from hub.memory.tidy.entries import LOOK_BACK_DAYS, Area, AreaFile, Standing, area_entries, by_place
from hub.memory.tidy.pairs import Pair, pair_of
from hub.memory.tidy.undone import undone_entries

_log = logging.getLogger(__name__)

REASON = "tidy"
PAIRS_LIMIT = 1_000
"""The number of pairs similar in meaning that are compared."""
FILES_LIMIT = 1_000
"""Files of an area that are read: the curated one, and the newest days."""
CUT = 600
"""Characters by which a passage is known that was cut."""


class TidyInput(Struct):
    """The files of one area, as read."""

    area: Area
    texts: dict[str, MemoryText] = field(default_factory=dict)
    days: dict[str, str | None] = field(default_factory=dict)

    @property
    def files(self) -> list[AreaFile]:
        """The files in the form that the rules take."""
        return [AreaFile(path, each.text, self.days[path]) for path, each in self.texts.items()]


async def read_areas(memory: Memory, agent_id: str, scope: MemoryScope, today: date) -> list[TidyInput]:
    """Return the files to tidy in a scope, by area: the curated files and those of the given days.

    A file that cannot be read is left out; when that is one that is written, its whole area is.
    """
    oldest = (today - timedelta(days=LOOK_BACK_DAYS)).isoformat()
    by_area: dict[str, list[MemoryFile]] = {}
    for file in await memory.notebook.files(agent_id=agent_id, scope=scope):
        if file.writable:
            by_area.setdefault(file.area, []).append(file)
    found = []
    for name, files in by_area.items():
        if (area := Area.from_name(name)) is None:
            continue
        written = {area.curated, area.settled}
        wanted = [each for each in files if each.path in written or (each.day is not None and each.day > oldest)]
        wanted.sort(key=lambda each: (each.path in written, each.day or ""), reverse=True)
        reading = TidyInput(area)
        try:
            for file in wanted[:FILES_LIMIT]:
                await _read(memory, reading, file, agent_id, scope)
        except HubError as error:
            _log.warning("%s is not tidied up: %s", area.curated, error.message)
            continue
        found.append(reading)
    return found


async def alike_in(
    memory: Memory, readings: Sequence[TidyInput], agent_id: str, scope: MemoryScope, today: date
) -> _Alike:
    """Return, for each area, how similar pairs of its texts are; never across areas."""
    entries = [await asyncio.to_thread(area_entries, each.area, each.files, today) for each in readings]
    try:
        pairs = await memory.similar(agent_id=agent_id, scope=scope, threshold=NEAR, limit=PAIRS_LIMIT)
    except HubError as error:
        _log.warning("what is alike by meaning is not known: %s", error.message)
        pairs = []
    return {each.area.name: _alike(pairs, some) for each, some in zip(readings, entries, strict=True)}


async def undone_tidying(memory: Memory, agent_id: str, scope: MemoryScope) -> frozenset[str]:
    """Return the earlier tidying that was undone."""
    changes = await memory.notebook.changes(agent_id=agent_id, scope=scope, limit=CHANGES_LIMIT)
    return undone_entries(each.diff for each in changes if each.reason == REASON and each.undone)


_Alike = Mapping[str, Mapping[Pair, float]]


async def _read(memory: Memory, reading: TidyInput, file: MemoryFile, agent_id: str, scope: MemoryScope) -> None:
    is_written = file.path in (reading.area.curated, reading.area.settled)
    try:
        reading.texts[file.path] = await memory.notebook.read(file.path, agent_id=agent_id, scope=scope)
    except NotFound:
        return  # gone since it was listed
    except HubError as error:
        if is_written:
            raise
        _log.warning("%s is left out of tidying up: %s", file.path, error.message)
        return
    reading.days[file.path] = None if is_written else file.day


def _alike(pairs: Iterable[tuple[Hit, Hit, float]], entries: Sequence[Standing]) -> dict[Pair, float]:
    places = by_place(entries)
    found: dict[Pair, float] = {}
    for one, other, likeness in pairs:
        mine, theirs = _meant(one, places), _meant(other, places)
        if mine is not None and theirs is not None and mine.key != theirs.key:
            pair = pair_of(mine.key, theirs.key)
            found[pair] = max(found.get(pair, 0.0), likeness)
    return found


def _meant(hit: Hit, places: Mapping[tuple[str, int], Standing]) -> Standing | None:
    """Return the entry of a passage: the index may lag behind the files, and a passage may hold several."""
    entry = places.get((hit.path, hit.start_line))
    if entry is None:
        return None
    said = fact_key(hit.text)
    is_it = said == entry.key or (len(said) >= CUT and entry.key.startswith(said[:CUT]))
    return entry if is_it else None
