"""The pages that are generated from the program: `python -m tests.docs.pages` writes them."""

from __future__ import annotations

import re
import sys
from inspect import cleandoc
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

from hub.cli.app import app
from hub.cli.manual import manual
from hub.config.reference import reference
from hub.hooks.contract import HOOKS
from hub.hub import Hub
from hub.integration.catalog import find
from hub.integration.schemas import schemas
from hub.messaging.commands.registry import ChatCommand, CommandPlace
from hub.messaging.texts import say
from hub.sections import all_sections
from hub.storage.homedir import Home
from tests.docs.drawing import drawing
from tests.import_law import our_tree

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
DRAWING = DOCS / "images" / "parts.svg"
MARK = "<!-- Written by script/docs from here on. -->\n"


def generated() -> dict[Path, str]:
    """What stands below the mark of each page."""
    return {
        DOCS / "configuration.md": reference(all_sections(schemas(find(None)))),
        DOCS / "cli.md": manual(app),
        DOCS / "commands.md": command_tables(own_commands()),
        DOCS / "hooks.md": hook_reference(),
    }


def drawn() -> str:
    """Return the drawing of the parts."""
    return drawing(our_tree())


def own_commands() -> list[ChatCommand]:
    """The commands of the hub itself."""
    with TemporaryDirectory() as folder:
        home = Home(folder)
        home.create()
        return Hub(home, port=0).commands.all()


def command_tables(commands: list[ChatCommand]) -> str:
    """A table for each category of commands."""
    parts = ["# All commands\n"]
    for category, some in groupby(commands, lambda command: command.category):
        parts += [f"## {say(f'category.{category}')}\n", "| Command | What it does | For |", "| --- | --- | --- |"]
        for command in some:
            written = " ".join(f"`/{alias}`" for alias in command.aliases)
            shown = f"`{command.usage}`".replace("|", "\\|") + (f" {written}" if written else "")
            parts.append(f"| {shown} | {command.about('en')} | {_for(command)} |")
        parts.append("")
    return "\n".join(parts)


def _for(command: ChatCommand) -> str:
    who = "owner" if command.owner_only else "people of this home" if command.people_only else "everybody"
    where = {CommandPlace.DIRECT: ", in a direct chat", CommandPlace.GROUP: ", in a group"}.get(command.where, "")
    return who + where + ("" if command.listed else "; does not work yet")


def hook_reference() -> str:
    """A table of the hooks, and for each what it is given."""
    parts = ["# All hooks\n", "| hook | kind | since | a handler may return |", "| --- | --- | --- | --- |"]
    for name, payload in HOOKS.items():
        kind = f"{payload.kind}, guard" if payload.guard else payload.kind.value
        answers = "; ".join(f"`{field}`: {rule.means}" for field, rule in payload.changes.items())
        parts.append(f"| [`{name}`](#{re.sub('[^a-z_]', '', name)}) | {kind} | {payload.since} | {answers} |")
    parts.append("\nEach payload has a `context` (who is behind it), and what is named here with its type.")
    for name, payload in HOOKS.items():
        hints = get_type_hints(payload)
        given = (f"`{field}: {_type(hints[field])}`" for field in payload.__struct_fields__ if field != "context")
        parts.append(f"\n## `{name}`\n\n{cleandoc(payload.__doc__ or '')}\n\n`{payload.__name__}`: {', '.join(given)}.")
    return "\n".join(parts) + "\n"


def _type(hint: Any) -> str:
    return hint.__name__ if type(hint) is type else re.sub(r"\b(?:[a-z_]+\.)+", "", str(hint))


def renewed(page: Path, text: str) -> str:
    """The page with what is generated in its place; what people wrote above the mark stays."""
    above, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{page} has no line {MARK!r}")
    return f"{above}{mark}\n{text}"


def write() -> list[Path]:
    """Write the pages and the drawing that changed; return which."""
    changed = []
    for page, new in [*((page, renewed(page, text)) for page, text in generated().items()), (DRAWING, drawn())]:
        if new != page.read_text(encoding="utf-8"):
            page.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed


if __name__ == "__main__":
    sys.stdout.write("".join(f"{page.relative_to(CHECKOUT)}\n" for page in write()))
