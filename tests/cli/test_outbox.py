"""`homarus message send` and `homarus outbox`, against a hub with a channel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess

CONFIGURATION = """\
ferry: [{token: good}]
people:
  - {id: anna, name: Anna, owner: true, identities: ["ferry:user:pier-7"]}
  - {id: ben, name: Ben, identities: ["ferry:user:pier-8", "ferry:user:pier-9"]}
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(make_home(tmp_path_factory.mktemp("sends") / "home", CONFIGURATION, own=("ferry",))) as process:
        yield process


def test_a_message_is_sent_and_the_command_waits_for_it(hub: HubProcess, ask: Terminal, tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_bytes(b"plan")

    sent = ask("message", "send", "--channel", "ferry", "--to", "north", "--media", str(tmp_path / "plan.pdf"), "Hello")

    assert (sent.code, sent.out) == (0, "Sent to ferry:north: 5-1\n")


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


def test_one_message_goes_to_several_chats_and_says_which_it_did_not_reach(ask: Terminal) -> None:
    sent = ask("message", "broadcast", "--to", "ferry:north", "--to", "ferry:nobody", "--to", "ferry:south", "Dinner")

    assert sent.code == 1
    assert [line.split()[:2] for line in sent.out.splitlines()[1:]] == [
        ["ferry:north", "sent"],
        ["ferry:nobody", "dead"],
        ["ferry:south", "sent"],
    ]


def test_a_message_is_reacted_to_where_the_platform_can_and_a_poll_is_refused_where_it_cannot(
    hub: HubProcess, ask: Terminal
) -> None:
    assert ask("message", "react", "--to", "ferry:north", "17", "👍").out == "Sent to ferry:north: 17\n"
    assert ask("message", "react", "--to", "ferry:north", "17").out == "Sent to ferry:north: 17\n"
    assert hub.rpc("service.call", {"service": "ferry.sent", "response": True})["response"]["texts"][-2:] == [
        "17 👍",
        "17 None",
    ]

    refused = ask("message", "poll", "--to", "ferry:north", "Tea?", "--option", "Yes", "--option", "No")
    assert (refused.code, "ferry cannot do this: poll. ferry can:" in refused.err) == (2, True)


def test_who_wrote_is_listed_and_reached_by_name(hub: HubProcess, ask: Terminal) -> None:
    assert ask("channels", "directory").out.startswith("Nobody is known.")
    for who in ("pier-7", "pier-8", "pier-9", "stranger"):
        hub.rpc("service.call", {"service": "ferry.land", "data": {"who": who, "text": "hello", "id": f"m-{who}"}})

    known = {(each["name"], each["to"]) for each in ask("channels", "directory", "--json").json}
    assert known == {("Anna", "ferry:pier-7"), ("Ben", "ferry:pier-8"), ("Ben", "ferry:pier-9")}
    assert [each["name"] for each in ask("channels", "directory", "ann", "--json").json] == ["Anna"]
    assert ask("channels", "directory", "--channel", "telegram", "--json").json == []

    looked_up = ask("channels", "directory", "ann", "--platforms", "--json").json
    assert [(each["name"], each["to"], bool(each["lastHeardAtMs"])) for each in looked_up] == [
        ("Anna", "ferry:pier-7", True),
        ("Annabel", "ferry:pier-70", False),
    ]
    assert ask("directory", "ann", "--json").json == looked_up
    assert [each["to"] for each in ask("directory", "quay", "--kind", "rooms", "--json").json] == ["ferry:quay"]
    assert ask("directory", "quay", "--kind", "people").out == "Nobody is called so.\n"
    failed = ask("channels", "directory", "storm", "--platforms")
    assert (failed.code, "ferry (default): nobody answers in a storm" in failed.err) == (0, True)
    assert ask("channels", "directory", "--platforms").code == 2
    assert "No channel here" in ask("channels", "directory", "ann", "--platforms", "--channel", "irc").err

    assert ask("message", "send", "--to", "anna", "Dinner").out == "Sent to ferry:pier-7: 6-0\n"
    assert ask("message", "send", "--to", "ferry:Anna", "Dinner").out == "Sent to ferry:pier-7: 6-0\n"
    assert ask("message", "send", "--to", "Ben", "Dinner").out == "Sent to ferry:pier-9: 6-0\n"  # last heard there
    assert ask("message", "send", "--to", "The Quay", "Dinner").out == "Sent to ferry:quay: 6-0\n"
    assert ask("message", "send", "--to", "Annabel", "Dinner").out == "Sent to ferry:pier-70: 6-0\n"
    assert ask("message", "send", "--to", "pier-8", "Dinner").out == "Sent to ferry:pier-8: 6-0\n"


def test_a_word_that_nobody_is_called_is_no_address(ask: Terminal) -> None:
    refused = ask("message", "send", "--to", "anne", "Dinner")

    assert (refused.code, "no chat is called 'anne'; did you mean Anna?" in refused.err) == (1, True), refused.err
    assert "homarus directory" in refused.err
    assert "give ferry:anne" in refused.err


def test_who_was_just_let_in_is_reached_by_name(hub: HubProcess, ask: Terminal) -> None:
    texts = hub.rpc("service.call", {"service": "ferry.sent", "response": True})["response"]["texts"]
    (code,) = {found[0] for text in texts if (found := re.search(r"\b[A-Z2-9]{8}\b", text))}
    assert ask("message", "send", "--to", "Per", "Hello").code == 1

    assert ask("pairing", "approve", "ferry", code).code == 0

    assert ask("message", "send", "--to", "Per", "Hello").out == "Sent to ferry:stranger: 5-0\n"
