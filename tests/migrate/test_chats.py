"""Exports of Claude and ChatGPT: which of their words come, and what is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from hub.migrate.chats import plan_chats

CLAUDE = [
    {
        "uuid": "c1",
        "name": "Tea",
        "created_at": "2026-05-01T08:00:00Z",
        "chat_messages": [
            {"sender": "human", "text": "Which tea?", "created_at": "2026-05-01T08:00:00Z"},
            {"sender": "assistant", "text": "", "content": [{"type": "text", "text": "Green."}, {"type": "tool_use"}]},
        ],
    },
    {"uuid": "../c2", "name": "Bad id", "chat_messages": [{"sender": "human", "text": "x"}]},
    {"uuid": "c3", "name": "Empty", "chat_messages": []},
]


def node(id: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text, {"asset_pointer": "file"}]}
    return {
        "id": id,
        "parent": parent,
        "message": {"author": {"role": role}, "content": content, "create_time": 1_770_000_000.5, **more},
    }


CHATGPT = [
    {
        "conversation_id": "g1",
        "title": "Boats",
        "create_time": 1_770_000_000,
        "current_node": "d",
        "mapping": {
            "a": {"id": "a", "parent": None, "message": None},
            "s": node("s", "a", "system", "hidden"),
            "b": node("b", "s", "user", "What floats?"),
            "x": node("x", "b", "assistant", "An answer that was regenerated"),
            "c": node("c", "b", "assistant", "A thought", metadata={"is_visually_hidden_from_conversation": True}),
            "d": node("d", "c", "assistant", "Wood.", metadata={"model_slug": "gpt-5"}),
        },
    }
]


def exported(path: Path, name: str, data: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, json.dumps(data))
        archive.writestr("../../outside.json", "[]")
    return path


def lines(folder: Path, file: str) -> list[tuple[str, str]]:
    found = [json.loads(line) for line in (folder / file).read_text().splitlines()]
    return [(each["role"], each["text"]) for each in found]


def test_the_conversations_of_claude_come(tmp_path: Path) -> None:
    move = plan_chats("claude", exported(tmp_path / "x.zip", "conversations.json", CLAUDE), "main", tmp_path)

    (session,) = move.changes.sessions
    assert (session.key, session.title, session.archived) == ("agent:main:claude:c1", "Tea", True)
    assert lines(tmp_path, session.file) == [("user", "Which tea?"), ("assistant", "Green.")]
    assert not (tmp_path.parent / "outside.json").exists()


def test_the_branch_of_chatgpt_that_is_shown_comes(tmp_path: Path) -> None:
    move = plan_chats("chatgpt", exported(tmp_path / "x.zip", "export/conversations.json", CHATGPT), "main", tmp_path)

    (session,) = move.changes.sessions
    assert session.key == "agent:main:chatgpt:g1"
    assert lines(tmp_path, session.file) == [("user", "What floats?"), ("assistant", "Wood.")]


def test_a_loop_in_a_conversation_ends(tmp_path: Path) -> None:
    entry = {**CHATGPT[0], "mapping": {"d": node("d", "e", "user", "one"), "e": node("e", "d", "user", "two")}}
    move = plan_chats("chatgpt", exported(tmp_path / "x.zip", "conversations.json", [entry]), "main", None)
    assert len(move.changes.sessions) == 1


@pytest.mark.parametrize(
    ("source", "name", "content", "told"),
    [
        ("claude", "x.zip", b"no archive", "cannot be read as a .zip"),
        ("claude", "conversations.json", b"{", "is not JSON"),
        ("claude", "conversations.json", json.dumps(CHATGPT).encode(), "no conversations of claude"),
        ("chatgpt", "conversations.json", json.dumps(CLAUDE).encode(), "no conversations of chatgpt"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, source: str, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HubError, match=told):
        plan_chats(source, tmp_path / name, "main", None)


def test_an_archive_without_conversations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HubError, match=r"no conversations\.json"):
        plan_chats("claude", exported(tmp_path / "x.zip", "users.json", []), "main", None)
