"""The exports of Claude and ChatGPT: their conversations, out of the .zip or its conversations.json.

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

import orjson

from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.phrases import phrase
from hub.migrate.conversations import TEXT_LIMIT, Conversation, StagedMessage, add_conversations
from hub.migrate.plan import Move
from hub.models.contract import Role

LIMIT_BYTES = 256 * 1024 * 1024
ENTRIES_LIMIT = 20_000
TURNS_LIMIT = 20_000
_NAME = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_DAMAGED = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError)


def plan_chats(source: str, path: Path, agent: str, stage: Path | None) -> Move:
    """Return the plan of bringing an export's conversations over, each archived.

    Args:
        source: `claude` or `chatgpt`.
        path: The .zip, or a conversations.json.
        agent: Whose conversations they become.
        stage: A folder for their messages; None to count them only.

    Raises:
        NotFound: There is no such file.
        InvalidRequest: It is not such an export, or damaged.
        LimitExceeded: It is too large.
    """
    if not path.is_file():
        raise NotFound(
            phrase("there is no file {path}; name the .zip that came by mail, or its conversations.json", path=path)
        )
    move = Move(source, str(path))
    read = _claude if source == "claude" else _chatgpt
    for name, data in _files(path):
        try:
            found = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
        except ValueError as error:
            raise InvalidRequest(phrase("{name} is not JSON: {reason}", name=name, reason=str(error)[:200])) from error
        entries = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        key = "chat_messages" if source == "claude" else "mapping"
        if not entries or not any(key in each for each in entries):
            told = phrase("{name} holds no conversations of {source}", name=name, source=source)
            raise InvalidRequest(told)
        add_conversations(move, (made for each in entries if (made := read(each, agent)) is not None), stage)
    if source == "claude":
        told = phrase("What Claude remembers of you comes by: homarus memory import {path} --from claude", path=path)
        move.notes.append(told)
    return move


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix.lower() == ".json":
        if path.stat().st_size > LIMIT_BYTES:
            raise _too_large(path.name)
        yield path.name, path.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [each for each in archive.infolist()[:ENTRIES_LIMIT] if _NAME.fullmatch(each.filename)]
            if not infos:
                raise InvalidRequest(phrase("there is no conversations.json in {name}", name=path.name))
            left = LIMIT_BYTES
            for info in infos:
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
