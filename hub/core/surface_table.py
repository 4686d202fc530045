"""The table of surfaces: what is known of methods, routes, commands and triggers before their modules are imported.

It is written by `script/surfaces` from the declarations themselves; what differs from it is not served.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from msgspec import Struct

FILE = Path(__file__).resolve().parents[1] / "surfaces.json"

Row = Mapping[str, Any]
S = TypeVar("S", bound="Struct")


@cache
def read_table() -> dict[str, dict[str, list[Row]]]:
    """Return the rows of the table, by kind of surface and by group."""
    table: dict[str, dict[str, list[Row]]] = json.loads(FILE.read_bytes())
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


def name_of(row: Row) -> str:
    """Return the name of a row in its group: a route's is its method and path."""
    return row["name"] if "name" in row else f"{row['method']} {row['path']}"


def _defaults(kind: type[Struct]) -> dict[str, Any]:
    """Return the fields that have defaults; `msgspec.structs.fields` would read all annotations for them."""
    values = kind.__struct_defaults__
    return dict(zip(kind.__struct_fields__[-len(values) :], values, strict=True))
