"""`homarus message send` and `homarus outbox`, against a hub with a channel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess

CONFIGURATION = "ferry: [{token: good}]\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(make_home(tmp_path_factory.mktemp("sends") / "home", CONFIGURATION, own=("ferry",))) as process:
        yield process


def test_a_message_is_sent_and_the_command_waits_for_it(hub: HubProcess, ask: Terminal, tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_bytes(b"plan")

    sent = ask("message", "send", "--channel", "ferry", "--to", "north", "--media", str(tmp_path / "plan.pdf"), "Hello")

    assert (sent.code, sent.out) == (0, "Sent: 5-1\n")


def test_a_message_that_is_refused_fails_the_command_and_is_kept(hub: HubProcess, ask: Terminal) -> None:
    failed = ask("message", "send", "--channel", "ferry", "--to", "nobody", "Hello")
    listed = ask("outbox", "list", "--state", "dead")
    (dead,) = ask("outbox", "list", "--state", "dead", "--json").json["messages"]
    shown = ask("outbox", "show", dead["id"])
    (repair,) = [each for each in hub.rpc("status")["repairs"] if each["source"] == "outbox"]

    assert (failed.code, "there is no such pier" in failed.err) == (1, True)
    assert f"{dead['id']}  dead  message  ferry:nobody  Hello  (there is no such pier)\n" == listed.out
    assert "attempts: 1\n" in shown.out
    assert repair["command"] == "homarus outbox list --state dead"

    assert ask("outbox", "retry", dead["id"]).out == "Queued again: message to ferry:nobody\n"
    hub.rpc("message.send", {"channel": "ferry", "to": "nobody", "message": "after it"})
    left = ask("outbox", "list", "--state", "dead", "--json").json["messages"]
    dropped = [ask("outbox", "drop", each["id"]).code for each in left]
    assert dropped == [0, 0]
    assert ask("outbox", "list", "--state", "dead").out == "No messages.\n"
    assert ask("outbox", "drop", dead["id"]).code == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--channel", "pigeon", "--to", "x", "Hello"), "there is no channel pigeon"),
        (("--channel", "ferry", "--to", "x"), "expected the text to send"),
    ],
)
def test_what_cannot_be_sent_says_why(hub: HubProcess, ask: Terminal, arguments: tuple[str, ...], told: str) -> None:
    refused = ask("message", "send", *arguments)

    assert refused.code != 0
    assert told in refused.err
