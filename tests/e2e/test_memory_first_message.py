"""The first message gets its recall: of a hub that just started, and of one whose index is not there."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.memories import Memories, talking
from tests.e2e.talk import ask, until
from tests.servers.openai_server import OpenAIServer

BOILER = "Kessler serviced the boiler and replaced the pump"
DAY = "memory/2025-05-12.md"
ASKED = "Who was it that serviced the boiler?"


@pytest.fixture
def home(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[Memories]:
    source = "  _fact · 2025-05-12 10:00 · from me in `agent:main:main`_\n"
    with talking(tmp_path / "home", openai_server, {DAY: f"# 2025-05-12\n\n- {BOILER}\n{source}"}) as home:
        yield home


def recalled(home: Memories) -> dict[str, Any]:
    """What was put before the last message of the conversation, as its trace tells it."""
    entries = home.hub.rpc("sessions.transcript", {"key": "main"})["entries"]
    [found] = [each["data"] for each in entries if (each.get("data") or {}).get("channel") == "memory"]
    return dict(found)


def test_the_first_message_of_a_hub_that_just_started_is_recalled_for(
    home: Memories, openai_server: OpenAIServer
) -> None:
    ask(home.hub, ASKED)

    assert BOILER in json.dumps(openai_server.requests()[-1]["body"]["messages"][1:])
    told = recalled(home)
    assert [hit["path"] for hit in told["hits"]] == [DAY]
    assert told["engines"] != []


def test_a_message_to_a_memory_whose_index_is_gone_is_recalled_for_and_brings_the_index_back(
    home: Memories, openai_server: OpenAIServer
) -> None:
    home.until_found("boiler", DAY, by="vectors:exact")
    worker = home.worker()
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    until(lambda: "it is started again when it is needed" in home.hub.log.read_text())

    ask(home.hub, ASKED)

    assert BOILER in json.dumps(openai_server.requests()[-1]["body"]["messages"][1:])
    assert [hit["path"] for hit in recalled(home)["hits"]] == [DAY]
    until(home.worker)
