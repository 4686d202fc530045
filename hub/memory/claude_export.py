"""Claude's data export as Markdown: memories, projects and conversations. Pure, but for `read_zip`, which reads one.

The export is a .zip of JSON files: `conversations.json` (a list, each with `name`, `created_at` and `chat_messages` of
`sender` and `text`), `memories.json` or `memories/<id>.json` (`conversations_memory`, `project_memories` by id), and
`projects.json` or `projects/<id>.json` (`name`, `description`, `prompt_template`, `docs` of `filename` and `content`).
"""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.memory.file_names import free_name, slug_of
from hub.memory.markdown import without_sources

TEXT_LIMIT = 800_000
"""Characters of one file that is made; a longer conversation is cut at its end."""
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(RuntimeError, EOFError, ValueError, IndexError),
)
"""What the standard library raises for archives that are damaged, encrypted, or packed in ways it does not know."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
UNTITLED = "untitled"
_SPEAKERS = {"human": "You", "assistant": "Claude"}


class ExportFiles(Struct, frozen=True):
    """Which files of an export are read, and how much of them.

    Attributes:
        names: Without their folder.
        limit_bytes: The limit of one file, unpacked.
        entries: Files an archive may have.
    """

    names: frozenset[str] = frozenset({"conversations.json", "memories.json", "projects.json"})
    limit_bytes: int = 128 * 1_048_576
    entries: int = 10_000


EXPORT_FILES = ExportFiles()


def is_export_name(name: str) -> bool:
    """Whether a file of an export is one that is read: by its name, or because it is a project's or an account's."""
    *folders, last = name.split("/")
    return last in EXPORT_FILES.names or (folders[-1:] in (["projects"], ["memories"]) and last.endswith(".json"))


def read_zip(path: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Read an export as it was downloaded: Markdown by name, and what was left out with the reason.

    Nothing is unpacked onto the disk, and no more of a file than the limit, whatever the archive says of its size.

    Raises:
        InvalidRequest: It is not an archive, or has too many files.
    """
    texts: dict[str, str] = {}
    left_out: list[tuple[str, str]] = []
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > EXPORT_FILES.entries:
                raise InvalidRequest(f"{path.name} has more than {EXPORT_FILES.entries} files, which no export has")
            left = EXPORT_FILES.limit_bytes
            for info in infos:
                if info.is_dir() or not is_export_name(info.filename):
                    continue
                try:
                    with archive.open(info) as file:
                        data = file.read(left + 1)
                    if len(data) > left:
                        left_out.append((info.filename, f"there is more than {EXPORT_FILES.limit_bytes} bytes to read"))
                        continue
                    left -= len(data)
                    for name, text in read_export(info.filename, data).items():
                        texts[free_name(texts, name)] = text
                except _DAMAGED as error:
                    left_out.append((info.filename, f"it cannot be unpacked ({error})"))
                except InvalidRequest as error:
                    left_out.append((info.filename, error.message))
    except (*_DAMAGED, OSError) as error:
        raise InvalidRequest(f"{path.name} cannot be read as a .zip: {error}") from error
    return texts, left_out


def read_export(name: str, data: bytes) -> dict[str, str]:
    """Return a JSON file of an export as Markdown, by name.

    Raises:
        InvalidRequest: It is not JSON, or not an export.
    """
    try:
        found = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise InvalidRequest(f"{name} is not JSON: {error}") from error
    entries = [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]
    texts: dict[str, str] = {}
    for entry in entries:
        for wanted, text in _files(entry):
            if text.strip():
                texts[free_name(texts, wanted)] = f"{without_sources(_plain(text))[:TEXT_LIMIT].rstrip()}\n"
    known = any(
        {"chat_messages", "conversations_memory", "project_memories", "prompt_template", "docs"} & each.keys()
        for each in entries
    )
    if not known and entries:
        raise InvalidRequest(f"{name} holds neither conversations nor memories nor projects of Claude's data export")
    return texts


def _files(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(entry.get("chat_messages"), list):
        yield from _conversation(entry)
    if said := _text(entry.get("conversations_memory")):
        yield "memories.md", f"# What Claude remembered\n\n{said}"
    projects = entry.get("project_memories")
    if isinstance(projects, dict):
        for id, text in projects.items():
            if said := _text(text):
                yield (
                    f"projects/{slug_of(str(id), UNTITLED)}-memory.md",
                    f"# What Claude remembered of a project\n\n{said}",
                )
    if "prompt_template" in entry or isinstance(entry.get("docs"), list):
        yield from _project(entry)


def _conversation(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    title = " ".join(_text(entry.get("name")).split()) or "Conversation"
    day = _day(entry.get("created_at"))
    said = [
        f"**{_SPEAKERS[speaker]}:** {text}"
        for message in entry["chat_messages"]
        if isinstance(message, dict)
        and (speaker := str(message.get("sender"))) in _SPEAKERS
        and (text := _message(message))
    ]
    if said:
        body = "\n\n".join(said)
        name = "-".join(part for part in (day, slug_of(title, UNTITLED)) if part)
        yield f"conversations/{name}.md", f"# {title}\n\n{body}"


def _project(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    title = " ".join(_text(entry.get("name")).split()) or "Project"
    parts = [_text(entry.get(key)) for key in ("description", "prompt_template")]
    if any(parts):
        body = "\n\n".join(part for part in parts if part)
        yield f"projects/{slug_of(title, UNTITLED)}.md", f"# {title}\n\n{body}"
    docs = entry.get("docs")
    for doc in docs if isinstance(docs, list) else []:
        if isinstance(doc, dict) and (content := _text(doc.get("content"))):
            name = _text(doc.get("filename")) or "document"
            stem = slug_of(name.rpartition("/")[2].removesuffix(".md"), UNTITLED)
            yield f"projects/{slug_of(title, UNTITLED)}/{stem}.md", f"# {' '.join(name.split())}\n\n{content}"


def _message(message: Mapping[str, Any]) -> str:
    """Return the words of a message: the text, or the text blocks; tool calls and results are left out."""
    if text := _text(message.get("text")):
        return text
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    said = [_text(each.get("text")) for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
    return "\n\n".join(each for each in said if each)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\x00", "").encode("utf-8", "replace").decode()


def _day(value: Any) -> str:
    found = _DATE.match(value) if isinstance(value, str) else None
    return found[0] if found else ""
