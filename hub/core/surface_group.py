"""Surfaces that are imported together, on first use, and checked against the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from hub.core.first_use import FirstUse
from hub.core.surface_table import FILE, Row, name_of, row_of

S = TypeVar("S", bound=Struct)


class SurfaceGroup(FirstUse[Mapping[str, S]]):
    """Surfaces that are imported together, with the first use of one of them.

    Args:
        name: The name of the group in the table.
        rows: Its part of the table.
        load: Imports their modules and returns them; it is called in a thread, and does nothing else there.
    """

    def __init__(self, name: str, rows: Iterable[Row], load: Callable[[], Iterable[S]]) -> None:
        super().__init__(f"the part {name!r} of the hub", self._read)
        self.rows = tuple(rows)
        self.surfaces = load

    def _read(self) -> Callable[[], Mapping[str, S]]:
        found = list(self.surfaces())
        rows = {name_of(row): row for row in map(row_of, found)}
        known = {name_of(row): row for row in self.rows}
        if rows != known:
            differ = [name for name in rows.keys() | known.keys() if rows.get(name) != known.get(name)]
            raise RuntimeError(f"{', '.join(sorted(differ))}: not as in {FILE.name}; run script/surfaces")
        return lambda: dict(zip(rows, found, strict=True))
