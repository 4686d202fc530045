"""The table of surfaces, made from the declarations of methods, routes, commands and triggers.

`script/surfaces` runs this as a program and writes it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import orjson
from msgspec import Struct

from hub.cli.app import commands
from hub.config.seed import seed
from hub.core.surface_table import FILE, row_of
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.import_law import PARTS

HUB = FILE.parent


def declared(hub: Hub) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The table as it must be for a hub: all surfaces that its parts declare, by kind and by group."""
    methods = [(name, load()) for component in hub.components for name, load in component.methods().items()]
    routes = [(name, load()) for component in hub.components for name, load in component.routes().items()]
    slash = [(name, group.surfaces()) for name, group in hub.commands.groups.items()]
    triggers = {part: kinds for part in sorted(PARTS) if (kinds := _kinds(part))}
    return {
        "methods": _rows(methods),
        "routes": _rows(routes),
        "commands": _rows(slash),
        "triggers": triggers,
        "cli": {"homarus": _command_line()},
    }


def written(table: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    """The table as text, a line for each surface."""
    kinds = []
    for kind, groups in table.items():
        shown = (f'    "{name}": [\n' + ",\n".join(map(_line, rows)) + "\n    ]" for name, rows in groups.items())
        kinds.append(f'  "{kind}": {{\n' + ",\n".join(shown) + "\n  }")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def _command_line() -> list[dict[str, Any]]:
    """The commands of `homarus`, in the order that the table has; new ones come last."""
    found = {}
    for path in sorted([*HUB.glob("cli/*.py"), *HUB.glob("*/cli.py"), *HUB.glob("*/cli/*.py")]):
        name = ".".join(path.relative_to(HUB.parent).with_suffix("").parts)
        command = getattr(import_module(name), "command", None)
        if isinstance(command, click.Command) and command.callback and command.callback.__module__ == name:
            found[command.name] = {"name": command.name, "module": name, "help": command.short_help}
    known = [name for name in commands() if name in found]
    return [found[name] for name in dict.fromkeys([*known, *found])]


def _kinds(part: str) -> list[dict[str, Any]]:
    """The kinds of triggers that a part has beside its domain."""
    if find_spec(f"hub.{part}") is None or find_spec(f"hub.{part}.trigger") is None:
        return []
    return [{"name": name} for name in import_module(f"hub.{part}.trigger").KINDS]


def _rows(groups: Iterable[tuple[str, Iterable[Struct]]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [row_of(each) for each in surfaces] for name, surfaces in sorted(groups)}


def _line(row: dict[str, Any]) -> str:
    return f"      {orjson.dumps(row).decode()}"


async def _hub(folder: Path) -> Hub:
    home = Home(folder / "home")
    home.create()
    seed(home)
    return Hub(home)


def main() -> None:
    """Write the table."""
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(written(declared(asyncio.run(_hub(Path(folder))))))


if __name__ == "__main__":
    main()
