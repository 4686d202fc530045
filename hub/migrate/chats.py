"""The exports of Claude and ChatGPT: conversations and what was remembered, out of the .zip or its conversations.json.

It runs in the process of `hub.migrate.cli.worker`; nothing is unpacked onto the disk.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import orjson

from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.phrases import phrase
from hub.memory.claude_export import is_export_name, read_export
from hub.memory.file_names import free_name
from hub.memory.front_matter import FrontMatter, with_front_matter
from hub.memory.markdown import without_sources
from hub.memory.places import IMPORTED
from hub.migrate.conversations import TEXT_LIMIT, Conversation, StagedMessage, add_conversations
from hub.migrate.draft import Draft
from hub.migrate.plan import Move, MoveItem, Verdict, said
from hub.models.contract import Role

LIMIT_BYTES = 256 * 1024 * 1024
ENTRIES_LIMIT = 20_000
TURNS_LIMIT = 20_000
MEMORY_LIMIT_BYTES = 1_000_000
"""Of one file; memory keeps no larger ones."""
_NAME = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_DAMAGED = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError)


def plan_chats(source: str, path: Path, draft: Draft, agent: str, stage: Path | None) -> Move:
    """Return the plan of bringing an export over: its conversations, each archived, and what was remembered.

    Args:
        source: `claude` or `chatgpt`.
        path: The .zip, or a conversations.json.
        draft: Of the home.
        agent: Whose conversations and memory they become.
        stage: A folder for the messages; None to count them only.

    Raises:
        NotFound: There is no such file, or no such agent.
        InvalidRequest: It is not such an export, or damaged.
        LimitExceeded: It is too large.
    """
    if not path.is_file():
        raise NotFound(
            phrase("there is no file {path}; name the .zip that came by mail, or its conversations.json", path=path)
        )
    move = Move(source, str(path))
    workspace = draft.workspace(agent)
    memory: dict[str, str] = {}
    hints = _Hints()
    for name, data in _files(path, source):
        if source == "claude" and _is_memory(name):
            try:
                for wanted, text in read_export(name, data).items():
                    memory[free_name(memory, wanted)] = text
            except InvalidRequest as error:
                move.add(MoveItem("memory", name, Verdict.REFUSED, (said(error.message),), name))
            continue
        try:
            found = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
        except ValueError as error:
            raise InvalidRequest(phrase("{name} is not JSON: {reason}", name=name, reason=str(error)[:200])) from error
        entries = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        key = "chat_messages" if source == "claude" else "mapping"
        if not entries or not any(key in each for each in entries):
            told = phrase("{name} holds no conversations of {source}", name=name, source=source)
            raise InvalidRequest(told)
        read = _claude if source == "claude" else _chatgpt
        add_conversations(move, (made for each in entries if (made := read(each, agent)) is not None), stage)
        for each in entries if source == "chatgpt" else ():
            hints.read(each)
    _add_memory(move, draft, workspace, memory | hints.files())
    move.changes = msgspec.structs.replace(draft.changes()[0], sessions=move.changes.sessions)
    return move


def _add_memory(move: Move, draft: Draft, workspace: str, files: Mapping[str, str]) -> None:
    """Add what was remembered as files of the agent's memory; it counts as text that others wrote."""
    for name, text in sorted(files.items()):
        if not workspace:
            why = phrase("its workspace lies outside the folder; copy what you want of it")
            move.add(MoveItem("memory", name, Verdict.LEFT, (why,)))
            continue
        target = f"{workspace}/{IMPORTED}/{move.source}/{name}"
        data = with_front_matter(FrontMatter(trusted=False, source=move.source), without_sources(text)).encode()
        if len(data) > MEMORY_LIMIT_BYTES:
            why = phrase("{name} holds more than {count} MB", name=name, count=MEMORY_LIMIT_BYTES // 1_000_000)
            move.add(MoveItem("memory", name, Verdict.LEFT, (why,)))
            continue
        present = draft.text_of(target)
        draft.replace(target, data)
        verdict = Verdict.THERE if present is not None and present.encode() == data else Verdict.TAKEN
        move.add(MoveItem("memory", name, verdict, to=target))


class _Hints:
    """Collects what ChatGPT kept of a person, which its export has only within conversations.

    A message to the tool `bio` is something it was to remember; `model_editable_context` all that it remembered then;
    `user_editable_context` the instructions that a person wrote. The newest of the last two count.
    """

    def __init__(self) -> None:
        self._kept: dict[str, int] = {}
        self._whole: tuple[int, str] = (0, "")
        self._own: tuple[int, tuple[str, str]] = (0, ("", ""))

    def read(self, entry: Mapping[str, Any]) -> None:
        """Look through a conversation."""
        nodes = entry.get("mapping")
        begun = _ms(entry.get("create_time"))
        for node in [*nodes.values()][:TURNS_LIMIT] if isinstance(nodes, dict) else ():
            message = node.get("message") if isinstance(node, dict) else None
            content = message.get("content") if isinstance(message, dict) else None
            if not isinstance(message, dict) or not isinstance(content, dict):
                continue
            at = _ms(message.get("create_time")) or begun
            kind = content.get("content_type")
            if kind == "user_editable_context":
                self._own = max(self._own, (at, _instructions(message, content)))
            elif kind == "model_editable_context" and (text := _text(content.get("model_set_context"))):
                self._whole = max(self._whole, (at, text))
            elif message.get("recipient") == "bio":
                parts = content.get("parts")
                text = " ".join(filter(None, map(_text, parts if isinstance(parts, list) else [])))
                if text:
                    self._kept.setdefault(text, at)

    def files(self) -> dict[str, str]:
        """Return it as Markdown, by name."""
        since, whole = self._whole
        later = [text for text, at in sorted(self._kept.items(), key=lambda each: each[1]) if at >= since]
        lines = "\n".join(f"- {' '.join(each.split())}" for each in later)
        found: dict[str, str] = {}
        if whole or lines:
            body = "\n\n".join(filter(None, (whole, lines)))
            found["memories.md"] = f"# What ChatGPT remembered\n\n{body}\n"
        if any(self._own[1]):
            body = "\n\n".join(filter(None, self._own[1]))
            found["instructions.md"] = f"# What ChatGPT was told of its user, and how to answer\n\n{body}\n"
        return found


def _instructions(message: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a person wrote of themselves, and how to be answered."""
    about = message.get("metadata")
    written = about.get("user_context_message_data") if isinstance(about, dict) else None
    if isinstance(written, dict):
        return _text(written.get("about_user_message")), _text(written.get("about_model_message"))
    return _text(content.get("user_profile")), _text(content.get("user_instructions"))


def _files(path: Path, source: str) -> Iterator[tuple[str, bytes]]:
    if path.suffix.lower() == ".json":
        if path.stat().st_size > LIMIT_BYTES:
            raise _too_large(path.name)
        yield path.name, path.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()[:ENTRIES_LIMIT]
            if not any(_NAME.fullmatch(each.filename) for each in infos):
                raise InvalidRequest(phrase("there is no conversations.json in {name}", name=path.name))
            left = LIMIT_BYTES
            for info in infos:
                wanted = _NAME.fullmatch(info.filename) or (source == "claude" and _is_memory(info.filename))
                if not wanted:
                    continue
                with archive.open(info) as file:
                    data = file.read(left + 1)
                if len(data) > left:
                    raise _too_large(path.name)
                left -= len(data)
                yield info.filename, data
    except (*_DAMAGED, OSError) as error:
        raise InvalidRequest(
            phrase("{name} cannot be read as a .zip: {reason}", name=path.name, reason=str(error)[:200])
        ) from error


def _is_memory(name: str) -> bool:
    return is_export_name(name) and not _NAME.fullmatch(name)


def _too_large(name: str) -> LimitExceeded:
    return LimitExceeded(phrase("{name} holds more than {count} MB", name=name, count=LIMIT_BYTES // 1024 // 1024))


def _claude(entry: Mapping[str, Any], agent: str) -> Conversation | None:
    id, begun = _id(entry.get("uuid")), _ms(entry.get("created_at"))
    messages = []
    turns = entry.get("chat_messages")
    for each in turns[:TURNS_LIMIT] if isinstance(turns, list) else ():
        role = (
            {"human": Role.USER, "assistant": Role.ASSISTANT}.get(str(each.get("sender")))
            if isinstance(each, dict)
            else None
        )
        if role is None:
            continue
        blocks = each.get("content")
        texts = [
            block.get("text")
            for block in (blocks if isinstance(blocks, list) else [])
            if isinstance(block, dict) and block.get("type") == "text"
        ]
        said = _text(each.get("text")) or "\n\n".join(filter(None, map(_text, texts)))
        if said:
            messages.append(StagedMessage(role, said[:TEXT_LIMIT], _ms(each.get("created_at")) or begun))
    if not id or not messages:
        return None
    return Conversation(f"agent:{agent}:claude:{id}", agent, _text(entry.get("name")), tuple(messages))


def _chatgpt(entry: Mapping[str, Any], agent: str) -> Conversation | None:
    id, begun = _id(entry.get("conversation_id") or entry.get("id")), _ms(entry.get("create_time"))
    nodes = entry.get("mapping")
    nodes = nodes if isinstance(nodes, dict) else {}
    way: list[Mapping[str, Any]] = []
    at, seen = entry.get("current_node"), set()
    while isinstance(at, str) and at not in seen and isinstance(nodes.get(at), dict) and len(way) < TURNS_LIMIT:
        seen.add(at)
        way.append(nodes[at])
        at = nodes[at].get("parent")
    messages = [made for node in reversed(way) if (made := _turn(node.get("message"), begun)) is not None]
    if not id or not messages:
        return None
    return Conversation(f"agent:{agent}:chatgpt:{id}", agent, _text(entry.get("title")), tuple(messages))


def _turn(message: Any, begun: int) -> StagedMessage | None:
    """Return a node's message; None for what a person did not see as said."""
    if not isinstance(message, dict):
        return None
    author, content, about = (message.get(key) or {} for key in ("author", "content", "metadata"))
    if not all(isinstance(each, dict) for each in (author, content, about)):
        return None
    role = {"user": Role.USER, "assistant": Role.ASSISTANT}.get(str(author.get("role")))
    hidden = about.get("is_visually_hidden_from_conversation") or message.get("recipient") not in (None, "all")
    if role is None or hidden or content.get("content_type") not in ("text", "multimodal_text"):
        return None
    parts = content.get("parts")
    said = "\n\n".join(filter(None, map(_text, parts if isinstance(parts, list) else [])))
    if not said:
        return None
    model = about.get("model_slug") if role is Role.ASSISTANT else None
    return StagedMessage(
        role, said[:TEXT_LIMIT], _ms(message.get("create_time")) or begun, model if isinstance(model, str) else None
    )


def _id(value: Any) -> str:
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def _text(value: Any) -> str:
    return value.replace("\x00", "").encode("utf-8", "replace").decode().strip() if isinstance(value, str) else ""


def _ms(value: Any) -> int:
    """Return milliseconds of a time in seconds or ISO 8601; 0 for none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e11:
        return int(value * 1_000)
    try:
        return int(datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp() * 1_000)
    except ValueError:
        return 0
