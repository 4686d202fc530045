"""Reads the memory of other assistants: OpenClaw's workspace, Claude's files and data export, folders of Markdown.

It only reads, within bounds, and follows no symlink; it lists what it leaves out. Nothing of it is ever run or fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.memory.claude_export import EXPORT_FILES, is_export_name, read_export, read_zip
from hub.memory.file_names import free_name
from hub.security.root import Root

FILES_LIMIT = 5_000
ENTRIES_LIMIT = 50_000
"""The number of files and directories that are read."""
DEPTH_LIMIT = 8
FILE_LIMIT_BYTES = 1_000_000
"""Of one file; memory keeps little more, with what is written above it."""
TOTAL_LIMIT = 64 * 1_048_576
"""Characters in all."""
NOTES_LIMIT = 200
BATCH_FILES = 100
BATCH_LIMIT = 2_000_000
"""Characters of a request."""

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
_PROMPTS = frozenset({"AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md"})
_OPENCLAW_TOP = frozenset({"MEMORY.md", "memory.md", "USER.md", "DREAMS.md"})
_CLAUDE_NAMES = frozenset({"CLAUDE.md", "CLAUDE.local.md"})
_MARKDOWN = (".md", ".markdown", ".txt")
"""How the name of one file ends that is brought in by itself; of a folder, all that end in .md are."""
_CLAUDE_IMPORT = re.compile(r"^\s*(?:[-*]\s+)?@[\w~./-]+\s*$", re.MULTILINE)


class BroughtIn(Struct):
    """The imported files.

    Attributes:
        files: Markdown by relative name.
        left_out: The files that were not read, and why; a sentence each.
    """

    files: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, name: str, why: str) -> None:
        """Note that something was not imported."""
        shown = name if name.isprintable() else ascii(name)[1:-1]
        if len(self.left_out) < NOTES_LIMIT:
            self.left_out.append(f"{shown[:200]}: {why.removeprefix(name).lstrip()}")
        elif len(self.left_out) == NOTES_LIMIT:
            self.left_out.append("…: more was left out")

    def leave_out_large(self) -> None:
        """Leave out the files that the memory does not keep."""
        for name, text in [*self.files.items()]:
            if len(text.encode()) > FILE_LIMIT_BYTES:
                del self.files[name]
                self.leave_out(name, f"it is larger than {FILE_LIMIT_BYTES} bytes; cut it into several files")

    def batches(self) -> Iterator[dict[str, str]]:
        """Yield the files in batches that fit into a request of `memory.import`."""
        batch: dict[str, str] = {}
        size = 0
        for name in sorted(self.files):
            if batch and (len(batch) >= BATCH_FILES or size + len(self.files[name]) > BATCH_LIMIT):
                yield batch
                batch, size = {}, 0
            batch[name] = self.files[name]
            size += len(self.files[name])
        if batch:
            yield batch


def read_openclaw(folder: Path) -> BroughtIn:
    """Read the memory of an OpenClaw workspace, or of all workspaces below its state directory (`~/.openclaw`).

    `MEMORY.md`, `USER.md` and all Markdown below `memory/` are read; the files that tell an assistant how to behave are
    left out, since what is remembered must not instruct.

    Raises:
        NotFound: There is no such folder, or it has no memory of OpenClaw.
        InvalidRequest: It cannot be read.
    """
    root = _folder(folder)
    workspaces = [""] if _is_workspace(root, "") else []
    if not workspaces:
        workspaces = [f"{each.path}/" for each in root.scan() if each.is_dir and _is_workspace(root, f"{each.path}/")]
    if not workspaces:
        raise NotFound(
            f"{folder} holds no workspace of OpenClaw: there is neither MEMORY.md nor memory/ in it, or in a folder "
            "below it. Name ~/.openclaw, or one of its workspaces"
        )
    found = BroughtIn()
    for workspace in workspaces:
        prefix = workspace if len(workspaces) > 1 else ""
        for name in _markdown(root, workspace, found):
            inner = name.removeprefix(workspace)
            if inner in _OPENCLAW_TOP:
                _take(found, root, name, f"{prefix}{inner}")
            elif inner.startswith("memory/"):
                _take(found, root, name, f"{prefix}{inner.removeprefix('memory/')}")
            elif inner in _PROMPTS:
                found.leave_out(
                    name, "it tells the assistant how to behave; copy what you want of it into the workspace"
                )
    return found


def read_claude(path: Path) -> BroughtIn:
    """Read Claude's memory: a folder with CLAUDE.md files, or a data export (its .zip, unpacked, or one .json of it).

    An export yields Claude's memories (`memories.json`), the instructions of projects (`projects`), and the
    conversations, a file each.

    Raises:
        NotFound: There is nothing of Claude's.
        InvalidRequest: It cannot be read, or is not what its name says.
    """
    found = BroughtIn()
    if path.is_dir():
        root = _folder(path)
        _claude_files(root, found)
        exported = [each.path for each in root.scan() if each.is_file and is_export_name(each.path)]
        if root.is_dir("projects"):
            exported += [each.path for each in root.scan("projects") if each.is_file and is_export_name(each.path)]
        for name in exported:
            _guarded(found, name, partial(_exported, root, name))
    elif not path.is_file():
        raise NotFound(f"there is no file or folder {path}")
    elif path.suffix.lower() == ".zip":
        texts, notes = read_zip(path)
        _merge(found, texts)
        for name, why in notes:
            found.leave_out(name, why)
    elif path.suffix.lower() == ".json":
        path = path.resolve()
        _merge(found, _exported(Root(path.parent), path.name))
    else:
        raise InvalidRequest(f"{path} is neither a folder nor a .zip or .json of Claude's data export")
    if not found.files and not found.left_out:
        raise NotFound(
            f"{path} holds nothing of Claude's: no CLAUDE.md, and none of conversations.json, memories.json and "
            "projects.json of a data export"
        )
    return found


def read_markdown(folder: Path) -> BroughtIn:
    """Read all Markdown files of a folder, or one.

    Raises:
        NotFound: There is no such folder, or no Markdown in it.
        InvalidRequest: It cannot be read.
    """
    found = BroughtIn()
    if folder.is_file():
        if not folder.name.lower().endswith(_MARKDOWN):
            raise InvalidRequest(f"{folder} is not Markdown; name a folder, or a file whose name ends in .md")
        real = folder.resolve()  # who names a link means what it leads to
        text = _text(Root(real.parent), real.name)
        return BroughtIn({folder.name: text} if text.strip() else {})
    root = _folder(folder)
    for name in _markdown(root, "", found):
        _take(found, root, name, name)
    if not found.files and not found.left_out:
        raise NotFound(f"{folder} holds no Markdown: no file in it has a name that ends in .md, and content")
    return found


def _exported(root: Root, name: str) -> Mapping[str, str]:
    return read_export(name, root.read_bytes(name, EXPORT_FILES.limit_bytes))


def _claude_files(root: Root, found: BroughtIn) -> None:
    for name in _markdown(root, "", found, hidden=frozenset({".claude"})):
        parts = name.split("/")
        is_rule = "rules" in parts[:-1] and (parts[0] in (".claude", "rules"))
        is_auto = "memory" in parts[:-1] and "projects" in parts[:-1]
        if parts[-1] in _CLAUDE_NAMES or is_rule or is_auto:
            plain = "/".join(part.lstrip(".") for part in parts)
            _take(found, root, name, plain)
            if _CLAUDE_IMPORT.search(found.files.get(plain, "")):
                found.leave_out(name, "it names other files with @; they are not followed")


def _markdown(root: Root, below: str, found: BroughtIn, hidden: frozenset[str] = frozenset()) -> Iterable[str]:
    """Yield the names of the Markdown files below a folder, sorted; hidden folders are skipped unless named."""
    waiting, seen = [below.rstrip("/") or "."], 0
    while waiting:
        folder = waiting.pop()
        depth = 0 if folder == "." else folder.count("/") + 1
        try:
            entries = root.scan(folder, ENTRIES_LIMIT)
        except (OSError, HubError) as error:
            found.leave_out(folder, _why(error))
            continue
        deeper = []
        for each in entries:
            seen += 1
            if seen > ENTRIES_LIMIT:
                found.leave_out(each.path, f"more than {ENTRIES_LIMIT} files and folders are not looked at")
                return
            is_skipped = each.name in _SKIPPED or (each.name.startswith(".") and each.name not in hidden)
            if each.is_file and each.name.lower().endswith(".md"):
                yield each.path
            elif each.is_dir and not is_skipped:
                if depth < DEPTH_LIMIT:
                    deeper.append(each.path)
                else:
                    found.leave_out(each.path, f"it is deeper than {DEPTH_LIMIT} folders")
            elif not each.is_dir and not each.is_file and each.name.lower().endswith(".md"):
                found.leave_out(each.path, "it is a link, which is not followed")
        waiting.extend(reversed(deeper))


def _take(found: BroughtIn, root: Root, name: str, wanted: str) -> None:
    def read() -> Mapping[str, str]:
        text = _text(root, name)
        return {wanted: text} if text.strip() else {}

    _guarded(found, name, read)


def _text(root: Root, name: str) -> str:
    text = root.read_text(name, FILE_LIMIT_BYTES).removeprefix("\ufeff")
    if "\x00" in text:
        raise InvalidRequest(f"{name} holds a NUL character and is not text")
    return text


def _guarded(found: BroughtIn, name: str, read: Callable[[], Mapping[str, str]]) -> None:
    try:
        texts = read()
    except (OSError, HubError) as error:
        found.leave_out(name, _why(error))
        return
    _merge(found, texts)


def _merge(found: BroughtIn, texts: Mapping[str, str]) -> None:
    """Add files, within the limits; a name that is taken gets a number."""
    size = sum(len(text) for text in found.files.values())
    for name, text in texts.items():
        if len(found.files) >= FILES_LIMIT:
            found.leave_out(name, f"more than {FILES_LIMIT} files do not come in at once")
        elif size + len(text) > TOTAL_LIMIT:
            found.leave_out(name, f"more than {TOTAL_LIMIT} characters do not come in at once")
        else:
            size += len(text)
            found.files[free_name(found.files, name)] = text


def _folder(path: Path) -> Root:
    if not path.is_dir():
        is_there = path.exists()
        raise NotFound(
            f"{path} is not a folder; name the folder that it is in" if is_there else f"there is no folder {path}"
        )
    root = Root(path)
    try:
        root.scan(limit=ENTRIES_LIMIT)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}") from error
    return root


def _is_workspace(root: Root, prefix: str) -> bool:
    return root.is_file(f"{prefix}MEMORY.md") or root.is_file(f"{prefix}memory.md") or root.is_dir(f"{prefix}memory")


def _why(error: OSError | HubError) -> str:
    return error.message if isinstance(error, HubError) else f"it cannot be read ({error.strerror or error})"
