"""`homarus pairing` and `homarus route explain`, against a hub with a doorbell that strangers ring."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

CONFIGURATION = """
people: [{id: me, name: Me, owner: true}]   # just me
doorbell:
  place: front door
  groups: {yard: {agent: cook, require_mention: false}}
agents: [{id: main, default: true}, {id: cook}]
bindings: [{agent: cook, match: {channel: doorbell, peer: eve}}]
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    configuration = CONFIGURATION + MODELS.format(base_url=server.base_url)
    with HubProcess(make_home(tmp_path_factory.mktemp("pairs") / "home", configuration, own=("doorbell",))) as hub:
        yield hub


def rings(hub: HubProcess, who: str) -> str:
    """Ring as somebody new, and return the code that they are shown."""
    hub.post("/doorbell", {"id": f"ring-{who}", "who": who, "text": "let me in"})

    def shown() -> str | None:
        file = hub.home / "doorbell" / "sent.jsonl"
        sent = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        texts = [each["text"] for each in sent if each["to"] == who]
        found = re.search(r"\b[A-Z2-9]{8}\b", texts[-1]) if texts else None
        return found[0] if found else None

    return str(until(shown))


def test_the_owner_lists_approves_and_revokes(ask: Terminal, hub: HubProcess) -> None:
    nobody = ask("pairing", "list")
    code = rings(hub, "bob")
    listed = ask("pairing", "list", "doorbell")
    (waiting,) = ask("pairing", "list", "--json").json
    wrong = ask("pairing", "approve", "doorbell", "WRONG")
    approved = ask("pairing", "approve", "doorbell", code.lower())
    explained = ask("route", "explain", "--channel", "doorbell", "--peer", "bob", "--json").json
    again = ask("pairing", "list", "doorbell", "--json").json
    everybody = ask("pairing", "list", "--all", "--json").json
    status, receipt = hub.post("/doorbell", {"id": "bob-2", "who": "bob", "text": "/whoami"})
    revoked = ask("pairing", "revoke", "doorbell", "doorbell:user:bob")

    assert nobody.out == "No requests are waiting.\n"
    assert "doorbell:user:bob" in listed.out
    assert code not in f"{listed.out}{waiting}{everybody}"
    assert (waiting["identity"], waiting["state"]) == ("doorbell:user:bob", "pending")
    assert (wrong.code, "no pairing request" in wrong.err) == (1, True)
    assert explained["access"]["allowed"] is True
    assert approved.out == "doorbell:user:bob may write to the assistant on doorbell now.\n"
    assert again == []
    assert [(each["state"], each["decidedBy"]) for each in everybody] == [("approved", "owner")]
    assert (status, receipt["accepted"]) == (200, True)
    assert revoked.code == 0
    assert hub.post("/doorbell", {"id": "bob-3", "who": "bob", "text": "/whoami"})[1]["accepted"] is False


def test_a_request_is_denied_by_its_id(ask: Terminal, hub: HubProcess) -> None:
    rings(hub, "mallory")
    waiting = ask("pairing", "list", "--json").json

    denied = ask("pairing", "deny", "doorbell", waiting[-1]["id"], "--json")

    assert (denied.code, denied.json["identity"], denied.json["state"]) == (0, "doorbell:user:mallory", "denied")


def test_whoever_asks_can_be_a_person_of_this_home(ask: Terminal, hub: HubProcess) -> None:
    code = rings(hub, "my-phone")

    nobody = ask("pairing", "approve", "doorbell", code, "--person", "you")
    approved = ask("pairing", "approve", "doorbell", code, "--person", "me")
    hub.post("/doorbell", {"id": "phone-2", "who": "my-phone", "text": "/whoami"})

    assert "known: me" in nobody.err
    assert approved.out == "doorbell:user:my-phone is me now.\n"
    assert 'identities: ["doorbell:user:my-phone"]}]   # just me' in (hub.home / "configuration.yaml").read_text()
    assert until(lambda: "You are Me" in (hub.home / "doorbell" / "sent.jsonl").read_text())


def test_it_explains_who_answers_whom_and_why(ask: Terminal, hub: HubProcess) -> None:
    facts = ("--channel", "doorbell", "--json")
    eve = ask("route", "explain", "--peer", "eve", *facts).json
    yard = ask("route", "explain", "--peer", "yard", "--chat-type", "group", *facts).json
    topic = ask("route", "explain", "--peer", "yard", "--chat-type", "group", "--topic", "5", *facts).json
    words = ask("route", "explain", "--channel", "nowhere", "--peer", "1")
    foreign = ask("route", "explain", "--peer", "1", "--sender", "telegram:user:1", *facts)

    assert (eve["access"]["allowed"], eve["access"]["offersPairing"]) == (False, True)
    assert eve["route"] == {
        "agentId": "cook",
        "matchedBy": "peer",
        "binding": 0,
        "sessionKey": "agent:cook:doorbell:direct:eve",
        "alsoAgents": [],
        "alsoSessions": [],
    }
    assert (yard["access"]["allowed"], yard["access"]["activation"]) == (True, "always")
    assert (yard["route"]["agentId"], yard["route"]["matchedBy"]) == ("cook", "group")
    assert topic["route"]["sessionKey"] == "agent:cook:doorbell:group:yard:topic:5"
    assert "Let in:   no" in words.out
    assert "is not logged in" in words.out
    assert foreign.code != 0


@pytest.mark.parametrize(
    ("account", "told"),
    [
        ("dm_policy: open", "allow_from"),
        ('allow_from: ["*"]', "dm_policy: open"),
        ("groups: {yard: {agent: nobody}}", "there is no agent 'nobody'"),
        ("allow_from: [Bob]", "expected an identity"),
    ],
)
def test_check_says_what_would_let_in_the_wrong_ones(
    ask: Terminal, tmp_path_factory: pytest.TempPathFactory, account: str, told: str
) -> None:
    home = make_home(
        tmp_path_factory.mktemp("check") / "home", f"doorbell:\n  place: x\n  {account}\n", own=("doorbell",)
    )

    ran = ask("check", "--config", str(home))

    assert ran.code == 3
    assert told in ran.out
