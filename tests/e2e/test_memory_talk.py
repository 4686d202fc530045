"""Memory in a conversation: remembered, recalled a year later, looked up, forgotten, and kept when it starts over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.memories import Memories, talking
from tests.e2e.talk import ask, chat, query, until
from tests.servers.openai_server import OpenAIServer

BOILER = "Kessler serviced the boiler and replaced the pump"
ANNA = "Anna is allergic to peanuts"
LATER = "memory/2025-05-12.md"
FLUSHES = "SELECT wanted_ms, plan FROM memory_flushes"
ASKED = "Take notes of this conversation"
NOTES = {"slug": "garden", "title": "Garden", "points": ["The zebrafish pond needs a filter"]}


@pytest.fixture
def home(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[Memories]:
    with talking(tmp_path / "home", openai_server) as home:
        yield home


def tool(home: Memories, openai_server: OpenAIServer, name: str, **arguments: Any) -> str:
    """Let the model call a tool, and return the result it saw."""
    openai_server.queue({"tool_call": {"name": name, "arguments": arguments}}, "Done.")
    ask(home.hub, "Please do what I want")
    last = openai_server.requests()[-1]["body"]["messages"][-1]
    assert last["role"] == "tool", last
    return str(last["content"])


def said_to_model(openai_server: OpenAIServer) -> str:
    """All that the model was shown last, the system prompt left out."""
    return json.dumps(openai_server.requests()[-1]["body"]["messages"][1:], ensure_ascii=False)


def let_days_pass(home: Memories) -> None:
    """Let what was written today be of long ago, and the conversation of then be over."""
    home.hub.stop()
    for file in (home.workspace / "memory").glob("2*.md"):
        text = file.read_text()
        file.unlink()
        home.write(LATER, text.replace(file.stem, LATER[7:-3]))
    home.hub.start()
    begin_anew(home)


def begin_anew(home: Memories) -> None:
    """Let a conversation be over, and what was said in it be kept: its notes are asked of the model too."""
    known = len(query(home.hub, FLUSHES))
    home.hub.rpc("sessions.reset", {"key": "main"})
    until(lambda: (rows := query(home.hub, FLUSHES)) and len(rows) > known and set(rows) == {(None, None)})


def test_what_is_remembered_is_recalled_before_a_turn_of_a_later_day(
    home: Memories, openai_server: OpenAIServer
) -> None:
    told = tool(home, openai_server, "remember", text=BOILER)
    let_days_pass(home)
    home.until_found("boiler", LATER, by="vectors:exact")

    ask(home.hub, "Who was it that serviced the boiler?")

    assert told.startswith("remembered in memory/")
    system = openai_server.requests()[-1]["body"]["messages"][0]["content"]
    assert BOILER not in system
    assert BOILER in said_to_model(openai_server)
    assert f"{LATER}, line" in said_to_model(openai_server)
    before = len(openai_server.requests())
    ask(home.hub, "And who serviced the boiler before?")
    assert said_to_model(openai_server).count(BOILER) == 1
    assert len(openai_server.requests()) == before + 1


def test_the_tool_searches_with_filters_and_reads_the_place_it_named(
    home: Memories, openai_server: OpenAIServer
) -> None:
    home.hub.rpc("memory.add", {"text": BOILER})
    home.hub.rpc("memory.add", {"text": ANNA, "kind": "person"})
    home.until_found("peanuts", "MEMORY.md", by="vectors:exact")

    everything = json.loads(tool(home, openai_server, "memory_search", query="boiler peanuts"))
    people = json.loads(tool(home, openai_server, "memory_search", query="boiler peanuts", kind="person"))
    nobody = json.loads(tool(home, openai_server, "memory_search", query="boiler peanuts", person="anna"))

    assert {hit["text"] for hit in everything["hits"]} == {BOILER, ANNA}
    assert [hit["text"] for hit in people["hits"]] == [ANNA]
    assert nobody["hits"] == []
    [hit] = people["hits"]
    shown = tool(home, openai_server, "memory_get", path=hit["path"], start=hit["lines"][0], lines=1)
    assert ANNA in shown


def test_what_is_forgotten_in_a_conversation_is_found_and_recalled_no_more(
    home: Memories, openai_server: OpenAIServer
) -> None:
    tool(home, openai_server, "remember", text=BOILER)
    let_days_pass(home)
    home.until_found("boiler", LATER, by="vectors:exact")

    forgotten = json.loads(tool(home, openai_server, "forget", query="boiler pump"))
    begin_anew(home)
    ask(home.hub, "Who was it that serviced the boiler?")

    assert forgotten["count"] == 1
    assert BOILER not in said_to_model(openai_server)
    assert BOILER not in str(home.search("boiler pump Kessler")["hits"])
    assert BOILER.encode() not in b"".join(home.texts().values())


def test_a_conversation_that_begins_anew_leaves_notes_that_are_found(
    home: Memories, openai_server: OpenAIServer
) -> None:
    openai_server.rule(ASKED, json.dumps(NOTES))
    ask(home.hub, "We want to keep zebrafish in the garden")

    chat(home.hub, "/new")

    [path] = until(lambda: [name for name in home.texts() if name.endswith("-garden.md")])
    found = home.until_found("zebrafish filter", path, by="vectors:exact")
    assert found["hits"][0]["text"].startswith(("The zebrafish", "- The zebrafish"))
    assert home.until_whole()["files"] == len(home.texts())


def test_a_remark_on_what_was_wished_for_brings_the_reminder_once(home: Memories, openai_server: OpenAIServer) -> None:
    tool(home, openai_server, "standing_intent", action="add", topic="peanuts", remind="Anna is allergic")

    ask(home.hub, "I bought peanuts today", session="other")
    first = said_to_model(openai_server)
    ask(home.hub, "Peanuts again", session="third")

    assert "> Anna is allergic" in first
    assert "Anna is allergic" not in said_to_model(openai_server)


def test_what_is_asked_before_the_index_is_there_is_recalled_from_the_files(
    home: Memories, openai_server: OpenAIServer
) -> None:
    home.hub.stop()
    home.write(LATER, f"# A day\n\n- {BOILER}\n")
    home.hub.start()

    ask(home.hub, "Who was it that serviced the boiler?")

    assert BOILER in said_to_model(openai_server)
