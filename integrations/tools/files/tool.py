"""The tools of files: read, write, edit, ls, grep."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from hub.agent.outside_files import OutsideFiles
from hub.core.context import Authority
from hub.core.errors import Conflict, HubError, InvalidRequest
from hub.core.executors import FILES
from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.security.folder_entry import FolderEntry
from hub.security.jail_path import components
from hub.security.root import Root
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.files.editing import difference, replace_once
from integrations.tools.files.problems import explain
from integrations.tools.files.reading import LINES_DEFAULT, LINES_LIMIT, READ_LIMIT_BYTES, decode, show_file
from integrations.tools.files.searching import MATCHES_LIMIT, PATTERN_LIMIT, find, gather
from integrations.tools.files.unasked import INBOX, approval_to_write

GROUP = "files"
TEXT_LIMIT = 2_000_000
LISTED_LIMIT = 500

View = Callable[[str, str, Authority], Root]
T = TypeVar("T")

_PATH = All(string, Length(min=1, max=4_096))
_WRITES = Annotations(open_world=False, owner_only=False, idempotent=True, egress=False)

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


def file_tools(view: View, outside: OutsideFiles) -> list[Tool]:
    """Return the tools.

    Args:
        view: Gives what a session sees of an agent's workspace, by agent, session key and authority.
        outside: Knows which files hold words from outside.
    """
    tools = _FileTools(view, outside)
    return [
        Tool(
            "read", "Read a text file or an image of the workspace.", from_schema(READ), tools.read, GROUP, READS_HOME
        ),
        Tool(
            "write",
            "Write a whole file of the workspace; an existing one is replaced.",
            from_schema(WRITE),
            tools.write,
            GROUP,
            _WRITES,
            approval_to_write,
        ),
        Tool(
            "edit",
            "Replace one exact piece of text in a file of the workspace.",
            from_schema(EDIT),
            tools.edit,
            GROUP,
            Annotations(open_world=False, owner_only=False, egress=False),
            approval_to_write,
        ),
        Tool("ls", "List a directory of the workspace.", from_schema(LS), tools.ls, GROUP, READS_HOME),
        Tool(
            "grep",
            "Find lines in files of the workspace by a regular expression (Python) or plain text.",
            from_schema(GREP),
            tools.grep,
            GROUP,
            READS_HOME,
        ),
    ]


class _FileTools:
    def __init__(self, view: View, outside: OutsideFiles) -> None:
        self._view = view
        self._outside = outside

    async def read(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        path = arguments["path"]

        def read(root: Root) -> ToolResult:
            data = root.read_bytes(path, READ_LIMIT_BYTES)
            shown = show_file(data, path, arguments["offset"], arguments["limit"])
            return replace(shown, trusted=not self._outside.holds(call.agent_id, data))

        return await self._on_disk(call, path, read)

    async def write(self, call: ToolCall) -> ToolResult:
        path, data = call.arguments["path"], _encoded(call.arguments["content"])

        def write(root: Root) -> ToolResult:
            there = root.exists(path)
            outside = self._outside.writes_from_outside(call.context.authority)
            if outside:
                self._mark(call.agent_id, root, path, data)
            root.write_bytes(path, data, parents=True, executable=not outside)
            verb = "replaced" if there else "wrote"
            return ToolResult(f"{verb} {path} ({len(data)} bytes)", details={"path": path, "size_bytes": len(data)})

        return await self._on_disk(call, path, write)

    async def edit(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        path = arguments["path"]

        def change(root: Root) -> ToolResult:
            before = root.stat(path)
            held = root.read_bytes(path, READ_LIMIT_BYTES)
            text = decode(held, path)
            fresh, count = replace_once(
                text, arguments["old_text"], arguments["new_text"], path, everywhere=arguments["replace_all"]
            )
            data = _encoded(fresh)
            if root.stat(path) != before:
                raise Conflict(f"{path} changed meanwhile; read it again")
            # What stays of words from outside is still theirs, whoever changes the rest.
            outside = self._outside.writes_from_outside(call.context.authority)
            if outside or self._outside.holds(call.agent_id, held):
                self._mark(call.agent_id, root, path, data)
            root.write_bytes(path, data, executable=not outside)
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
            named = any(self._named_outside(call.agent_id, root, entry) for entry in entries[:LISTED_LIMIT])
            details = {"path": path, "entries": len(entries)}
            return ToolResult("\n".join(lines) or "[empty]", details=details, trusted=not named)

        return await self._on_disk(call, path, list_it)

    async def grep(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        corpus = await self._on_disk(
            call,
            arguments["path"],
            lambda root: gather(
                root, arguments["path"], arguments.get("glob"), lambda data: self._outside.holds(call.agent_id, data)
            ),
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
        return ToolResult(
            "\n".join(lines), details=details, trusted=corpus.outside.isdisjoint(match.path for match in matches)
        )

    def _mark(self, agent_id: str, root: Root, path: str, data: bytes) -> None:
        names = components(path)
        folders = ["/".join(names[:depth]) for depth in range(1, len(names))]
        new = [folder for folder in folders if folder != INBOX and not root.exists(folder)]
        self._outside.mark(agent_id, "/".join(names), data, new)

    def _named_outside(self, agent_id: str, root: Root, entry: FolderEntry) -> bool:
        """Whether text from outside named an entry and no person has changed it since."""
        if not self._outside.named_by(agent_id, entry.path):
            return False
        if not entry.is_file:
            return True
        try:
            return self._outside.holds(agent_id, root.read_bytes(entry.path, READ_LIMIT_BYTES))
        except (OSError, HubError):
            return True

    async def _on_disk(self, call: ToolCall, path: str, work: Callable[[Root], T]) -> T:
        """Run blocking work on the session's view of the workspace in a thread."""
        root = self._view(call.agent_id, call.session_key, call.context.authority)
        try:
            return await FILES.run(work, root)
        except OSError as error:
            raise await FILES.run(explain, error, path, root) from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"the text has a broken character at position {error.start}") from error


def _line(entry: FolderEntry) -> str:
    if entry.is_dir:
        return f"{entry.name}/"
    return f"{entry.name}  {entry.size_bytes} bytes" if entry.is_file else f"{entry.name}  ({entry.kind})"
