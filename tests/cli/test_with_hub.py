"""The commands that ask a hub, against one that runs."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.cli.exits import CommandFailed
from hub.cli.hub_link import HubLink
from tests.cli.person import Person
from tests.cli.terminal import Terminal
from tests.cli.test_commands import ARGUMENTS, NEEDS_HUB, typed
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess

LIMIT_S = 20.0


def test_status_says_what_scripts_rely_on(ask: Terminal) -> None:
    ran = ask("status", "--json")

    assert ran.code == 0
    assert {"version", "uptime_s", "state", "integrations", "agents", "models"} <= ran.json.keys()
    assert ran.json["state"] == "running"


def test_status_for_people_names_model_agents_and_integrations(ask: Terminal) -> None:
    ran = ask("status")

    assert "running" in ran.out
    assert "offline/homarus" in ran.out
    assert "Agents: main" in ran.out
    assert "notes" in ran.out
    assert "set_up" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 110


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("logs --lines x", "'x': expected a whole number from 1 to 5000."),
        ("logs --lines 0", "'0': expected a whole number from 1 to 5000."),
        ("cron add --text Tea", "Say when, with --at, --every or --cron"),
        ("cron add --at 20m", "Say what, with --message, --text or --system-event."),
    ],
)
def test_what_is_missing_or_wrong_in_a_command_is_named(ask: Terminal, command: str, told: str) -> None:
    ran = ask(*command.split())

    assert (ran.code, told in ran.err) == (2, True), ran.err


def test_the_tools_of_an_agent_fit_a_terminal(ask: Terminal) -> None:
    ran = ask("agents", "show", "main")

    assert "sessions_spawn" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 110


def test_the_offline_model_has_one_window_everywhere(ask: Terminal) -> None:
    (row,) = [each for each in ask("models", "list").out.splitlines() if each.startswith("offline/homarus")]
    window = row.split()[1]

    assert window in ask("chat", "/status").out.replace("1000000", window)


@pytest.mark.parametrize("command", ["browser status", "mcp list"])
def test_a_command_of_what_is_not_in_use_says_how_to_use_it(ask: Terminal, command: str) -> None:
    ran = ask(*command.split())

    domain = command.split(maxsplit=1)[0]
    assert ran.code == 2
    assert f"is not in use here: write {domain}: into configuration.yaml (docs/{domain}.md)" in ran.err


def test_the_image_of_sandboxes_is_made_where_the_hub_has_its_docker(
    ask: Terminal, hub: HubProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, configuration = tmp_path / "docker", hub.home / "configuration.yaml"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    before = configuration.read_text()
    configuration.write_text(f"{before}\ndocker: {{socket: /srv/docker.sock}}\n")
    deadline = time.monotonic() + LIMIT_S
    while "docker" not in ask("call", "config.get").json["config"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)

    ran = ask("sandbox", "build")
    configuration.write_text(before)

    assert "docker build ended with 1" in ran.err
    assert (tmp_path / "given").read_text().startswith("-H unix:///srv/docker.sock build ")


async def test_a_lasting_connection_is_made_over_the_socket(hub: HubProcess) -> None:
    link = HubLink(hub.home)
    await link.open()
    try:
        health = await link.call("health")
        with pytest.raises(CommandFailed, match="unknown method"):
            await link.call("no.such.method")
    finally:
        await link.close()

    assert health["ok"]


def test_a_message_is_answered(ask: Terminal) -> None:
    told = ask("chat", "remember that the boiler was serviced on 12 May", "--json")
    asked = ask("chat", "when was the boiler serviced?", "--json")

    assert told.json.keys() == {"reply", "run_id", "session_key", "usage"}
    assert told.json["session_key"] == "agent:main:main"
    assert "12 May" in asked.json["reply"]


def test_a_run_is_shown_step_by_step(ask: Terminal) -> None:
    run_id = ask("chat", "remember that the attic was swept", "--json").json["run_id"]

    listed = ask("trace", "list", "--state", "answered")
    shown = ask("trace", run_id)
    (first, *_, last) = ask("trace", run_id, "--json").json["steps"]

    assert run_id in listed.out
    assert [line.split()[1] for line in shown.out.splitlines() if line.startswith("  ")] == [
        *("received", "queued", "model", "tool", "model", "sent"),
    ]
    assert "remember that the attic was swept" in shown.out
    assert (first["kind"], last["kind"]) == ("received", "sent")
    assert "there is no run 'nobody'" in ask("trace", "nobody").err


def test_words_are_one_message_and_the_answer_is_all_there_is(ask: Terminal) -> None:
    ran = ask("chat", "what", "is", "6", "*", "7?")

    assert ran.code == 0
    assert "42" in ran.out


def test_a_message_can_come_through_a_pipe(hub: HubProcess) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "hub", "chat", "--config", str(hub.home)],
        input="what is 6 * 7?",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0
    assert "42" in ran.stdout


def test_nothing_is_not_sent(ask: Terminal) -> None:
    ran = ask("chat", " ")

    assert ran.code == 2
    assert "nothing to send" in ran.err


def test_a_slash_command_is_answered_at_once(ask: Terminal) -> None:
    ran = ask("chat", "/status", "--json")

    assert ran.code == 0
    assert "Agent: main" in ran.json["reply"]


def test_a_session_of_ones_own_is_told_apart(ask: Terminal) -> None:
    ran = ask("chat", "hello", "--session", "agent:main:direct:guest", "--json")

    assert ran.json["session_key"] == "agent:main:direct:guest"


def test_an_agent_that_does_not_exist_is_named(ask: Terminal) -> None:
    ran = ask("chat", "hello", "--agent", "nobody", "--json")

    assert ran.code in (1, 2)
    assert "nobody" in ran.json["error"]["message"]


def test_lines_through_a_pipe_are_messages_and_a_dash_makes_them_one(hub: HubProcess) -> None:
    def chat(*arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "hub", "chat", *arguments, "--session", "piped", "--config", str(hub.home)],
            input="what is 6 * 7?\n\nwhat is 5 * 5?\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return ran.stdout

    assert len(chat().splitlines()) == 2
    chat("-")

    asked = [each["content"][0]["text"] for each in said_in(hub, "piped") if each["role"] == "user"]
    assert asked == ["what is 6 * 7?", "what is 5 * 5?", "what is 6 * 7?\n\nwhat is 5 * 5?"]


def said_in(hub: HubProcess, session: str) -> list[dict[str, Any]]:
    """Return the messages of a conversation."""
    messages: list[dict[str, Any]] = hub.rpc("chat.history", {"sessionKey": session})["messages"]
    return messages


def test_a_reminder_appears_in_an_open_conversation_and_what_is_typed_stays(hub: HubProcess) -> None:
    person = Person("chat", "--config", str(hub.home))
    person.wait_for("> ")
    person.press(b"what is 6 * 7?\r")
    person.wait_for("42")
    person.wait_for("> ")
    person.press(b"what is 2")

    payload = {"kind": "message", "text": "Tea is ready"}
    job = hub.rpc(
        "cron.add", {"name": "Tea", "schedule": {"kind": "every", "everyMs": 900_000_000}, "payload": payload}
    )
    hub.rpc("cron.run", {"id": job["id"], "mode": "force"})

    person.wait_for("Tea is ready")
    person.wait_for("> what is 2")
    person.press(b" * 3?\r")
    person.wait_for("= 6")
    person.press(b"/quit\r")
    assert person.leave() == 0
    hub.rpc("cron.remove", {"id": job["id"]})
    titles = [each["title"] for each in hub.rpc("timeline.list", {"kind": ["conversation"]})["happenings"]]
    assert "what is 2 * 3?" in titles


def test_a_conversation_at_a_terminal(hub: HubProcess) -> None:
    person = Person("chat", "--config", str(hub.home))

    person.wait_for("> ")
    person.press(b"what is 6 * 7?\r")
    person.wait_for("42")
    person.wait_for("> ")
    person.press(b"/status\r")
    person.wait_for("Agent: main")
    person.press(b"/quit\r")

    assert person.leave() == 0


def test_the_transcript_is_shown_as_stored(ask: Terminal) -> None:
    ask("chat", "hello", "--session", "agent:main:direct:shown")

    ran = ask("sessions", "show", "agent:main:direct:shown", "--json")

    file = Path(ran.err.splitlines()[-1].removeprefix("# "))
    stored = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert ran.json == [entry for entry in stored if entry["type"] != "header"]
    assert ran.json[0]["message"]["role"] == "user"


def test_the_transcript_is_shown_for_people_too(ask: Terminal) -> None:
    ask("chat", "remember that the key is under the mat", "--session", "agent:main:direct:read")

    ran = ask("sessions", "show", "agent:main:direct:read")

    assert "user: remember that the key is under the mat" in ran.out
    assert "[remember {" in ran.out


def test_sessions_are_listed_begun_anew_and_deleted(ask: Terminal) -> None:
    key = "agent:main:direct:passing"
    ask("chat", "hello", "--session", key)
    before = ask("sessions", "list", "--active", "5", "--json").json
    reset = ask("sessions", "reset", key)
    emptied = ask("sessions", "show", key, "--json").json
    deleted = ask("sessions", "delete", key, "--yes")
    after = ask("sessions", "list", "--json").json

    assert key in [each["key"] for each in before]
    assert reset.code == 0
    assert emptied == []
    assert deleted.code == 0
    assert key not in [each["key"] for each in after]


def test_messages_are_searched_also_from_before_a_reset(ask: Terminal) -> None:
    key = "agent:main:direct:searched"
    ask("chat", "the quokka sleeps at noon", "--session", key)
    ask("sessions", "reset", key)
    deadline = time.monotonic() + LIMIT_S
    # An error is a mapping: the index may still be opened.
    while not isinstance(found := ask("sessions", "search", "quokka", "sleep", "--json").json, list) or not found:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    ran = ask("sessions", "search", "quokka", "sle")
    past = ask("sessions", "show", key, "--past", found[0]["sessionId"])
    nothing = ask("sessions", "search", "quokka", "nonesuch")
    wrong = ask("sessions", "search", "the")

    assert f"{key} --past {found[0]['sessionId']}" in ran.out
    assert "user: the quokka sleeps at noon" in past.out
    assert "No message" in nothing.out
    assert (wrong.code, "a word less common" in wrong.err) == (2, True)


def test_a_session_that_does_not_exist_is_a_finding(ask: Terminal) -> None:
    ran = ask("sessions", "show", "agent:main:direct:nobody", "--json")

    assert ran.code == 1
    assert ran.json["error"]["code"] == "NOT_FOUND"


def test_what_a_model_is_sent_is_listed_with_its_sizes(ask: Terminal) -> None:
    report = json.loads(ask("context", "explain", "main", "--json").out)
    shown = ask("context", "explain")

    sizes = {each["name"]: each for each in report["parts"]}
    assert sizes["AGENTS.md"]["bytes"] >= sizes["AGENTS.md"]["raw_chars"] > 0
    assert sizes["remember"]["kind"] == "tool"
    assert report["totals"]["prompt"]["tokens"] == sum(
        each["tokens"] for each in report["parts"] if each["kind"] == "prompt"
    )
    assert report["session_key"] == "agent:main:main"
    assert "AGENTS.md" in shown.out
    assert ask("context", "explain", "agent:nobody:main").code != 0


def test_any_method_can_be_called(ask: Terminal) -> None:
    ran = ask("call", "chat.history", "--params", '{"sessionKey": "main", "limit": 1}')

    assert ran.code == 0
    assert ran.json["sessionKey"] == "agent:main:main"


@pytest.mark.parametrize("arguments", [["nosuch"], ["chat.history", "--params", '{"limit": "many"}']])
def test_a_wrong_call_is_wrong_usage(ask: Terminal, arguments: list[str]) -> None:
    ran = ask("call", *arguments, "--json")

    assert ran.code == 2
    assert ran.json["error"]["code"] == "INVALID_REQUEST"


def test_a_scoped_token_is_made_listed_and_revoked(ask: Terminal, hub: HubProcess) -> None:
    made = ask("token", "create", "--name", "phone", "--scopes", "operator.read", "--expires", "90d", "--json").json
    listed = ask("token", "list")
    status, _ = hub.post("/api/rpc", {"method": "status"}, headers={"Authorization": f"Bearer {made['token']}"})
    revoked = ask("token", "revoke", made["id"])
    refused, _ = hub.post("/api/rpc", {"method": "status"}, headers={"Authorization": f"Bearer {made['token']}"})

    assert made["scopes"] == ["operator.read"]
    assert made["id"] in listed.out
    assert made["token"] not in listed.out
    assert (status, revoked.code, refused) == (200, 0, 401)


@pytest.mark.parametrize(
    ("option", "value"), [("--scopes", "operator.everything"), ("--expires", "soon"), ("--scopes", ",")]
)
def test_a_token_with_a_wrong_option_is_not_made(ask: Terminal, option: str, value: str) -> None:
    options = {"--name": "x", "--scopes": "operator.read", option: value}

    ran = ask("token", "create", *[part for pair in options.items() for part in pair])

    assert ran.code == 2
    assert "x" not in [each["name"] for each in ask("token", "list", "--json").json]


def test_the_dashboard_link_signs_in_once(ask: Terminal, hub: HubProcess) -> None:
    link = ask("dashboard", "--json").json

    first, _ = hub.post("/api/login", {"code": link["code"]}, headers={"Origin": hub.url})
    second, _ = hub.post("/api/login", {"code": link["code"]}, headers={"Origin": hub.url})

    assert link["url"] == f"{hub.url}/login#{link['code']}"
    assert (first, second) == (200, 401)


def test_the_log_is_shown(ask: Terminal) -> None:
    ran = ask("logs", "-n", "50", "--json")

    assert ran.code == 0
    assert any("INFO" in line for line in ran.json)


def test_the_log_is_followed(hub: HubProcess) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "hub", "logs", "-f", "-n", "5", "--json", "--config", str(hub.home)],
        stdout=subprocess.PIPE,
        text=True,
        # Of tests that run in the background of a shell whatever they start ignores interrupts.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  nothing is imported or locked
    ) as following:
        assert following.stdout is not None
        line = json.loads(following.stdout.readline())
        following.send_signal(signal.SIGINT)

    assert isinstance(line, str)
    assert following.returncode == 1


def test_a_value_is_set_through_the_hub_and_in_force_at_once(ask: Terminal, hub: HubProcess) -> None:
    ran = ask("config", "set", "hub.name", "House of tests", "--json")

    got = hub.rpc("config.get")
    assert ran.code == 0
    assert ran.json["hash"] == got["hash"]
    assert "name: House of tests" in got["raw"]
    assert "# Who lives here." in got["raw"]


def test_what_would_not_be_valid_is_refused_by_the_hub_too(ask: Terminal, hub: HubProcess) -> None:
    before = hub.rpc("config.get")["hash"]

    ran = ask("config", "set", "http.port", "99999")

    assert ran.code == 3
    assert "http.port" in ran.err
    assert hub.rpc("config.get")["hash"] == before


def test_an_earlier_version_is_restored_through_the_hub(ask: Terminal, hub: HubProcess) -> None:
    first = hub.rpc("config.get")["raw"]
    ask("config", "set", "hub.name", "House for a moment")

    ran = ask("config", "history", "--restore", "1")

    assert ran.code == 0
    assert hub.rpc("config.get")["raw"] == first


def test_a_healthy_home_with_a_hub_has_no_findings(ask: Terminal) -> None:
    ran = ask("doctor", "--json")

    assert ran.json["findings"] == []
    assert ran.code == 0


def test_the_doctor_tells_the_repairs_of_the_hub(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "home" / "custom_integrations" / "doorbell"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(
        '{"domain": "doorbell", "name": "Doorbell", "kind": "tool", "version": "1.0.0", "default": true}', "utf-8"
    )
    (folder / "__init__.py").write_text(
        "async def setup(host, config):\n    raise ValueError('no bell here')\n", "utf-8"
    )
    with HubProcess(tmp_path / "home") as hub:
        ran = Terminal(capsys, hub.home)("doctor", "--config", str(hub.home), "--json")

    told = [finding for finding in ran.json["findings"] if finding["check"] == "running"]
    assert ran.code == 1
    assert len(told) == 1
    assert "no bell here" in told[0]["what"]


@pytest.fixture
def in_recovery(tmp_path: Path) -> Iterator[HubProcess]:
    """A hub whose configuration is broken where it matters."""
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "configuration.yaml").write_text("http:\n  host: 127.0.0.1\n  port: abc\n", "utf-8")
    with HubProcess(tmp_path / "home") as hub:
        yield hub


def test_recovery_mode_is_told_and_left_from_the_command_line(
    in_recovery: HubProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMARUS_CONFIG", str(in_recovery.home))
    ask = Terminal(capsys, in_recovery.home)

    status, doctor, chat = ask("status"), ask("doctor", "--json"), ask("chat", "hello")
    mended = ask("config", "set", "http.port", "0")
    until(lambda: '"running"' in ask("status", "--json").out)
    answered = ask("chat", "what is 6 * 7?")

    assert status.code == 0
    assert "recovery" in status.out
    assert {finding["check"] for finding in doctor.json["findings"]} == {"configuration", "running"}
    assert chat.code == 3
    assert "homarus check" in chat.err
    assert mended.code == 0
    assert "42" in answered.out


@pytest.fixture
def wrong_token(hub: HubProcess) -> Iterator[None]:
    """No Unix socket, and another token in the file than the one the hub took from it."""
    file = hub.home / ".storage" / "hub_token"
    socket = hub.home / ".storage" / "run" / "hub.sock"
    socket.rename(socket.with_name("away"))
    right = file.read_text(encoding="utf-8")
    file.write_text(right.strip()[:-8] + "AbCdEfGh\n", encoding="utf-8")
    yield
    file.write_text(right, encoding="utf-8")
    socket.with_name("away").rename(socket)


@pytest.mark.usefixtures("wrong_token")
@pytest.mark.parametrize(
    "path", sorted(NEEDS_HUB - {("acp",)})[:: len(NEEDS_HUB) // 8 + 1], ids=typed
)  # ten lock the machine out
def test_a_wrong_token_is_not_authorised(ask: Terminal, path: tuple[str, ...]) -> None:
    ran = ask(*path, *ARGUMENTS.get(path, []), "--json")

    assert ran.code == 5
    assert ran.json["error"]["exit"] == 5


def test_start_tells_scripts_where_it_listens_and_stops_when_told(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "hub", "start", "--json", "--port", "0", "--config", str(tmp_path / "new")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as started:
        assert started.stdout is not None
        told = json.loads(started.stdout.readline())
        started.terminate()
        code = started.wait(30)

    assert told["state"] == "running"
    assert told["url"].startswith(told["address"])
    assert told["pid"] == started.pid
    assert code == 0
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_second_hub_on_the_same_home_names_the_first(ask: Terminal, hub: HubProcess) -> None:
    ran = hub.cli("start", "--port", "0")

    assert ran.returncode == 1
    assert str(hub.pid) in ran.stderr


def test_a_hub_that_hangs_cannot_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(capsys, tmp_path / "home")
    with HubProcess(tmp_path / "home") as hub:
        os.kill(hub.pid, signal.SIGSTOP)
        ran = terminal("call", "health", "--timeout", "0.5", "--config", str(hub.home), "--json")
        os.kill(hub.pid, signal.SIGCONT)

    assert ran.code == 4
    assert "did not answer" in ran.json["error"]["message"]


def test_a_killed_hub_counts_as_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(capsys, tmp_path / "home")
    with HubProcess(tmp_path / "home") as hub:
        hub.kill()

    ran = terminal("status", "--config", str(hub.home))

    assert ran.code == 4
    assert "No hub runs" in ran.err


def test_an_agent_is_set_up_whole_and_what_is_wrong_changes_nothing(ask: Terminal) -> None:
    ask("agents", "add", "kitchen")
    ask(
        "agents",
        "set",
        "kitchen",
        "--name",
        "Cook",
        "--off",
        "group:shell",
        "--answers",
        "irc:home",
        "--budget-usd",
        "0.5",
    )
    refused = ask("agents", "set", "kitchen", "--model", "nobody/nothing")

    shown = ask("agents", "show", "kitchen", "--json").json
    assert refused.code != 0
    assert (shown["name"], shown["model"], shown["budget"]["cost_usd"]) == ("Cook", None, 0.5)
    assert [(each["agent"], each["channel"], each["account"]) for each in shown["bindings"]] == [
        ("kitchen", "irc", "home")
    ]
    assert {each["on"] for each in shown["tools"] if each["group"] == "shell"} == {False}
    assert ask("agents", "set", "kitchen").code == 1
