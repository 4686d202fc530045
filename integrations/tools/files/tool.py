"""The tools of files: read, write, edit, ls, grep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from hub.core.context import Authority
from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.security.root import Entry, Root
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.files.editing import difference, replace_once
from integrations.tools.files.problems import explain
from integrations.tools.files.protected import check_may_change
from integrations.tools.files.reading import LINES_DEFAULT, LINES_LIMIT, READ_LIMIT_BYTES, decode, read_file
from integrations.tools.files.searching import MATCHES_LIMIT, PATTERN_LIMIT, find, gather

GROUP = "files"
TEXT_LIMIT = 2_000_000
LISTED_LIMIT = 500

View = Callable[[str, str, Authority], Root]
T = TypeVar("T")

_PATH = All(string, Length(min=1, max=4_096))
_READS = Annotations(
    read_only=True, destructive=False, idempotent=True, open_world=False, owner_only=False, parallel_safe=True
)
_WRITES = Annotations(open_world=False, owner_only=False, idempotent=True)

READ = Schema(
    {
        Required("path", description="Relative to the workspace."): _PATH,
        Optional("offset", default=1, description="First line, from 1."): All(integer, Range(min=1)),
        Optional("limit", default=LINES_DEFAULT, description="Lines."): All(integer, Range(min=1, max=LINES_LIMIT)),
    }
)
WRITE = Schema({Required("path"): _PATH, Required("content"): All(string, Length(max=TEXT_LIMIT))})
EDIT = Schema(
    {
        Required("path"): _PATH,
        Required("old_text", description="Exactly as in the file; once."): All(string, Length(min=1, max=TEXT_LIMIT)),
        Required("new_text"): All(string, Length(max=TEXT_LIMIT)),
        Optional("replace_all", default=False): boolean,
    }
)
LS = Schema({Optional("path", default="."): _PATH})
GREP = Schema(
    {
        Required("pattern"): All(string, Length(min=1, max=PATTERN_LIMIT)),
        Optional("path", default=".", description="File or directory."): _PATH,
        Optional("glob", description="Only such files, for example *.md."): All(string, Length(min=1, max=200)),
        Optional("literal", default=False, description="The pattern is plain text."): boolean,
        Optional("ignore_case", default=False): boolean,
        Optional("limit", default=100): All(integer, Range(min=1, max=MATCHES_LIMIT)),
    }
)


def file_tools(view: View) -> list[Tool]:
    """Return the tools.

    Args:
        view: Gives what a session sees of an agent's workspace, by agent, session key and authority.
    """
    tools = _FileTools(view)
    return [
        Tool("read", "Read a text file or an image of the workspace.", from_schema(READ), tools.read, GROUP, _READS),
        Tool(
            "write",
            "Write a whole file of the workspace; an existing one is replaced.",
            from_schema(WRITE),
            tools.write,
            GROUP,
            _WRITES,
        ),
        Tool(
            "edit",
            "Replace one exact piece of text in a file of the workspace.",
            from_schema(EDIT),
            tools.edit,
            GROUP,
            Annotations(open_world=False, owner_only=False),
        ),
        Tool("ls", "List a directory of the workspace.", from_schema(LS), tools.ls, GROUP, _READS),
        Tool(
            "grep",
            "Find lines in files of the workspace by a regular expression (Python) or plain text.",
            from_schema(GREP),
            tools.grep,
            GROUP,
            _READS,
        ),
    ]


class _FileTools:
    def __init__(self, view: View) -> None:
        self._view = view

    async def read(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        return await self._on_disk(
            call,
            arguments["path"],
            lambda root: read_file(root, arguments["path"], arguments["offset"], arguments["limit"]),
        )

    async def write(self, call: ToolCall) -> ToolResult:
        path, data = call.arguments["path"], _encoded(call.arguments["content"])
        check_may_change(path, call.context.authority)

        def write(root: Root) -> ToolResult:
            there = root.exists(path)
            root.write_bytes(path, data, parents=True)
            verb = "replaced" if there else "wrote"
            return ToolResult(f"{verb} {path} ({len(data)} bytes)", details={"path": path, "size_bytes": len(data)})

        return await self._on_disk(call, path, write)

    async def edit(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        path = arguments["path"]
        check_may_change(path, call.context.authority)

        def change(root: Root) -> ToolResult:
            before = root.stat(path)
            text = decode(root.read_bytes(path, READ_LIMIT_BYTES), path)
            fresh, count = replace_once(
                text, arguments["old_text"], arguments["new_text"], path, everywhere=arguments["replace_all"]
            )
            data = _encoded(fresh)
            if root.stat(path) != before:
                raise Conflict(f"{path} changed meanwhile; read it again")
            root.write_bytes(path, data)
            places = "1 place" if count == 1 else f"{count} places"
            return ToolResult(
                f"edited {path} in {places}", details={"path": path, "diff": difference(text, fresh, path)}
            )

        return await self._on_disk(call, path, change)

    async def ls(self, call: ToolCall) -> ToolResult:
        path = call.arguments["path"]

        def list_it(root: Root) -> ToolResult:
            entries = root.scan(path)
            lines = [_line(entry) for entry in entries[:LISTED_LIMIT]]
            if len(entries) > LISTED_LIMIT:
                lines.append(f"[{len(entries) - LISTED_LIMIT} more]")
            return ToolResult("\n".join(lines) or "[empty]", details={"path": path, "entries": len(entries)})

        return await self._on_disk(call, path, list_it)

    async def grep(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        corpus = await self._on_disk(
            call, arguments["path"], lambda root: gather(root, arguments["path"], arguments.get("glob"))
        )
        matches = await find(
            corpus,
            arguments["pattern"],
            ignore_case=arguments["ignore_case"],
            literal=arguments["literal"],
            limit=arguments["limit"],
        )
        lines = [f"{match.path}:{match.line}: {match.text}" for match in matches] or ["[nothing found]"]
        if len(matches) >= arguments["limit"]:
            lines.append(f"[only the first {arguments['limit']} matches]")
        if corpus.left_out:
            lines.append(f"[{corpus.left_out} files were left out: no text, or too large or too many]")
        details = {"files": len(corpus.files), "matches": len(matches), "left_out": corpus.left_out}
        return ToolResult("\n".join(lines), details=details)

    async def _on_disk(self, call: ToolCall, path: str, work: Callable[[Root], T]) -> T:
        """Run blocking work on the session's view of the workspace in a thread."""
        root = self._view(call.agent_id, call.session_key, call.context.authority)
        try:
            return await asyncio.to_thread(work, root)
        except OSError as error:
            raise explain(error, path, root) from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"the text has a broken character at position {error.start}") from error


def _line(entry: Entry) -> str:
    if entry.is_dir:
        return f"{entry.name}/"
    return f"{entry.name}  {entry.size_bytes} bytes" if entry.is_file else f"{entry.name}  ({entry.kind})"
