"""What people do every day with the command line: turns, health, sessions and models, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.person import Person
from tests.cli.terminal import Terminal
from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

HEADINGS = ("Goal", "Decisions", "Open questions", "Files and identifiers", "Tool failures")
SUMMARY = "\n\n".join(f"## {each}\nAnna wants the fern watered before the weekend." for each in HEADINGS)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    configuration = MODELS.format(base_url=server.base_url) + "ferry: [{token: good}, {account: rusty, token: bad}]\n"
    with HubProcess(make_home(tmp_path_factory.mktemp("daily") / "home", configuration, own=("ferry",))) as process:
        yield process


@pytest.fixture(autouse=True)
def _silent(server: OpenAIServerProcess) -> None:
    server.reset()


def test_a_turn_has_its_own_model_and_says_how_long_it_took(ask: Terminal, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "It is late."}])

    ran = ask("agent", "run", "What time is it?", "--model", "test/other", "--thinking", "low", "--json").json

    assert (ran["reply"], ran["status"], ran["model"], ran["aborted"]) == ("It is late.", "ok", "test/other", False)
    assert ran["duration_ms"] >= 0
    assert server.requests()[-1]["body"]["model"] == "other"


def test_the_answer_of_a_turn_is_sent_to_a_chat_too(
    hub: HubProcess, ask: Terminal, server: OpenAIServerProcess
) -> None:
    server.queue([{"text": "Water the fern."}])

    ran = ask("agent", "run", "What is to be done?", "--deliver", "--to", "ferry:north")

    assert (ran.code, ran.out) == (0, "Water the fern.\n")
    until(lambda: ask("outbox", "list", "--state", "sent").out.count("ferry:north  Water the fern.") == 1)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("hello", "--to", "ferry:north"), 2, "go with --deliver"),
        (("hello", "--agent", "nobody"), 1, "There is no agent 'nobody'"),
        (("hello", "--thinking", "wild"), 2, "thinking"),
        (("hello", "--agent", "main", "--session", "agent:other:main"), 2, "not one of the agent main"),
        ((" ",), 2, "nothing to send"),
    ],
)
def test_what_is_wrong_with_a_turn_is_said(ask: Terminal, arguments: tuple[str, ...], code: int, told: str) -> None:
    ran = ask("agent", "run", *arguments)

    assert (ran.code, told in ran.err) == (code, True), ran.err


def test_health_and_status_say_which_channel_is_not_connected(ask: Terminal) -> None:
    health, status, deep = ask("health"), ask("status"), ask("status", "--deep")

    assert (health.code, "ferry (rusty) is failed" in health.out) == (1, True)
    assert (status.code, "Channel ferry (default): connected" in status.out) == (0, True)
    assert "Channel ferry (rusty): failed: the token was refused" in status.out
    assert (deep.code, "Channel ferry (default): reached" in deep.out) == (1, True)
    assert "test/scripted (default): answers in " in deep.out
    assert max(map(len, status.out.splitlines())) <= 100


def test_a_session_is_tailed_and_what_comes_is_shown(
    hub: HubProcess, ask: Terminal, server: OpenAIServerProcess
) -> None:
    server.queue([{"text": "One."}], [{"text": "Two."}])
    ask("chat", "--session", "garden", "first")

    shown = [json.loads(line) for line in ask("sessions", "tail", "garden", "-n", "2", "--json").out.splitlines()]
    person = Person("sessions", "tail", "garden", "-f", "--config", str(hub.home))
    person.wait_for("assistant: One.")
    ask("chat", "--session", "garden", "second")
    person.wait_for("user: second")
    person.wait_for("assistant: Two.")
    person.press(b"\x03")

    assert [each["role"] for each in shown] == ["user", "assistant"]
    assert person.leave() == 0
    assert ask("sessions", "tail", "nowhere").code == 1


def test_a_session_is_compacted_with_what_should_stay(ask: Terminal, server: OpenAIServerProcess) -> None:
    server.set_default([{"text": "word " * 400}])
    for _ in range(4):
        ask("chat", "--session", "long", "tell me " + "more " * 300)
    server.set_default([{"text": SUMMARY}])

    done = ask("sessions", "compact", "long", "--keep", "the fern", "--json")

    assert (done.code, done.json["compacted"], done.json["messages"] > 0) == (0, True, True)
    assert "the fern" in json.dumps(server.requests()[-1]["body"])
    assert ask("sessions", "compact", "nowhere").code == 1


def test_the_default_model_is_set_from_the_command_line(hub: HubProcess, ask: Terminal) -> None:
    try:
        assert ask("models", "set", "test/other").out == "The default model is test/other from now on.\n"
        assert "default: test/other" in (hub.home / "configuration.yaml").read_text()
        assert (
            ask("models", "set", "nope/x").code,
            "There is no model nope/x" in ask("models", "set", "nope/x").err,
        ) == (
            1,
            True,
        )
    finally:
        ask("models", "set", "test/scripted")


def test_an_agent_is_bound_to_channels_one_by_one(hub: HubProcess, ask: Terminal) -> None:
    assert ask("agents", "bind", "main", "ferry", "telegram:family").out == "main answers ferry, telegram:family.\n"
    assert ask("agents", "unbind", "main", "ferry").out == "main answers telegram:family.\n"
    assert "channel: telegram" in (hub.home / "configuration.yaml").read_text()

    assert "it is bound to telegram:family" in ask("agents", "unbind", "main", "ferry").err
    assert "There is no channel pigeon; there are: " in ask("agents", "bind", "main", "pigeon").err
    assert ask("agents", "unbind", "main", "telegram:family").out == "main answers where no other does.\n"


def test_the_system_says_who_is_connected_and_takes_events(ask: Terminal) -> None:
    assert ask("system", "presence", "--json").json[0]["state"] == "active"
    assert ask("system", "heartbeat").out == "No heart has beaten since the hub started.\n"
    assert ask("system", "heartbeat", "off").code == 0
    assert "at its next heartbeat, or with your next message" in ask("system", "event", "The parcel is here").out


def test_the_status_of_schedules_names_the_next(ask: Terminal) -> None:
    assert ask("cron", "status").out == "0 scheduled\n"
    job = ask("cron", "add", "--every", "2h", "--message", "Sum up", "--name", "Sum", "--retry", "3", "--json").json

    assert job["retry"] == {"attempts": 3}
    assert ask("cron", "edit", job["id"], "--retry", "1", "--json").json["retry"] == {"attempts": 1}
    assert ask("cron", "status").out.splitlines()[1].startswith(f"Next: Sum ({job['id']}) on ")
    assert ask("cron", "edit", job["id"], "--webhook", "https://example.org", "--to", "x").code == 2
    ask("cron", "remove", job["id"])
