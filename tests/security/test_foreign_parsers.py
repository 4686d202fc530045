"""What strangers wrote is taken apart in the outside reader alone: every use of a parser in the tree is looked at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARSERS = (
    *("email.parser", "email.message_from_bytes", "email.message_from_string", "mailbox", "feedparser", "pypdf"),
    *("zipfile", "tarfile", "shutil.unpack_archive", "gzip", "bz2", "lzma", "zlib.decompress", "zlib.decompressobj"),
    *("icalendar", "recurring_ical_events", "vobject", "lxml", "readability", "markdownify", "bs4", "html5lib"),
    *("html.parser", "xml", "defusedxml", "PIL", "cv2", "wave", "av", "soundfile", "docx", "openpyxl", "plistlib"),
    *("pickle", "marshal", "ruamel", "yaml", "hub.config.yaml_reader.YamlReader"),
)
"""Modules and functions that make something of bytes whose form somebody else chose."""

ALLOWED = {
    "hub/skills/cli/skill_sources.py": "packs a folder of the person whose command it is",
    "hub/migrate/chats.py": "in a process of its own, with bounds; the owner names the file",
    "hub/migrate/archive.py": "in a process of its own, with bounds; the owner chose the archive",
    "hub/memory/claude_export.py": "in the command of the person who names the file; the hub gets its texts",
    "hub/security/egress_body.py": "unpacks piece by piece, and ends at its bound",
    "hub/backup/archive.py": "in a process of its own, with bounds; the owner chose to restore the archive",
    "hub/backup/create.py": "packs the home",
    "hub/backup/tar_stream.py": "writes the heads of what it packs",
    "hub/storage/history.py": "unpacks what it packed",
    "hub/storage/damage.py": "packs and unpacks what it made itself",
    "integrations/channels/voice_call/mulaw.py": "writes; reads, bounded, what the configured speech server says",
    "integrations/channels/voice_call/twiml.py": "writes",
    "hub/voice/sound.py": "writes; reads, bounded, what the configured speech engine says",
    "integrations/channels/xmpp/channel.py": "writes stanzas",
    "integrations/channels/xmpp/connection.py": "writes stanzas, and looks at those that slixmpp's stream has read",
    "integrations/channels/xmpp/events.py": "looks at stanzas that slixmpp's stream has read",
    "integrations/models/voice/fetching.py": "in the command of the person who names the archive, with a bound",
    "integrations/models/voice/worker.py": "writes; its libraries read, in a process of its own that writes no file",
    "integrations/memory/notes/index/fts5.py": "packs and unpacks its own columns",
    "web/core/assets.py": "packs our own files",
    "hub/config/spans.py": "the owner's configuration",
    "hub/config/second_parser.py": "the owner's configuration",
    "hub/config/syntax.py": "the owner's configuration",
    "hub/config/yaml_reader.py": "the owner's configuration; for others, bounds on size, depth and aliases",
    "hub/config/loader.py": "the owner's configuration",
    "hub/config/secrets_file.py": "the owner's secrets",
    "hub/doctor/runtime.py": "looks whether the parser is there",
    "hub/hooks/hook_file.py": "the owner's hooks, which run as the hub",
    "hub/skills/skill_file.py": "front matter of 16 KB at most, within the bounds of yaml_reader",
    "integrations/models/offline/recognizer.py": "sentences that come with the hub",
    "integrations/nodes/phone/page.py": "writes a profile",
    "node/service.py": "writes a unit of its own",
    "integrations/tools/files/grep_worker.py": "what the hub tells its own process",
    "integrations/tools/files/searching.py": "what the hub tells its own process",
}
"""Files that may use a parser in the hub's own process, each with the reason."""

CALLS = {
    "hub/backup/create.py": "in a process of its own: the archive that it has just made",
    "hub/backup/restore.py": "in a process of its own: the archive that the owner restores",
    "hub/migrate/home_assistant/moving.py": "in a process of its own: the folder that the owner moves in from",
    "hub/automation/blueprints/store.py": "blueprints of the home, each read outside before it was put there",
}
"""Files that call what is read outside in the hub's own process, each with the reason."""

WRITES = {"new_event"}
"""Functions of modules with a parser that write, and read nothing."""


@cache
def texts() -> dict[str, str]:
    """Return every module of ours, by its path."""
    found = [path for top in ("hub", "integrations", "web", "node") for path in sorted((ROOT / top).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in found}


@cache
def tree_of(path: str) -> ast.Module:
    return ast.parse(texts()[path])


def trees_with(words: Iterable[str]) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules in which one of these words stands; to take them all apart takes ten seconds."""
    stands = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")
    return ((path, tree_of(path)) for path, text in texts().items() if stands.search(text))


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def paths() -> dict[str, str]:
    return {module_of(path): path for path in texts()}


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield what is imported and under which name, inside functions too: `zipfile`, `zlib.decompress`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name, each.asname or each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{each.name}", each.asname or each.name) for each in node.names)


def uses_parser(tree: ast.AST) -> set[str]:
    """Return the parsers that a module uses: imports, and attributes of what it imports."""
    names = {local: full for full, local in imported(tree)}
    used = set(names.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            used.add(f"{names[node.value.id]}.{node.attr}")
    return {each for each in used for parser in PARSERS if each == parser or each.startswith(f"{parser}.")}


@cache
def users() -> dict[str, set[str]]:
    """Return the modules that use parsers, each with which."""
    used = {path: uses_parser(tree) for path, tree in trees_with({each.rpartition(".")[2] for each in PARSERS})}
    return {path: parsers for path, parsers in used.items() if parsers}


def functions_with_parser(tree: ast.Module) -> Iterator[str]:
    """Yield the functions of a module that name a parser."""
    parsers = uses_parser(tree)
    local = {name for full, name in imported(tree) if any(each.startswith(full) for each in parsers)}
    for function in tree.body:
        names = {each.id for each in ast.walk(function) if isinstance(each, ast.Name)}
        if isinstance(function, ast.FunctionDef) and local & names:
            yield function.name


@cache
def entries() -> set[tuple[str, str]]:
    """Return every function that is handed to the outside reader: its module and its name."""
    found = {(f"integrations.tools.web_search.providers.{each}", "results") for each in ("duckduckgo", "searxng")}
    for path, tree in trees_with(["returns"]):
        names = {local: full for full, local in imported(tree)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not any(each.arg == "returns" for each in node.keywords):
                continue
            function = node.args[1] if ast.unparse(node.func).endswith("reader.read") else None
            if isinstance(function, ast.Name):
                module, _, name = names.get(function.id, f"{module_of(path)}.{function.id}").rpartition(".")
                found.add((module, name))
    return found


@cache
def read_outside() -> set[str]:
    """Return the paths of the modules that the outside reader may run."""
    waiting, found = [paths()[module] for module, _ in entries()], set()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for full, _ in imported(tree_of(path)):
            for module in (full, full.rpartition(".")[0]):
                if module in paths():
                    waiting.append(paths()[module])
    return found


def test_the_functions_of_the_outside_reader_are_found() -> None:
    names = {name for _, name in entries()}

    assert {"read_mail", "read_attachment", "read_skill_data", "read_events", "read_page", "extract"} <= names


def test_a_parser_is_used_in_the_outside_reader_alone() -> None:
    inside = {path: parsers for path, parsers in users().items() if path not in read_outside() and path not in ALLOWED}

    assert inside == {}, "these take apart what others wrote"


def test_what_reads_outside_is_called_nowhere_else() -> None:
    guarded = {f"{module}.{name}" for module, name in entries()}
    for path in users().keys() - ALLOWED.keys() - CALLS.keys():
        reading = set(functions_with_parser(tree_of(path))) - WRITES
        guarded |= {f"{module_of(path)}.{name}" for name in reading}
    called = []
    for path, tree in trees_with({each.split(".")[-2] for each in guarded}):
        names = {local: full for full, local in imported(tree)}
        if path in read_outside() or path in CALLS:
            continue
        for node in ast.walk(tree):
            function = node.func if isinstance(node, ast.Call) else None
            if not isinstance(function, ast.Name):
                continue
            if names.get(function.id, f"{module_of(path)}.{function.id}") in guarded:
                called.append(f"{path}:{function.lineno} {function.id}")

    assert called == []


def test_no_reason_is_left_over() -> None:
    assert ALLOWED.keys() - users().keys() == set()
