"""kill -9 in the middle of turns, again and again: nothing acknowledged is lost, nothing is done twice."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from subprocess import PIPE

import pytest

from hub.models.contract import Role
from hub.storage.homedir import Home
from tests.databases import rows_of
from tests.lengths import rounds
from tests.servers.forked import ForkedProcess
from tests.servers.openai_server import OpenAIServer
from tests.transcripts import BOTH, stored_transcript

KILLS = rounds(12, 6)
SESSIONS = ("agent:main:main", "agent:main:webchat:direct:b")


class Process:
    """The child, fed line by line."""

    def __init__(self, home: Path, base_url: str, form: str) -> None:
        self._process = ForkedProcess("tests.agent.child", str(home), base_url, form, stdin=PIPE, stdout=PIPE)
        assert self.read() == "ready"

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def write(self, data: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(data) + "\n")

    def ask(self, run_id: str, text: str, session: str) -> None:
        self.write({"run_id": run_id, "text": text, "session": session})
        assert self.read() == f"accepted {run_id}"

    def kill(self) -> None:
        self._process.kill()
        self._close()

    def stop(self) -> int:
        self.write({"stop": True})
        return self._close()

    def _close(self) -> int:
        code = self._process.wait(timeout=60)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return code


@pytest.mark.slow
@BOTH
def test_every_message_is_answered_once_or_called_interrupted(
    tmp_path: Path, openai_server: OpenAIServer, form: str
) -> None:
    call = {"tool_call": {"name": "change", "arguments": {}}}
    look = {"tool_call": {"name": "look", "arguments": {}}}
    openai_server.rule("change", [{"text": "I will. ", "chunks": 3}, call])
    openai_server.rule("look", [{"delay_s": 0.005}, look])
    openai_server.rule(".", [{"text": "It is done, all of it.", "chunks": 4}], tool_result=".")
    chance = random.Random(20261121)
    asked: list[str] = []

    for round_ in range(KILLS):
        child = Process(tmp_path / "home", openai_server.base_url, form)
        for number, text in enumerate(("please change it", "please look", "hello", "look and wait")):
            asked.append(f"r{round_}-{number}")
            child.ask(asked[-1], text, SESSIONS[number % 2])
        time.sleep(chance.uniform(0, 0.08))
        child.kill()
    last = Process(tmp_path / "home", openai_server.base_url, form)
    code = last.stop()

    assert code == 0
    database = tmp_path / "home" / ".storage" / "hub.db"
    meta = dict(rows_of(database, "SELECT key, value FROM meta"))
    rows = dict(rows_of(database, "SELECT id, state FROM runs"))
    ends = {id: [kind for kind in ("reply", "interrupted") if f"{kind}:{id}" in meta] for id in asked}
    assert {id: kinds for id, kinds in ends.items() if len(kinds) != 1} == {}, rows
    assert set(rows) == set(asked)
    assert set(rows.values()) <= {"answered", "interrupted"}
    assert all(rows[id] == ("answered" if kinds == ["reply"] else "interrupted") for id, kinds in ends.items())
    effects = Counter((tmp_path / "home" / "effects").read_text().split())
    assert set(effects.values()) <= {1}
    assert all(id in effects for id, kinds in ends.items() if id.endswith("-0") and kinds == ["reply"])
    check_transcripts(Home(tmp_path / "home"), form)


def check_transcripts(home: Home, form: str) -> None:
    """Every tool call has one result, every user's words stand there once, and no line was lost but a torn one."""
    ids = [row[0] for row in rows_of(home.hub_db, "SELECT session_id FROM sessions")]
    assert len(ids) == len(SESSIONS)
    for session_id in ids:
        reading = stored_transcript(home, form, "main", session_id)
        assert reading.entries
        assert not reading.damaged
        calls: Counter[str] = Counter()
        results: Counter[str] = Counter()
        for entry in reading.entries:
            assert entry.message is not None or entry.data.get("name")
            if entry.message is None:
                continue
            calls.update(call.id for call in entry.message.tool_calls)
            if entry.message.role is Role.TOOL:
                results[entry.message.tool_call_id or ""] += 1
        assert calls == results
        heard = [entry.run_id for entry in reading.entries if entry.message and entry.message.role is Role.USER]
        assert len(heard) == len(set(heard))
