"""`homarus approvals`, against a hub whose agent wants to open the door."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from uuid import uuid4

import pytest

from tests.cli.person import Person
from tests.cli.terminal import Terminal
from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

UNLOCK = {"tool_call": {"name": "call_service", "arguments": {"domain": "doorbell", "service": "unlock"}}}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    configuration = "doorbell:\n  place: front door\n" + MODELS.format(base_url=server.base_url)
    with HubProcess(make_home(tmp_path_factory.mktemp("asks") / "home", configuration, own=("doorbell",))) as hub:
        yield hub


def wants_to_unlock(hub: HubProcess, server: OpenAIServerProcess, run_id: str) -> None:
    """Have the agent ask for the door, and wait until it does."""
    server.queue(UNLOCK, "done")
    hub.rpc("chat.send", {"sessionKey": run_id, "message": "unlock", "idempotencyKey": run_id})
    until(lambda: hub.rpc("approval.list")["approvals"])


def test_it_lists_approves_and_remembers(ask: Terminal, hub: HubProcess, server: OpenAIServerProcess) -> None:
    nothing = ask("approvals", "list")
    wants_to_unlock(hub, server, "approve")
    listed = ask("approvals", "list")
    (waiting,) = ask("approvals", "list", "--json").json
    approved = ask("approvals", "approve", waiting["code"].lower())
    again = ask("approvals", "approve", waiting["id"], "--json")
    remembered = ask("approvals", "list", "--all")

    assert nothing.out == "Nothing waits for an approval.\n"
    assert waiting["code"] in listed.out
    assert '"service": "doorbell.unlock"' in listed.out
    assert (approved.code, approved.out) == (0, "Approved: service doorbell.unlock\n")
    assert (again.code, again.json["error"]["code"]) == (1, "CONFLICT")
    assert "(approved by owner)" in remembered.out
    hub.rpc("agent.wait", {"runId": "approve", "timeoutMs": 20_000})


def test_it_denies(ask: Terminal, hub: HubProcess, server: OpenAIServerProcess) -> None:
    wants_to_unlock(hub, server, "deny")
    (waiting,) = ask("approvals", "list", "--json").json

    denied = ask("approvals", "deny", waiting["id"], "--json")
    hub.rpc("agent.wait", {"runId": "deny", "timeoutMs": 20_000})

    assert (denied.code, denied.json["state"]) == (0, "denied")
    assert ask("approvals", "list", "--json").json == []


def test_a_question_of_an_agent_is_listed_and_answered(
    ask: Terminal, hub: HubProcess, server: OpenAIServerProcess
) -> None:
    day = {"questions": [{"question": "Which day?", "choices": ["Saturday", "Sunday"]}, {"question": "Who comes?"}]}
    server.queue({"tool_call": {"name": "use_tool", "arguments": {"name": "ask_user", "arguments": day}}}, "noted")
    hub.rpc("chat.send", {"sessionKey": "plan", "message": "plan", "idempotencyKey": "plan"})
    (waiting,) = until(lambda: hub.rpc("question.list")["questions"])
    listed = ask("approvals", "list")

    answered = ask("approvals", "answer", waiting["code"].lower(), "2")
    until(lambda: [each for each in hub.rpc("question.list")["questions"] if each["id"] != waiting["id"]])
    said = hub.rpc("chat.send", {"sessionKey": "plan", "message": "Anna and Ben", "idempotencyKey": "who"})
    ended = hub.rpc("agent.wait", {"runId": "plan", "timeoutMs": 20_000})

    assert f"{waiting['code']}  question: Which day?\n  1. Saturday\n  2. Sunday" in listed.out
    assert (answered.code, answered.out) == (0, "Answered: Sunday\n")
    assert said["reply"] == "Answer: Anna and Ben"
    assert ended["reply"] == "noted"
    (result,) = [each for each in server.requests()[-1]["body"]["messages"] if each["role"] == "tool"]
    assert "Sunday" in result["content"]
    assert "Anna and Ben" in result["content"]


def test_a_secret_is_set_where_an_agent_asks_for_it_listed_by_name_and_removed(
    ask: Terminal, hub: HubProcess, server: OpenAIServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("a bicycle lock opens\n"))
    wants = {"name": "BIKE_KEY", "why": "to open the bike"}
    server.queue({"tool_call": {"name": "ask_secret", "arguments": wants}}, "open")
    hub.rpc("chat.send", {"sessionKey": "bike", "message": "open", "idempotencyKey": "bike"})
    until(lambda: hub.rpc("question.list")["questions"])

    refused = ask("approvals", "answer", hub.rpc("question.list")["questions"][0]["code"], "open sesame")
    kept = ask("secrets", "set", "BIKE_KEY")
    ended = hub.rpc("agent.wait", {"runId": "bike", "timeoutMs": 20_000})
    listed = ask("secrets", "list")
    removed = ask("secrets", "remove", "BIKE_KEY")

    assert refused.code == 2
    assert "homarus secrets set BIKE_KEY" in refused.err
    assert (kept.code, kept.out) == (0, "BIKE_KEY is kept for main. The agent uses it as $BIKE_KEY.\n")
    assert ended["reply"] == "open"
    assert listed.out.splitlines()[1].split()[:3] == ["BIKE_KEY", "main", "owner"]
    assert "bicycle" not in listed.out + listed.err
    assert (removed.code, ask("secrets", "list", "--json").json) == (0, [])
    assert ask("secrets", "remove", "BIKE_KEY").code == 1


def test_a_wrong_code_is_told(ask: Terminal) -> None:
    ran = ask("approvals", "approve", "WRONG")

    assert ran.code == 1
    assert "no pending question" in ran.err


def test_who_talks_is_told_that_their_word_is_waited_for(
    ask: Terminal, hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue(UNLOCK, "the door is open")
    with subprocess.Popen(
        [sys.executable, "-m", "hub", "chat", "unlock", "--session", "talk", "--config", str(hub.home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as talk:
        assert talk.stderr is not None
        told = talk.stderr.readline()
        (waiting,) = ask("approvals", "list", "--json").json
        ask("approvals", "approve", waiting["code"])
        answered, more = talk.communicate(timeout=30)

    assert f"homarus approvals approve {waiting['code']}" in told
    assert (talk.returncode, answered, more) == (0, "the door is open\n", "")


@pytest.fixture
def busy(hub: HubProcess, server: OpenAIServerProcess) -> Iterator[str]:
    """A conversation in which something waits already, set off elsewhere."""
    session = f"busy-{uuid4().hex[:8]}"
    wants_to_unlock(hub, server, session)
    yield session
    hub.rpc("chat.abort", {"sessionKey": session})
    until(lambda: not hub.rpc("approval.list")["approvals"])
    server.reset()


@contextmanager
def piped(hub: HubProcess, *arguments: str, text: str | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a command without a terminal."""
    with subprocess.Popen(
        [sys.executable, "-m", "hub", *arguments, "--config", str(hub.home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(text or "")
        process.stdin.close()
        yield process


@pytest.mark.parametrize("text", [None, "and now?"], ids=["words", "standard input"])
def test_who_waits_behind_something_else_is_told_what_it_is(
    ask: Terminal, hub: HubProcess, busy: str, text: str | None
) -> None:
    (waiting,) = ask("approvals", "list", "--json").json

    with piped(hub, "chat", *([] if text else ["and", "now?"]), "--session", busy, text=text) as talk:
        assert talk.stderr is not None
        told = talk.stderr.readline()
        ask("approvals", "approve", waiting["code"])
        assert talk.wait(30) == 0

    assert "It waits for your word on: doorbell.unlock" in told
    assert f"homarus approvals approve {waiting['code']}" in told


def test_who_talks_in_a_terminal_is_told_what_was_waiting_before(ask: Terminal, hub: HubProcess, busy: str) -> None:
    (waiting,) = ask("approvals", "list", "--json").json
    talk = Person("chat", "and now?", "--session", busy, "--config", str(hub.home))

    talk.wait_for(f"homarus approvals approve {waiting['code']}")
    ask("approvals", "approve", waiting["code"])

    assert talk.leave() == 0


def test_ctrl_c_ends_the_wait_and_what_was_waited_for(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue(UNLOCK, "never said")
    with piped(hub, "chat", "unlock", "--session", "interrupted") as talk:
        assert talk.stderr is not None
        assert "It waits for your word" in talk.stderr.readline()
        talk.send_signal(signal.SIGINT)
        assert talk.wait(30) == 1

    assert until(lambda: not hub.rpc("approval.list")["approvals"])
    server.reset()


def test_who_talks_line_by_line_is_told_too(ask: Terminal, hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "One moment. "}, UNLOCK], "the door is open", "nothing else")
    talk = Person("chat", "--session", "lines", "--config", str(hub.home))
    talk.wait_for("> ")
    talk.press(b"unlock\r")

    talk.wait_for("It waits for your word on: doorbell.unlock")
    (waiting,) = ask("approvals", "list", "--json").json
    talk.wait_for(f"homarus approvals approve {waiting['code']}")
    ask("approvals", "approve", waiting["code"])
    talk.wait_for("the door is open")
    talk.press(b"and now?\r")
    talk.wait_for("nothing else")
    talk.press(b"/quit\r")

    assert talk.leave() == 0
