"""The tools that read files: read, ls, find, grep."""

from __future__ import annotations

from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest
from hub.security.folder_entry import FolderEntry
from hub.security.root import Root
from hub.tools.contract import ToolCall, ToolResult
from integrations.tools.files.pdf_text import PDF_LIMIT_BYTES, show_pdf
from integrations.tools.files.reading import READ_LIMIT_BYTES, show_file
from integrations.tools.files.searching import find, fits, gather
from integrations.tools.files.session_files import SessionFiles
from integrations.tools.pdf import is_pdf

LISTED_LIMIT = 500
WALKED_LIMIT = 10_000


class LookingTools:
    """`read`, `ls`, `find` and `grep`."""

    def __init__(self, files: SessionFiles) -> None:
        self._files = files
        self._outside = files.outside

    async def read(self, call: ToolCall) -> ToolResult:
        """Show a part of a text file, pages of a PDF, or an image."""
        arguments = call.arguments
        path = arguments["path"]
        limit = PDF_LIMIT_BYTES if path.lower().endswith(".pdf") else READ_LIMIT_BYTES

        def look(root: Root) -> tuple[bytes, bool, ToolResult | None]:
            data = root.read_bytes(path, limit)
            shown = None if is_pdf(data) else show_file(data, path, arguments["offset"], arguments["limit"])
            return data, not self._outside.holds(call.agent_id, data), shown

        data, trusted, shown = await self._files.on_disk(call, path, look)
        if shown is None:
            shown = await show_pdf(self._files.reader, data, path, arguments.get("pages"))
        elif "pages" in arguments:
            raise InvalidRequest(f"{path}: only a PDF has pages; use offset and limit")
        return replace(shown, trusted=trusted)

    async def ls(self, call: ToolCall) -> ToolResult:
        """List a directory."""
        path = call.arguments["path"]

        def list_it(root: Root) -> ToolResult:
            entries = root.scan(path)
            lines = [_line(entry) for entry in entries[:LISTED_LIMIT]]
            if len(entries) > LISTED_LIMIT:
                lines.append(f"[{len(entries) - LISTED_LIMIT} more]")
            named = any(self._named_outside(call.agent_id, root, entry) for entry in entries[:LISTED_LIMIT])
            details = {"path": path, "entries": len(entries)}
            return ToolResult("\n".join(lines) or "[empty]", details=details, trusted=not named)

        return await self._files.on_disk(call, path, list_it)

    async def find(self, call: ToolCall) -> ToolResult:
        """Find files by name."""
        arguments = call.arguments
        path, limit = arguments["path"], arguments["limit"]

        def look(root: Root) -> ToolResult:
            entries = [each for each in root.walk(path, WALKED_LIMIT) if fits(each.path, arguments["pattern"])]
            lines = [f"{each.path}/" if each.is_dir else each.path for each in entries[:limit]]
            if len(entries) > limit:
                lines.append(f"[only the first {limit} of {len(entries)}]")
            named = any(self._named_outside(call.agent_id, root, each) for each in entries[:limit])
            details = {"path": path, "matches": len(entries)}
            return ToolResult("\n".join(lines) or "[nothing found]", details=details, trusted=not named)

        return await self._files.on_disk(call, path, look)

    async def grep(self, call: ToolCall) -> ToolResult:
        """Find lines."""
        arguments = call.arguments
        corpus = await self._files.on_disk(
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

    def _named_outside(self, agent_id: str, root: Root, entry: FolderEntry) -> bool:
        """Whether text from outside named an entry and no person has changed it since."""
        if not self._outside.has_outside_name(agent_id, entry.path):
            return False
        if not entry.is_file:
            return True
        try:
            return self._outside.holds(agent_id, root.read_bytes(entry.path, READ_LIMIT_BYTES))
        except (OSError, HubError):
            return True


def _line(entry: FolderEntry) -> str:
    if entry.is_dir:
        return f"{entry.name}/"
    return f"{entry.name}  {entry.size_bytes} bytes" if entry.is_file else f"{entry.name}  ({entry.kind})"
