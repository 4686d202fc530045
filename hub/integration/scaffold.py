"""Writes a new integration out of the pieces of `examples/`: their files are copied under another name.

`examples/kiosk` has a piece of nearly every kind, a module each with its test. What its shared files (`__init__.py`,
`schema.py`, `manifest.json`) say about other pieces is left out.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from hub.core.bundled import find_bundled
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.slugs import slugify
from hub.integration.manifest import MANIFEST

KIOSK = "kiosk"
LETTERS = "letter_vectors"
NAME_LIMIT = 32
"""A slash command has no longer name."""
NOTHING = "# nothing"
"""Takes the line of a removed import for a while, so that the lines below keep their numbers."""
_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{NAME_LIMIT - 1}}}")


class ExamplePiece(Struct, frozen=True):
    """A kind of thing that integrations bring: the module of that name in an example, and its test.

    Attributes:
        help: Its description, in a line.
        example: The folder that it is taken from.
        module: Its module, where that has another name.
        declared: The manifest key that names it.
        keys: Words of the lines of `schema.py` that are for it alone.
        beside: Its further files.
    """

    help: str
    example: str = KIOSK
    module: str = ""
    declared: str = ""
    keys: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


PIECES: Mapping[str, ExamplePiece] = {
    "tool": ExamplePiece("Something that agents can do.", keys=('"most_rings"',)),
    "channel": ExamplePiece("A way for people to talk to it.", keys=('"port"', '"account"', "**ACCESS_KEYS")),
    "model": ExamplePiece("A provider of models.", declared="model_apis"),
    "memory": ExamplePiece("A whole memory, in place of the notes.", keys=('"keeps_memory"',)),
    "engine": ExamplePiece("An engine that finds passages of the memory by word.", declared="engine"),
    "embeddings": ExamplePiece("A model that makes the memory's vectors.", LETTERS, "engine", "engine"),
    "node": ExamplePiece("A way for devices to connect and be asked.", keys=('"node_port"',)),
    "trigger": ExamplePiece("What automations begin with.", declared="triggers"),
    "condition": ExamplePiece("What automations ask before they run.", declared="conditions"),
    "action": ExamplePiece("A step of automations.", declared="actions"),
    "service": ExamplePiece("Something that automations and people can call."),
    "entity": ExamplePiece("Something of the home that has a state and can be switched."),
    "hook": ExamplePiece("Code that observes what happens, or decides about it."),
    "command": ExamplePiece("A slash command in chats."),
    "method": ExamplePiece("A gateway method for programs."),
    "route": ExamplePiece("An address of the web server."),
    "page": ExamplePiece("A page of the dashboard.", beside=("page.html",)),
    "doctor": ExamplePiece("A check of homarus doctor.", declared="doctor"),
    "cli": ExamplePiece("A command of homarus.", declared="cli"),
}


def examples_folder() -> Path:
    """Return the folder of the examples: in the checkout, or inside the installed package.

    Raises:
        NotFound: It is in neither.
    """
    if (folder := find_bundled("examples", f"{KIOSK}/{MANIFEST}")) is None:
        raise NotFound("the examples are not there; the installation is not complete")
    return folder


def write_integration(below: Path, name: str, pieces: Iterable[str], taken: Mapping[str, str]) -> list[str]:
    """Write an integration that brings some pieces into a new folder of its name, and return the names of its files.

    Args:
        below: The parent folder.
        pieces: Names of `PIECES`.
        taken: Names that it cannot have, with what has them.

    Raises:
        InvalidRequest: The name is not valid, no piece is named, or two pieces exclude each other.
        Conflict: The name is taken, or the folder is there.
    """
    _check_name(name, taken)
    folder, wanted = below / name, [piece for piece in PIECES if piece in set(pieces)]
    if not wanted:
        raise InvalidRequest(f"say what {name} is to bring: {', '.join(f'--{piece}' for piece in PIECES)}")
    if {"engine", "embeddings"} <= set(wanted):
        raise InvalidRequest(
            "an integration is one engine of the memory's index: leave out --engine or --embeddings, "
            "and write a second integration for it"
        )
    if folder.exists():
        raise Conflict(f"{folder} exists already: choose another name, or remove it")
    files = _files(name, wanted)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return sorted(files)


def _check_name(name: str, taken: Mapping[str, str]) -> None:
    if not _NAME.fullmatch(name):
        near = slugify(name).strip("_0123456789")[:NAME_LIMIT]
        hint = f", such as {near}" if near else ""
        raise InvalidRequest(
            f"{name!r} cannot be the name of an integration: it takes a-z, 0-9 and _, begins with a letter, and has at "
            f"most {NAME_LIMIT} characters{hint}"
        )
    if name in taken:
        raise Conflict(f"the name {name} is taken by {taken[name]}: choose another, such as my_{name}")
    if name in sys.stdlib_module_names:
        raise Conflict(f"the name {name} is taken by a module of Python: choose another, such as my_{name}")


def _files(name: str, wanted: list[str]) -> dict[str, str]:
    """Return the text of each file of an integration."""
    files = {}
    for piece in wanted:
        found = PIECES[piece]
        module = f"{found.module or piece}.py"
        for file in (module, f"tests/test_{found.example}_{piece}.py", *found.beside):
            files[file.replace(found.example, name)] = _renamed(file, found.example, name)
    left_out = [found for piece, found in PIECES.items() if piece not in wanted]
    calls = [f" {piece}.add(" for piece in PIECES if piece not in wanted]
    files["__init__.py"] = _pruned(_renamed("__init__.py", KIOSK, name), calls)
    if any(PIECES[piece].keys for piece in wanted):
        keys = [key for each in left_out for key in each.keys]
        files["schema.py"] = _pruned(_renamed("schema.py", KIOSK, name), keys)
    files[MANIFEST] = _manifest(name, wanted)
    return files


def _renamed(file: str, example: str, name: str) -> str:
    """Return a file of an example with the name and the title of another integration in place of its own."""
    text = (examples_folder() / example / file).read_text(encoding="utf-8")
    return text.replace(example, name).replace(_title(example), _title(name))


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _manifest(name: str, wanted: list[str]) -> str:
    kept = {"domain", "name", "version"} | {PIECES[piece].declared for piece in wanted}
    said = {key: value for key, value in json.loads(_renamed(MANIFEST, KIOSK, name)).items() if key in kept}
    if "embeddings" in wanted:
        said["engine"] = "embeddings"
    return json.dumps(said, indent=2) + "\n"


def _pruned(source: str, words: Iterable[str]) -> str:
    """Return a module without lines that contain given words, and without the imports that become unused."""
    left = [line for line in source.splitlines() if not any(word in line for word in words)]
    tree = ast.parse("\n".join(left))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names = ", ".join(alias.name for alias in node.names if alias.name in used)
            start = "." * node.level + (node.module or "")
            left[node.lineno - 1] = f"from {start} import {names}" if names else NOTHING
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(line for line in left if line != NOTHING)) + "\n"
