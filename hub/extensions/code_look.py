"""A look at the code of an integration: what it imports, and where it reaches. Pure, and runs nothing of it.

Python of strangers can be made to take long to parse: it is read in a separate process
(`hub.security.outside_reader`). What its text says is not all that a program can do.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from hub.integration.manifest import MANIFEST
from hub.skills.archive import read_archive
from hub.skills.finding import ScanFinding, ScanSeverity
from hub.skills.scan import scan

PLACES_LIMIT = 40
"""Places that are told of one kind."""
IMPORTS_LIMIT = 100
NETWORK, FILES, PROGRAMS, IMPORT = "network", "files", "programs", "import"

_HTTP = {"aiohttp", "httpx", "requests", "urllib", "urllib3", "http", "websockets", "websocket", "xmlrpc"}
_MODULES: Mapping[str, frozenset[str]] = {
    NETWORK: frozenset(
        {*_HTTP, "socket", "ssl", "socketserver", "ftplib", "smtplib", "imaplib", "poplib", "telnetlib", "paramiko"}
        | {"aiomqtt", "paho", "asyncssh", "zeroconf", "dns", "grpc", "serial", "bleak"}
    ),
    FILES: frozenset(
        {"os", "shutil", "pathlib", "tempfile", "glob", "fileinput", "sqlite3", "mmap", "aiofiles", "dbm"}
    ),
    PROGRAMS: frozenset({"subprocess", "multiprocessing", "pty", "sh", "pexpect"}),
}
_CALLS: Mapping[str, str] = {
    **dict.fromkeys(("open_connection", "start_server", "create_connection", "create_datagram_endpoint"), NETWORK),
    **dict.fromkeys(("create_subprocess_exec", "create_subprocess_shell"), PROGRAMS),
    **dict.fromkeys(("os.system", "os.popen", "os.fork", "os.posix_spawn", "os.execv", "os.execve"), PROGRAMS),
    "open": FILES,
}
_MADE = "makes code while it runs, which cannot be looked at"
_MAKERS = frozenset({"exec", "eval", "compile", "__import__"})
_DOUBTFUL: Mapping[str, tuple[ScanSeverity, str]] = {
    **dict.fromkeys(("marshal", "runpy"), (ScanSeverity.DANGER, _MADE)),
    "pickle": (ScanSeverity.WARNING, "makes objects of bytes, which may run code"),
    "importlib": (ScanSeverity.WARNING, "imports by names that may be made while it runs"),
    "ctypes": (ScanSeverity.WARNING, "calls into the machine below Python"),
}


class CodeLook(Struct, frozen=True):
    """What the text of an integration's code shows.

    Attributes:
        imports: The modules that it imports, neither its own nor Python's, by name.
        reaches: Places by kind (`network`, `files`, `programs`), as `api.py:3 aiohttp`.
        findings: Signs of harm, worst first.
    """

    imports: tuple[str, ...]
    reaches: Mapping[str, tuple[str, ...]]
    findings: tuple[ScanFinding, ...]


def read_integration(data: bytes, path: str | None) -> tuple[str, dict[str, bytes]]:
    """Return the folder name of an integration in an archive, and its files; see `read_archive`."""
    return read_archive(data, path, MANIFEST)


def look_at_code(files: Mapping[str, bytes]) -> CodeLook:
    """Return what the files of an integration show."""
    imports: set[str] = set()
    reaches: dict[str, list[str]] = {NETWORK: [], FILES: [], PROGRAMS: []}
    found = [each for each in scan(files) if each.rule != "script"]  # that it is a program is said of the whole
    for path in sorted(files):
        if PurePosixPath(path).suffix != ".py":
            continue
        try:
            tree = ast.parse(files[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found.append(ScanFinding(ScanSeverity.DANGER, "not_python", "cannot be read as Python", path))
            continue
        for line, name, kind in _uses(tree):
            if kind == IMPORT:
                imports.add(name)
            elif kind in reaches:
                reaches[kind].append(f"{path}:{line} {name}")
        found += _hidden(path, tree)
    shown = {kind: tuple(dict.fromkeys(places))[:PLACES_LIMIT] for kind, places in reaches.items()}
    order = list(ScanSeverity)
    return CodeLook(
        tuple(sorted(imports)[:IMPORTS_LIMIT]),
        shown,
        tuple(sorted(dict.fromkeys(found), key=lambda each: order.index(each.severity))[:IMPORTS_LIMIT]),
    )


def _uses(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield what code imports and calls: the line, the name, and what that is."""
    for node in ast.walk(tree):
        for name, line in _imported(node):
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names:
                yield line, top, IMPORT
            for kind, modules in _MODULES.items():
                if top in modules:
                    yield line, name, kind
        if isinstance(node, ast.Call) and (called := next((each for each in _called(node) if each in _CALLS), None)):
            yield node.lineno, called, _CALLS[called]


def _hidden(path: str, tree: ast.AST) -> Iterator[ScanFinding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKERS:
            yield ScanFinding(ScanSeverity.DANGER, "made_code", _MADE, path, node.lineno)
        for name, line in _imported(node):
            if doubt := _DOUBTFUL.get(name.partition(".")[0]):
                yield ScanFinding(doubt[0], "made_code", doubt[1], path, line)


def _imported(node: ast.AST) -> list[tuple[str, int]]:
    if isinstance(node, ast.Import):
        return [(alias.name, node.lineno) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [(node.module, node.lineno)]
    return []


def _called(node: ast.Call) -> tuple[str, ...]:
    """Return what is called, by its last name and with the module before it."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr, ast.unparse(node.func)
    return (getattr(node.func, "id", ""),)
