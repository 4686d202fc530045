"""`homarus chat --incognito`: a conversation of its own, whose words are deleted when the chat ends."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hub.storage.homedir import Home
from tests.cli.person import Person
from tests.cli.terminal import Terminal
from tests.servers.hub_process import HubProcess

LIMIT_S = 20.0


def test_an_incognito_message_leaves_no_words(hub: HubProcess, ask: Terminal) -> None:
    ran = ask("chat", "--incognito", "where does the numbat sleep?", "--json")

    assert "nothing in memory" in ran.json["reply"]
    assert "incognito-" in ran.json["session_key"]
    assert ran.json["session_key"] not in ask("sessions", "list").out
    assert is_forgotten(hub.home, "numbat")


@pytest.mark.parametrize("end", [b"/quit\r", signal.SIGHUP])
def test_an_incognito_conversation_ends_with_the_chat(hub: HubProcess, ask: Terminal, end: bytes | int) -> None:
    person = Person("chat", "--incognito", "--config", str(hub.home))
    person.wait_for("> ")
    person.press(b"where does the bilby sleep?\r")
    person.wait_for("nothing in memory")
    assert "incognito-" in ask("sessions", "list").out

    person.press(end) if isinstance(end, bytes) else person.signal(end)

    person.leave()
    assert "incognito-" not in ask("sessions", "list").out
    assert is_forgotten(hub.home, "bilby")


def test_an_incognito_conversation_is_a_new_one(ask: Terminal) -> None:
    ran = ask("chat", "--incognito", "--session", "main", "hello")

    assert (ran.code, "Leave out --session" in ran.err) == (2, True)


def is_forgotten(home: Path, word: str) -> bool:
    """Wait until the word is neither in a file of the home nor in a row of the hub's database."""
    deadline = time.monotonic() + LIMIT_S
    while found := words_in(home, word):
        if time.monotonic() > deadline:
            raise AssertionError(found)
        time.sleep(0.05)
    return True


def words_in(home: Path, word: str) -> list[str]:
    with sqlite3.connect(f"file:{Home(home).hub_db}?mode=ro", uri=True) as db:
        found = [line for line in db.iterdump() if word in line]
    for folder, _, names in os.walk(home):
        for path in (Path(folder, name) for name in names if ".db" not in name):
            with suppress(OSError):  # it was deleted just now, or is a socket
                found += [str(path)] if word.encode() in path.read_bytes() else []
    return found
