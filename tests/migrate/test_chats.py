"""Exports of Claude and ChatGPT: which of their words come, and what is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hub.cli.configured import sections_of
from hub.core.errors import HubError
from hub.memory.front_matter import holds_outside_words
from hub.migrate import chats
from hub.migrate.draft import Draft
from hub.migrate.plan import Move, Verdict
from tests.migrate.homes import new_home

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


def plan_chats(source: str, path: Path, agent: str, stage: Path | None) -> Move:
    """Return the plan for a home that lies beside the export."""
    home = path.parent / "home"
    home = home if home.exists() else new_home(home)
    return chats.plan_chats(source, path, Draft(home, sections_of(home), source), agent, stage)


def memory_of(move: Move) -> dict[str, str]:
    return {each.name.removeprefix("workspace/memory/imported/"): each.data.decode() for each in move.changes.files}


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


def test_what_claude_remembers_comes_as_memory_that_is_not_trusted(tmp_path: Path) -> None:
    path = exported(tmp_path / "x.zip", "data/conversations.json", CLAUDE)
    with zipfile.ZipFile(path, "a") as archive:
        kept = {"conversations_memory": "Ada drinks tea.", "project_memories": {"p1": "The boat is red."}}
        archive.writestr("data/memories/acct.json", json.dumps(kept))
        archive.writestr("data/projects/p1.json", json.dumps({"name": "Boat", "prompt_template": "Be brief."}))
        archive.writestr("data/projects/p2.json", "{")
        archive.writestr("data/users.json", json.dumps([{"email_address": "ada@example.org"}]))
    move = plan_chats("claude", path, "main", None)

    found = memory_of(move)
    assert sorted(found) == ["claude/memories.md", "claude/projects/boat.md", "claude/projects/p1-memory.md"]
    assert "Ada drinks tea." in found["claude/memories.md"]
    assert all(holds_outside_words(each) for each in found.values())
    (broken,) = [each for each in move.items if each.verdict is Verdict.REFUSED]
    assert broken.file == "data/projects/p2.json"
    assert len(move.changes.sessions) == 1


def test_what_chatgpt_was_to_remember_comes_out_of_its_conversations(tmp_path: Path) -> None:
    def kept(id: str, seconds: int, content: dict[str, Any], **more: Any) -> dict[str, Any]:
        message = {"author": {"role": "assistant"}, "content": content, "create_time": seconds, **more}
        return {"id": id, "parent": "d", "message": message}

    def text(words: str) -> dict[str, Any]:
        return {"content_type": "text", "parts": [words]}

    about = {"user_context_message_data": {"about_user_message": "I sail.", "about_model_message": "Be brief."}}
    more = {
        "m1": kept("m1", 1_770_000_100, text("Ada has a boat."), recipient="bio"),
        "m2": kept("m2", 1_770_000_300, text("The boat is red."), recipient="bio"),
        "m3": kept("m3", 1_770_000_200, {"content_type": "model_editable_context", "model_set_context": "1. A boat."}),
        "m4": kept("m4", 1_770_000_100, {"content_type": "user_editable_context", "user_profile": "old"}),
        "m5": kept("m5", 1_770_000_200, {"content_type": "user_editable_context"}, metadata=about),
    }
    mapping: Any = CHATGPT[0]["mapping"]
    entry = {**CHATGPT[0], "mapping": {**mapping, **more}}
    found = memory_of(plan_chats("chatgpt", exported(tmp_path / "x.zip", "conversations.json", [entry]), "main", None))

    assert found["chatgpt/memories.md"].endswith("\n\n1. A boat.\n\n- The boat is red.\n"), "what the whole has, once"
    assert found["chatgpt/instructions.md"].endswith("I sail.\n\nBe brief.\n")


def test_again_with_an_agent_that_is_not_there_or_the_same_memory(tmp_path: Path) -> None:
    path = exported(tmp_path / "x.zip", "conversations.json", CLAUDE)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("memories.json", json.dumps([{"conversations_memory": "Ada drinks tea."}]))
    (file,) = plan_chats("claude", path, "main", None).changes.files
    (tmp_path / "home" / file.name).parent.mkdir(parents=True)
    (tmp_path / "home" / file.name).write_bytes(file.data)

    again = plan_chats("claude", path, "main", None)

    assert again.changes.files == []
    assert [each.verdict for each in again.items if each.kind == "memory"] == [Verdict.THERE]
    with pytest.raises(HubError, match="no agent"):
        plan_chats("claude", path, "nobody", None)
