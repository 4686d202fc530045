"""The start's knowledge of methods, slash commands and triggers, whose modules are imported on first use.

The table is written by `script/surfaces` from the declarations themselves; what differs from it is not served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import orjson
from msgspec import Struct

from hub.core.first_use import FirstUse

FILE = Path(__file__).resolve().parents[1] / "surfaces.json"

Row = Mapping[str, Any]
S = TypeVar("S", bound=Struct)


@cache
def read_table() -> dict[str, dict[str, list[Row]]]:
    """Return the rows of the table, by kind of surface and by group."""
    table: dict[str, dict[str, list[Row]]] = orjson.loads(FILE.read_bytes())
    return table


def row_of(surface: Struct) -> dict[str, Any]:
    """Return a surface's row in the table: its plain fields that differ from their defaults."""
    defaults = _defaults(type(surface))
    values = {name: getattr(surface, name) for name in surface.__struct_fields__}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if isinstance(value, str | int | tuple) and value != defaults.get(name)
    }


def of_row(kind: type[S], row: Row, **rest: Any) -> S:
    """Return the surface made of its row and of `rest`, the non-plain fields."""
    defaults = _defaults(kind)
    plain = {
        name: type(defaults[name])(value) if name in defaults else value  # enums, and tuples
        for name, value in row.items()
    }
    return kind(**plain, **rest)


def _defaults(kind: type[Struct]) -> dict[str, Any]:
    """Return the fields that have defaults; `msgspec.structs.fields` would read all annotations for them."""
    values = kind.__struct_defaults__
    return dict(zip(kind.__struct_fields__[-len(values) :], values, strict=True))


class SurfaceGroup(FirstUse[Mapping[str, S]]):
    """Surfaces that are imported together, with the first use of one of them.

    Args:
        name: Of the group in the table.
        rows: Its part of the table.
        load: Imports their modules and returns them; it is called in a thread, and does nothing else there.
    """

    def __init__(self, name: str, rows: Iterable[Row], load: Callable[[], Iterable[S]]) -> None:
        super().__init__(f"the part {name!r} of the hub", self._read)
        self.rows = tuple(rows)
        self.surfaces = load

    def _read(self) -> Callable[[], Mapping[str, S]]:
        found = list(self.surfaces())
        rows = {row["name"]: row for row in map(row_of, found)}
        known = {row["name"]: row for row in self.rows}
        if rows != known:
            differ = [name for name in rows.keys() | known.keys() if rows.get(name) != known.get(name)]
            raise RuntimeError(f"{', '.join(sorted(differ))}: not as in {FILE.name}; run script/surfaces")
        return lambda: dict(zip(rows, found, strict=True))
