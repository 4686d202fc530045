"""The plan of moving in from an OpenClaw, and what it writes."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hub.cli.configured import check_home, sections_of
from hub.core.errors import HubError
from hub.migrate.openclaw.moving import plan_openclaw
from hub.migrate.plan import Move, MoveItem, Verdict
from tests.migrate.homes import new_home

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CONFIGURATION = """\
{
  // JSON5, as it writes it
  env: { vars: { OPENROUTER_API_KEY: 'sk-or-1' } },
  agents: {
    defaults: {
      workspace: "~/.openclaw/workspace",
      model: { primary: "anthropic/claude-sonnet-5-5", fallbacks: ["google/gemini-3.8-flash"] },
    },
    entries: {
      main: { identity: { name: "Clawd" } },
      work: {
        model: "mine/qwen3", identity: { name: "Work", emoji: "🦞" }, workspace: "/home/ada/.openclaw/workspace-work",
      },
    },
  },
  channels: { $include: "./channels.json5", },
  bindings: [
    { agentId: "work", match: { channel: "telegram", peer: { kind: "dm", id: "5" } } },
    { agentId: "work", match: { channel: "whatsapp" } },
  ],
  models: { providers: { mine: {
    baseUrl: "http://127.0.0.1:8000/v1", apiKey: "${MISSING}", models: [{ id: "qwen3", contextWindow: 32768 }] } } },
  hooks: { mappings: [{ id: "gmail" }] },
}
"""
CHANNELS = """\
{
  telegram: {
    botToken: "123456:ABCDEFGHIJK", dmPolicy: "allowlist", allowFrom: ["tg:111", "@ada", "*"],
    groups: { "-100": { requireMention: true } },
  },
  whatsapp: { allowFrom: ["+15550001"] },
}
"""
JOBS = [
    {
        "id": "j1",
        "name": "Morning",
        "schedule": {"kind": "cron", "expr": "0 7 * * 1-5", "tz": "Europe/Berlin"},
        "sessionTarget": "isolated",
        "payload": {"kind": "agentTurn", "message": "What is up {{today}}?"},
        "delivery": {"mode": "announce", "channel": "telegram", "to": "111"},
    },
    {
        "id": "j2",
        "name": "Look",
        "schedule": {"kind": "every", "everyMs": 7_200_000},
        "sessionTarget": "main",
        "payload": {"kind": "systemEvent", "text": "look around"},
    },
    {
        "id": "j3",
        "name": "Old",
        "schedule": {"kind": "at", "at": "2020-01-01T00:00:00Z"},
        "payload": {"kind": "agentTurn", "message": "x"},
    },
    {
        "id": "j4",
        "name": "Shell",
        "schedule": {"kind": "every", "everyMs": 60_000},
        "payload": {"kind": "command", "command": "ls"},
    },
]


def openclaw(folder: Path) -> Path:
    """Return a folder with the shapes of 2026.9.6."""
    for name, text in {
        "openclaw.json": CONFIGURATION,
        "channels.json5": CHANNELS,
        "workspace/SOUL.md": "Be kind.\n",
        "workspace/MEMORY.md": "- The boiler is serviced in May.\n",
        "workspace/memory/2026-05-12.md": "- Bought tea.\n",
        "workspace/skills/tea/SKILL.md": "---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n",
        "workspace/skills/tea/.secret": "hidden",
        "workspace-work/AGENTS.md": "Work rules.\n",
        "agents/main/sessions/s1.jsonl": "".join(
            json.dumps(each) + "\n"
            for each in (
                {"type": "session", "id": "s1"},
                {
                    "type": "message",
                    "timestamp": "2026-05-01T08:00:00Z",
                    "message": {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
                },
                {
                    "type": "message",
                    "timestamp": "2026-05-01T08:00:02Z",
                    "message": {
                        "role": "assistant",
                        "content": [{"type": "text", "text": "Hi"}, {"type": "toolCall", "id": "x"}],
                    },
                },
            )
        ),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "state").mkdir()
    with sqlite3.connect(folder / "state" / "openclaw.sqlite") as database:
        database.execute("create table config_machine_state (state_key text, value_json text, updated_at_ms integer)")
        profiles = {"anthropic:default": {"type": "api_key", "provider": "anthropic", "key": "sk-ant-1"}}
        store = json.dumps({"version": 1, "profiles": profiles})
        database.execute("insert into config_machine_state values ('authProfiles.store', ?, 1)", (store,))
        database.execute("create table cron_jobs (job_id text, job_json text, enabled integer, sort_order integer)")
        rows = [(each["id"], json.dumps(each), int(each["id"] != "j2"), number) for number, each in enumerate(JOBS)]
        database.executemany("insert into cron_jobs values (?, ?, ?, ?)", rows)
        database.execute("create table channel_pairing_allow_entries (channel_key, account_id, entry, sort_order)")
        database.execute("insert into channel_pairing_allow_entries values ('telegram', 'default', '222', 0)")
        database.execute("create table device_pairing_paired (display_name text, platform text)")
        database.execute("insert into device_pairing_paired values ('My phone', 'ios')")
    database.close()
    return folder


def in_database(folder: Path, agent: str, *, packed: bool) -> None:
    """Put a conversation into an agent's database, as 2026.9 keeps it: with a branch that is not shown."""
    path = folder / "agents" / agent / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    said = [("user", "Which tea?"), ("assistant", "An answer that was taken back"), ("assistant", "Green. " * 400)]
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "create table session_nodes (session_key text, label text, display_name text);"
            "create table session_windows (session_id text, session_key text, display_name text, created_at integer);"
            "create table transcript_events (session_id text, seq integer, event_json text, event_zstd blob);"
            "create table session_transcript_active_events (session_id text, active_position integer, event_seq int);"
            "insert into session_nodes values ('agent:main:main', 'Tea time', null);"
            "insert into session_windows values ('db-1', 'agent:main:main', null, 1);"
        )
        for seq, (role, text) in enumerate(said):
            content: Any = text if role == "user" else [{"type": "text", "text": text}]
            event = {"type": "message", "timestamp": f"2026-05-01T08:00:0{seq}Z", "message": {"role": role}}
            line = json.dumps({**event, "message": {"role": role, "content": content, "model": "m"}})
            large = packed and len(line) >= 1_024
            row = (None, zstd.compress(line.encode())) if large else (line, None)
            database.execute("insert into transcript_events values ('db-1', ?, ?, ?)", (seq, *row))
            if seq != 1:
                database.execute("insert into session_transcript_active_events values ('db-1', ?, ?)", (seq, seq))
        database.commit()


def planned(theirs: Path, home: Path, **given: Any) -> Move:
    wanted: dict[str, Any] = {"secrets": True, "switched_off": False, "stage": None, **given}
    return plan_openclaw(theirs, home, sections_of(home), **wanted)


def item(move: Move, kind: str, name: str) -> MoveItem:
    (found,) = [each for each in move.items if (each.kind, each.name) == (kind, name)]
    return found


def written(move: Move, home: Path) -> None:
    for each in move.changes.files:
        (home / each.name).parent.mkdir(parents=True, exist_ok=True)
        (home / each.name).write_bytes(each.data)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return openclaw(tmp_path / "state" / ".openclaw")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_home(tmp_path / "home")


def test_it_comes_whole_and_the_home_is_valid(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)
    assert move.errors == []
    written(move, home)

    checked = check_home(home)
    assert checked.errors == []
    config = checked.config
    assert config["models"]["default"] == "anthropic/claude-sonnet-5-5"
    assert set(config["models"]["providers"]) == {"anthropic", "openrouter", "mine"}
    (bot,) = config["telegram"]
    assert bot["token"].reveal() == "123456:ABCDEFGHIJK"
    assert (bot["dm_policy"], bot["allow_from"]) == ("allowlist", ["telegram:user:111", "telegram:user:222"])
    assert [(each["id"], each.get("model")) for each in config["agents"]] == [("main", None), ("work", "mine/qwen3")]
    assert [each["agent"] for each in config["bindings"]] == ["work"]
    assert (home / "workspace/SOUL.md").read_text() == "Be kind.\n"
    assert (home / "workspace/memory/2026-05-12.md").exists()
    assert (home / "workspace/skills/tea/SKILL.md").exists()
    assert not (home / "workspace/skills/tea/.secret").exists()
    assert (home / "workspace-work/AGENTS.md").read_text() == "Work rules.\n"


def test_the_agent_that_is_not_written_down_stays_the_first(theirs: Path, home: Path) -> None:
    (home / "configuration.yaml").write_text("hub: {name: Home}\n")
    written(planned(theirs, home), home)

    assert [each["id"] for each in check_home(home).config["agents"]] == ["main", "work"]


def test_jobs_are_automations_and_their_words_no_templates(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)
    written(move, home)

    found = {each["alias"]: each for each in check_home(home).config["automation"]}
    morning = found["Morning"]
    assert morning["triggers"][0]["expression"] == "0 7 * * 1-5"
    assert morning["actions"][0]["data"] == {"message": "What is up { {today}}?", "announce": "telegram:111"}
    assert found["Look"]["initial_state"] is False, "it was switched off there"
    assert item(move, "job", "Old").verdict is Verdict.LEFT
    assert item(move, "job", "Shell").verdict is Verdict.LEFT


def test_without_consent_no_secret_is_in_the_plan(theirs: Path, home: Path) -> None:
    move = planned(theirs, home, secrets=False)

    assert item(move, "channel", "telegram").verdict is Verdict.LEFT
    assert item(move, "provider", "anthropic").verdict is Verdict.WAITS
    words = (b"sk-ant-1", b"sk-or-1", b"ABCDEFGHIJK")
    assert not any(word in each.data for each in move.changes.files for word in words)
    written(move, home)
    assert check_home(home).errors == []


def test_the_last_changes_of_a_program_that_did_not_end_are_read(theirs: Path, home: Path) -> None:
    path = theirs / "state" / "openclaw.sqlite"
    database = sqlite3.connect(path)
    database.execute("pragma journal_mode = wal")
    database.execute("insert into channel_pairing_allow_entries values ('telegram', 'default', '333', 1)")
    database.commit()
    before = sorted(each.name for each in path.parent.iterdir())
    move = planned(theirs, home)
    assert sorted(each.name for each in path.parent.iterdir()) == before, "nothing is written there"
    database.close()

    assert item(move, "sender", "telegram: telegram:user:333").verdict is Verdict.TAKEN


def test_what_does_not_come_says_why(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)

    assert "channels add whatsapp_web" in str(item(move, "channel", "whatsapp").reasons[0])
    assert item(move, "binding", "work: whatsapp").verdict is Verdict.LEFT
    assert item(move, "device", "My phone").verdict is Verdict.LEFT
    assert item(move, "webhook", "gmail").verdict is Verdict.LEFT
    assert any("@ada" in each for each in item(move, "channel", "telegram").reasons)
    assert any("MISSING" in each for each in move.notes)


def test_a_file_of_ones_own_stays_and_a_second_plan_is_empty(theirs: Path, home: Path) -> None:
    (home / "workspace").mkdir(exist_ok=True)
    (home / "workspace" / "SOUL.md").write_text("Mine.\n")
    move = planned(theirs, home)
    assert item(move, "workspace", "SOUL.md").verdict is Verdict.LEFT
    written(move, home)

    assert planned(theirs, home).changes.files == []
    assert (home / "workspace" / "SOUL.md").read_text() == "Mine.\n"


def test_conversations_in_files_come_archived(theirs: Path, home: Path, tmp_path: Path) -> None:
    move = planned(theirs, home, stage=tmp_path)

    (session,) = move.changes.sessions
    assert (session.key, session.title, session.archived) == ("agent:main:openclaw:s1", "Hello", True)
    lines = [json.loads(line) for line in (tmp_path / session.file).read_text().splitlines()]
    assert [(each["role"], each["text"]) for each in lines] == [("user", "Hello"), ("assistant", "Hi")]


def test_conversations_in_a_database_come_as_they_are_shown(theirs: Path, home: Path, tmp_path: Path) -> None:
    in_database(theirs, "main", packed=True)
    move = planned(theirs, home, stage=tmp_path)

    keys = {each.key: each for each in move.changes.sessions}
    assert sorted(keys) == ["agent:main:openclaw:db-1", "agent:main:openclaw:s1"]
    session = keys["agent:main:openclaw:db-1"]
    assert session.title == "Tea time"
    lines = [json.loads(line) for line in (tmp_path / session.file).read_text().splitlines()]
    assert [(each["role"], each["text"]) for each in lines] == [
        ("user", "Which tea?"),
        ("assistant", ("Green. " * 400).strip()),
    ]


def test_a_damaged_database_takes_its_conversations_and_not_the_rest(theirs: Path, home: Path) -> None:
    path = theirs / "agents/main/agent/openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4_096)

    assert [each.key for each in planned(theirs, home).changes.sessions] == ["agent:main:openclaw:s1"]


def test_what_openclaw_does_for_itself_stays_there(theirs: Path, home: Path) -> None:
    own = [
        {
            "declarationKey": "memory-core:memory-dreaming-promotion",
            "payload": {"kind": "agentTurn", "message": "__x__"},
        },
        {"declarationKey": "heartbeat:main", "payload": {"kind": "heartbeat"}},
    ]
    every = {"kind": "every", "everyMs": 1_800_000}
    with closing(sqlite3.connect(theirs / "state" / "openclaw.sqlite")) as database:
        for number, each in enumerate(own):
            job = {"id": f"own{number}", "name": f"Own {number}", "schedule": every, **each}
            database.execute("insert into cron_jobs values (?, ?, 1, 9)", (job["id"], json.dumps(job)))
        database.commit()
    move = planned(theirs, home)

    assert "for itself" in item(move, "job", "Own 0").reasons[0]
    assert "Heartbeat" in item(move, "job", "Own 1").reasons[0]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("openclaw.json", "{ agents: { ", "not valid JSON5 in line 1"),
        ("openclaw.json", '{ a: 1,\n b: "x\n}', "line 2"),
        ("openclaw.json", '{ $include: "../../../etc/passwd" }', "cannot be read"),
        ("channels.json5", "{ telegram: [ }", "channels.json5"),
    ],
)
def test_what_cannot_be_read_is_named(theirs: Path, home: Path, name: str, text: str, told: str) -> None:
    (theirs / name).write_text(text)
    with pytest.raises(HubError, match=told):
        planned(theirs, home)


def test_the_workspace_alone_is_refused(theirs: Path, home: Path) -> None:
    with pytest.raises(HubError, match=r"no openclaw\.json"):
        planned(theirs / "workspace", home)
