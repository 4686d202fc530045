"""Vectors in Chroma, in this process or on a server: one collection for each area, so that searches need no filter."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hub.memory.engine_contract import IndexDamaged, checked_vector, package
from integrations.memory.chroma.collections import Collections
from integrations.memory.chroma.settings import ChromaSettings

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector
    from integrations.memory.chroma.server import ServerCollections

_log = logging.getLogger(__name__)

FACTS_FILE = "chroma.json"
FOLDER = "chroma"
NUMBERS_AT_A_TIME = 1_000_000
"""Vectors go to the store in batches of about so many numbers."""
EXACT_BELOW = 250
"""So few allowed passages are compared one by one: a graph that is walked through a narrow filter loses some."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9-]+")


class ChromaIndex:
    """See `VectorIndex`. A change over several areas or batches is not one: when it is cut off it has to be repeated.

    Args:
        collections: The store.
        own: The prefix of our collections' names.
        dimensions: Length of the vectors.
    """

    name = "chroma"

    def __init__(self, collections: Collections, own: str, dimensions: int) -> None:
        self._collections = collections
        self._own = own
        self._dimensions = dimensions
        self._areas = _areas(collections, own)
        self._known: dict[int, str] | None = None

    def apply(self, removed: Collection[int], added: Sequence[tuple[int, str, Vector]]) -> None:
        """Remove passages and add others, a batch of one area at a time."""
        wanted = {id_: (area, checked_vector(vector, self._dimensions)) for id_, area, vector in added}
        area_of = self._area_of()
        gone: dict[str, list[int]] = {}
        for id_ in {*removed, *wanted}:
            area = area_of.get(id_)
            if area is not None and (id_ not in wanted or wanted[id_][0] != area):
                gone.setdefault(area, []).append(id_)
        for area, ids in gone.items():
            for some in _batches(ids, self._collections.largest_batch):
                self._collections.delete(self._areas[area], _texts(some))
                for id_ in some:
                    del area_of[id_]
        by_area: dict[str, list[int]] = {}
        for id_, (area, _) in wanted.items():
            by_area.setdefault(area, []).append(id_)
        for area, ids in by_area.items():
            for some in _batches(ids, self._batch):
                self._collections.upsert(self._of(area), _texts(some), np.stack([wanted[id_][1] for id_ in some]))
                area_of.update(dict.fromkeys(some, area))

    def search(
        self, vector: Vector, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and cosines, best first."""
        asked = checked_vector(vector, self._dimensions)
        if limit <= 0:
            return []
        found: list[tuple[int, float]] = []
        for area in dict.fromkeys(areas):
            if area not in self._areas:
                continue
            ids = None if allowed is None else [id_ for id_ in allowed if self._area_of().get(id_) == area]
            if ids is None or len(ids) > EXACT_BELOW:
                near = self._collections.nearest(self._areas[area], asked, limit, None if ids is None else _texts(ids))
                found += [(_number(text), _cosine(1 - distance)) for text, distance in near]
            elif ids:
                found += self.cosines(asked, ids).items()
        return sorted(found, key=lambda each: (-each[1], each[0]))[:limit]

    def cosines(self, vector: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of these that has a vector, of the vectors as they are stored."""
        asked = checked_vector(vector, self._dimensions)
        return {id_: _cosine(float(kept @ asked)) for id_, kept in self.vectors(ids).items()}

    def vectors(self, ids: Iterable[int]) -> dict[int, Vector]:
        """Return the vectors of those passages that have one."""
        area_of = self._area_of()
        by_area: dict[str, list[int]] = {}
        for id_ in dict.fromkeys(ids):
            if id_ in area_of:
                by_area.setdefault(area_of[id_], []).append(id_)
        found: dict[int, Vector] = {}
        for area, wanted in by_area.items():
            for some in _batches(wanted, self._batch):
                for text, vector in self._collections.vectors(self._areas[area], _texts(some)).items():
                    if vector.shape != (self._dimensions,) or not np.isfinite(vector).all():
                        raise IndexDamaged(f"the vector of passage {text} is not what was written.")
                    found[_number(text)] = vector
        return found

    def ids(self) -> set[int]:
        """Return the ids of all passages."""
        return set(self._area_of())

    def purge(self) -> None:
        """Do nothing: the store itself decides when to drop deleted vectors, and there is no text in it."""

    def close(self) -> None:
        """Close the store."""
        self._collections.close()

    @property
    def _batch(self) -> int:
        return max(1, min(self._collections.largest_batch, NUMBERS_AT_A_TIME // self._dimensions))

    def _of(self, area: str) -> str:
        """Return the collection of an area, which is made when there is none."""
        if area not in self._areas:
            name = _name(self._own, area)
            self._collections.make(name, {"area": area})
            self._areas[area] = name
        return self._areas[area]

    def _area_of(self) -> dict[int, str]:
        """Return the area of each passage; read from the store once, since nobody else writes there."""
        if self._known is None:
            self._known = {
                _number(text): area for area, name in self._areas.items() for text in self._collections.ids(name)
            }
        return self._known


def open_chroma(directory: Path, dimensions: int, settings: ChromaSettings) -> ChromaIndex:
    """Open the store of a directory; see `open_vectors`."""
    directory.mkdir(parents=True, exist_ok=True)
    own = _own(directory, dimensions, settings)
    collections = _connected(settings, own) or _embedded(directory, settings)
    try:
        return ChromaIndex(collections, own, dimensions)
    except BaseException:
        collections.close()
        raise


def discard(directory: Path, settings: ChromaSettings) -> None:
    """Delete a directory's collections from a server; nothing to do for a directory that never had any."""
    if settings.url is None or not (directory / FACTS_FILE).exists():
        return
    try:
        own = _own(directory, None, settings)
    except IndexDamaged as error:  # which of them are its own is not known
        _log.warning("what the Chroma server has for %s stays there: %s", directory, error)
        return
    if (collections := _connected(settings, own)) is not None:
        try:
            collections.destroy()
        finally:
            collections.close()


def _connected(settings: ChromaSettings, own: str) -> ServerCollections | None:
    if settings.url is None:
        return None
    from integrations.memory.chroma.server import ServerCollections

    return ServerCollections(settings.url, settings.token, settings.timeout_s, own.rstrip("-"))


def _embedded(directory: Path, settings: ChromaSettings) -> Collections:
    with package("chromadb", "chromadb", "vectors: exact"):
        from integrations.memory.chroma.embedded import EmbeddedCollections
    return EmbeddedCollections(directory / FOLDER, settings.timeout_s)


def _own(directory: Path, dimensions: int | None, settings: ChromaSettings) -> str:
    """Return how the names of a directory's collections begin, which is settled when it is first opened.

    Raises:
        IndexDamaged: What was settled cannot be read, or is for other vectors.
    """
    path = directory / FACTS_FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        store, kept, folder = str(facts["store"]), int(facts["dimensions"]), int(facts["folder"])
    except FileNotFoundError:
        if (directory / FOLDER).exists():
            raise IndexDamaged(f"{path} is missing.") from None
        store, kept, folder = secrets.token_hex(6), dimensions or 0, directory.stat().st_ino
        path.write_text(json.dumps({"store": store, "dimensions": kept, "folder": folder}), encoding="utf-8")
    except (ValueError, TypeError, KeyError) as error:
        raise IndexDamaged(f"{path} is damaged: expected store, dimensions and folder.") from error
    if settings.url is not None and folder != directory.stat().st_ino:
        raise IndexDamaged(f"{directory} is a copy; what the server has belongs to the other one.")
    if dimensions not in (None, kept) or not re.fullmatch(r"[0-9a-f]{12}", store):
        raise IndexDamaged(f"{path} is damaged, or belongs to vectors of another length.")
    prefix = _NOT_IN_NAMES.sub("-", settings.prefix).strip("-")[:30] or "homarus"
    return f"{prefix}-{store}-"


def _areas(collections: Collections, own: str) -> dict[str, str]:
    found = {}
    for name, metadata in collections.names().items():
        if not name.startswith(own):
            continue
        area = metadata.get("area")
        if area is None or name != _name(own, area):
            raise IndexDamaged(f"the collection {name} does not name the area it belongs to.")
        found[area] = name
    return found


def _name(own: str, area: str) -> str:
    return own + hashlib.sha256(area.encode()).hexdigest()[:16]


def _batches(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (ids[at : at + size] for at in range(0, len(ids), size))


def _texts(ids: Iterable[int]) -> list[str]:
    return [str(id_) for id_ in ids]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise IndexDamaged(f"there is a vector of {text[:40]!r}, which is not a passage.")
    return int(text)


def _cosine(score: float) -> float:
    return min(1.0, max(-1.0, score))
