"""Remembering in a whole hub: recall before a message, the flush of a conversation, and standing reminders."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import BY_WORD, MODELS, make_home
from tests.e2e.talk import ask, chat, messages_of, query, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer

BOILER = "The boiler was serviced by Kessler on 12 May 2025"
QUESTION = "When was the boiler serviced?"
GROUP = "agent:main:telegram:group:-100"
ANNAS = "agent:main:telegram:direct:555"
ASKED = "Take notes of this conversation"
NOTES = {"slug": "boiler", "title": "Boiler", "points": ["Kessler serviced the boiler"]}
PEOPLE = """
people:
  - {id: me, name: Me, owner: true}
  - {id: anna, name: Anna, identities: ["telegram:user:555"]}
"""


@pytest.fixture
def hub(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[HubProcess]:
    models = MODELS.format(base_url=openai_server.base_url).replace(BY_WORD, f"{BY_WORD}, recall: {{timeout: 10}}")
    home = make_home(tmp_path / "home", models + PEOPLE)
    with HubProcess(home) as process:
        yield process


def remember(hub: HubProcess, path: str, text: str) -> None:
    """Write a memory file beside the hub."""
    file = hub.home / "workspace" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def shown(openai_server: OpenAIServer) -> str:
    """All that the model was shown last, the system prompt left out."""
    return json.dumps(openai_server.requests()[-1]["body"]["messages"][1:], ensure_ascii=False)


def events(hub: HubProcess, type: str) -> list[dict[str, Any]]:
    """What the history has of one type of event."""
    with sqlite3.connect(f"file:{hub.home / '.storage' / 'history.db'}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT data FROM events WHERE type = ? ORDER BY rowid", (type,)).fetchall()
    return [json.loads(row[0]) for row in rows]


def notes(hub: HubProcess, *folders: str) -> list[str]:
    """Texts of the memory files that tell of a boiler, in a folder of the memory."""
    found = (hub.home / "workspace" / "memory").joinpath(*folders).glob("*boiler*.md")
    return [file.read_text() for file in sorted(found)]


def test_what_is_remembered_is_told_to_the_model_and_shown_in_the_history(
    hub: HubProcess, openai_server: OpenAIServer
) -> None:
    remember(hub, "memory/2025-05-12.md", f"# 2025-05-12\n\n- {BOILER}\n")

    ask(hub, QUESTION, run_id="r1")

    assert "Kessler" in shown(openai_server)
    [told] = until(lambda: events(hub, "memory_recalled"))
    assert told["run_id"] == "r1"
    assert told["hits"][0]["path"] == "memory/2025-05-12.md"
    assert "Kessler" not in json.dumps(told)
    assert not hub.rpc("sessions.get", {"key": "main"})["session"]["tainted"]


def test_an_owners_memory_is_told_in_no_group_and_in_no_other_persons_conversation(
    hub: HubProcess, openai_server: OpenAIServer
) -> None:
    remember(hub, "memory/2025-05-12.md", f"# 2025-05-12\n\n- {BOILER}\n")

    for session in (GROUP, ANNAS):
        ask(hub, QUESTION, session=session)

        assert "Kessler" not in shown(openai_server)


def test_new_greets_and_keeps_what_was_said(hub: HubProcess, openai_server: OpenAIServer) -> None:
    openai_server.rule(ASKED, json.dumps(NOTES))
    ask(hub, "The boiler was serviced by Kessler today")

    answer = chat(hub, "/new")

    assert answer["reply"] == "ok"
    [text] = until(lambda: notes(hub))
    assert "Kessler serviced the boiler" in text
    assert "Kessler" not in json.dumps(messages_of(hub))


def test_a_reset_from_the_gateway_keeps_it_too_and_a_full_stop_loses_nothing(
    hub: HubProcess, openai_server: OpenAIServer
) -> None:
    ask(hub, "The boiler was serviced by Kessler today")
    openai_server.queue([{"hold": "never"}])
    hub.rpc("sessions.reset", {"key": "main"})
    until(lambda: ASKED in json.dumps(openai_server.requests()[-1]["body"]["messages"]))
    hub.kill()
    openai_server.rule(ASKED, json.dumps(NOTES))

    hub.start()

    assert len(until(lambda: notes(hub))) == 1
    until(lambda: query(hub, "SELECT wanted_ms, plan FROM memory_flushes") == [(None, None)])
    assert len(notes(hub)) == 1


def test_without_a_model_the_last_that_was_said_is_kept(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", f"models: {{default: offline}}\nmemory: {{{BY_WORD}}}\n")
    with HubProcess(home) as hub:
        chat(hub, "the boiler makes noises")
        chat(hub, "/new")

        [text] = until(lambda: notes(hub))

    assert "the boiler makes noises" in text


def test_a_group_keeps_its_own_notes(hub: HubProcess, openai_server: OpenAIServer) -> None:
    openai_server.rule(ASKED, json.dumps(NOTES))
    ask(hub, "The boiler was serviced by Kessler today", session=GROUP)

    flushed = hub.rpc("service.call", {"service": "memory.flush", "data": {"session_key": GROUP}, "response": True})

    assert "memory/groups/" in json.dumps(flushed)
    assert notes(hub) == []


def test_a_standing_reminder_is_told_once_also_behind_a_restart(hub: HubProcess, openai_server: OpenAIServer) -> None:
    wish = {"action": "add", "topic": "boiler", "remind": "Ask about the warranty"}
    openai_server.queue([{"tool_call": {"name": "standing_intent", "arguments": wish, "id": "a"}}], "Noted.")
    ask(hub, "When I mention the boiler, remind me to ask about the warranty")
    hub.stop()
    hub.start()

    ask(hub, "the boilers are loud", session="other")
    first = shown(openai_server)
    ask(hub, "boiler again", session="third")

    assert "> Ask about the warranty" in first
    assert "warranty" not in shown(openai_server)
    assert len(until(lambda: events(hub, "standing_intent_fired"))) == 1
