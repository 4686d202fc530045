"""The user's own integrations, under `custom_integrations/`: what they bring, and the fate of broken ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.homes import MODELS, add_integration, make_home
from tests.e2e.talk import ask, chat, integration, query, results_of, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

OWNER = {"id": "1", "who": "7", "text": "hello"}
CONFIGURATION = (
    "people:\n  - {id: me, name: Me, owner: true, identities: ['doorbell:user:7']}\n"
    "  - {id: child, name: Child, identities: ['doorbell:user:8']}\n"
    "agents:\n  - {id: main, default: true}\n  - {id: porter}\n"
    "bindings:\n  - {agent: porter, match: {channel: doorbell, peer: '8'}}\n"
    "doorbell:\n  place: front door\n  dm_policy: pairing\n  group_policy: allowlist\n  groups: ['street']\n"
)
PLACE = "front door"
EMPTY = "async def setup(host, config): pass\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    sections = "crooked:\nthrows:\nneedy:\nleaning:\nno_setup:\n"
    configuration = CONFIGURATION + sections + MODELS.format(base_url=server.base_url)
    home = make_home(tmp_path_factory.mktemp("own") / "home", configuration, own=("doorbell",))
    add_integration(home, "crooked", "import this is not Python\n")
    add_integration(home, "throws", "async def setup(host, config):\n    1 / 0\n")
    add_integration(home, "needy", "import nonexistent_package_xyz\n" + EMPTY, requirements=["nonexistent-package-xyz"])
    add_integration(home, "leaning", EMPTY, dependencies=["throws"])
    add_integration(home, "no_setup", "async def unload(host): pass\n")
    add_integration(
        home,
        "sessions",
        "from hub.core.schema import Schema\nfrom hub.tools.contract import Annotations, Tool, ToolResult\n"
        "from hub.tools.parameters import from_schema\n\n"
        "async def setup(host, config):\n"
        "    async def run(call): return ToolResult('my own status')\n"
        "    tool = Tool('session_status', 'Mine.', from_schema(Schema({})), run, 'session',\n"
        "                Annotations(read_only=True, open_world=False, owner_only=False))\n"
        "    host.tools.add(tool)\n",
        default=True,
    )
    with HubProcess(home) as hub:
        yield hub


@pytest.fixture(autouse=True)
def nothing_scripted(server: OpenAIServerProcess) -> None:
    server.reset()


def sent(hub: HubProcess) -> list[dict[str, Any]]:
    """What the doorbell was given to say."""
    path = hub.home / "doorbell" / "sent.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def said(hub: HubProcess, **heard: Any) -> dict[str, Any]:
    """Say something at the door; return the receipt."""
    status, receipt = hub.post("/doorbell", heard)
    assert status == 200, receipt
    found: dict[str, Any] = receipt
    return found


def answers(hub: HubProcess, who: str) -> list[str]:
    return [each["text"] for each in sent(hub) if each["to"] == who]


def repair_of(hub: HubProcess, domain: str) -> dict[str, Any]:
    found = [each for each in hub.rpc("status")["repairs"] if each["id"] == domain]
    assert len(found) == 1, hub.rpc("status")["repairs"]
    repair: dict[str, Any] = found[0]
    return repair


@contextmanager
def edited(hub: HubProcess, old: str, new: str) -> Iterator[None]:
    """Change the configuration as an editor would, and change it back."""
    path = hub.home / "configuration.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        yield
    finally:
        path.write_text(text)
        hub.rpc("service.call", {"service": "hub.reload"})  # returns when it is in force
        until(lambda: integration(hub, "doorbell")["state"] == "set_up" and PLACE in place(hub))


def test_it_is_set_up_and_shown(hub: HubProcess) -> None:
    found = integration(hub, "doorbell")

    assert (found["state"], found["version"], found["custom"], found["overrides"]) == ("set_up", "1.2.3", True, False)


def test_its_tool_its_service_and_its_state_are_there_for_agents(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue(
        {"tool_call": {"name": "get_state", "arguments": {"entity_id": "sensor.doorbell"}}},
        {"tool_call": {"name": "ring_doorbell", "arguments": {"times": 3}}},
        {"tool_call": {"name": "get_state", "arguments": {"search": "doorbell"}}},
        {"tool_call": {"name": "call_service", "arguments": {"domain": "doorbell", "service": "open"}}},
        {"tool_call": {"name": "call_service", "arguments": {"domain": "doorbell", "service": "melt"}}},
        "done",
    )

    ended = ask(hub, "ring", session="ring")

    assert ended["reply"] == "done"
    outputs = [result["content"][0]["text"] for result in results_of(hub, "ring")]
    assert "quiet" in outputs[0]
    assert outputs[1] == "It rang 3 times at the front door."
    assert "ringing" in outputs[2]
    assert "front door" in outputs[3]
    assert "doorbell.open" in outputs[4]
    assert "melt" not in outputs[4].split("there are")[1]
    assert [result["isError"] for result in results_of(hub, "ring")] == [False] * 4 + [True]


@pytest.mark.parametrize(("approved", "told"), [(True, "front door"), (False, "the owner said no")])
def test_a_service_that_asks_is_called_when_the_owner_says_so(
    hub: HubProcess, server: OpenAIServerProcess, approved: bool, told: str
) -> None:
    session = f"unlock-{approved}"
    server.queue(
        {"tool_call": {"name": "call_service", "arguments": {"domain": "doorbell", "service": "unlock"}}}, "done"
    )
    hub.rpc("chat.send", {"sessionKey": session, "message": "unlock", "idempotencyKey": session})

    until(lambda: hub.rpc("approval.list")["approvals"])
    (waiting,) = hub.rpc("approval.list")["approvals"]
    hub.rpc(
        "approval.resolve", {"id": waiting["code"], "kind": "exec", "decision": "allow-once" if approved else "deny"}
    )
    hub.rpc("agent.wait", {"runId": session, "timeoutMs": 60_000})

    assert waiting["details"] == {"service": "doorbell.unlock", "data": {}}
    (result,) = results_of(hub, session)
    assert told in result["content"][0]["text"]
    assert result["isError"] is not approved


def test_a_message_through_its_channel_is_answered_once_and_in_the_owners_main_session(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.set_default("who is it?")

    first = said(hub, **OWNER)
    second = said(hub, **OWNER)
    until(lambda: answers(hub, "7"))

    assert (first["accepted"], first["duplicate"], first["session_key"]) == (True, False, "agent:main:main")
    assert (second["inbox_id"], second["run_id"], second["duplicate"]) == (first["inbox_id"], first["run_id"], True)
    assert answers(hub, "7") == ["who is it?"]
    assert len(server.requests()) == 1


def test_bindings_send_a_person_to_their_agent_and_strangers_get_a_code_alone(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    child = said(hub, id="2", who="8", text="hi")
    stranger = said(hub, id="3", who="9", text="hi")
    until(lambda: answers(hub, "8") and answers(hub, "9"))

    assert child["session_key"] == "agent:porter:doorbell:direct:8"
    assert (stranger["accepted"], stranger["run_id"]) == (False, None)
    assert "doorbell:user:9" in stranger["reason"]
    assert ["Give this code to the owner" in each for each in answers(hub, "9")] == [True]


def test_groups_need_to_be_listed_and_the_assistant_to_be_mentioned(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    unlisted = said(hub, id="4", who="7", text="hi", group="alley", mentioned=True)
    unmentioned = said(hub, id="5", who="7", text="hi", group="street")
    mentioned = said(hub, id="6", who="7", text="hi", group="street", mentioned=True)
    until(lambda: answers(hub, "street"))

    assert [each["accepted"] for each in (unlisted, unmentioned, mentioned)] == [False, False, True]
    assert mentioned["session_key"] == "agent:main:doorbell:group:street"
    assert [each["reply_to"] for each in sent(hub) if each["to"] == "street"] == ["6"]


def test_commands_are_answered_without_a_model(hub: HubProcess, server: OpenAIServerProcess) -> None:
    receipts = [
        said(hub, id=f"c{number}", who="7", text=text)
        for number, text in enumerate(["/where", "/whoami", "/nonsense", "/help"])
    ]
    until(lambda: len(answers(hub, "7")) >= 5)

    assert receipts[0]["reply"] == "I hang at the front door."
    assert "You are Me" in receipts[1]["reply"]
    assert "/nonsense" in receipts[2]["reply"]
    assert "/where: tell where the doorbell hangs" in receipts[3]["reply"]
    assert server.requests() == []


def test_long_answers_come_in_pieces_in_order(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default(" ".join(f"word{number}" for number in range(120)))
    before = len(answers(hub, "8"))

    said(hub, id="long", who="8", text="tell me all")
    until(lambda: answers(hub, "8")[before:] and "word119" in answers(hub, "8")[-1])

    pieces = answers(hub, "8")[before:]
    assert len(pieces) > 2
    assert all(len(piece) <= 200 for piece in pieces)
    assert " ".join(pieces).split() == [f"word{number}" for number in range(120)]


def test_a_failed_run_is_told_through_the_channel_in_its_place(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue({"status": 400, "body": {"error": {"message": "no such thing"}}}, "fine again")
    before = len(answers(hub, "8"))

    said(hub, id="bad", who="8", text="first")
    until(lambda: len(answers(hub, "8")) == before + 1)  # or both would be answered in one turn
    said(hub, id="good", who="8", text="second")
    until(lambda: len(answers(hub, "8")) == before + 2)

    failed, good = answers(hub, "8")[before:]
    assert "no such thing" in failed
    assert good == "fine again"


def test_what_its_channel_could_not_send_is_sent_after_a_restart(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default("late but sure")
    away = hub.home / "doorbell" / "away"
    away.touch()
    before = len(answers(hub, "8"))
    receipt = said(hub, id="late", who="8", text="are you there?")
    hub.rpc("agent.wait", {"runId": receipt["run_id"], "timeoutMs": 60_000})
    until(lambda: query(hub, "SELECT attempts FROM outbox WHERE run_id = ? AND attempts > 0", receipt["run_id"]))

    hub.kill()
    away.unlink()
    hub.start()
    until(lambda: len(answers(hub, "8")) > before)

    assert answers(hub, "8")[before:] == ["late but sure"]
    assert said(hub, id="late", who="8", text="are you there?")["duplicate"]


def test_those_that_break_say_why_and_where_and_stop_no_other(hub: HubProcess) -> None:
    broken = ("crooked", "throws", "needy", "leaning", "no_setup")
    until(lambda: all(integration(hub, domain)["state"] == "failed" for domain in broken))
    states = {each["domain"]: each for each in hub.rpc("status")["integrations"]}

    for domain in broken:
        assert states[domain]["reason"] in repair_of(hub, domain)["text"]
    assert "SyntaxError" in states["crooked"]["reason"]
    assert states["throws"]["reason"] == "ZeroDivisionError: division by zero (__init__.py, line 2)"
    assert "nonexistent-package-xyz" in states["needy"]["reason"]
    assert "uv pip install" in states["needy"]["reason"]
    assert "throws" in states["leaning"]["reason"]
    assert "async def setup" in states["no_setup"]["reason"]
    assert states["files"]["state"] == "set_up"


def test_one_of_the_same_domain_takes_the_place_of_a_bundled_one(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue({"tool_call": {"name": "session_status", "arguments": {}}}, "done")

    ask(hub, "status", session="override")

    assert integration(hub, "sessions")["overrides"] is True
    assert results_of(hub, "override")[0]["content"][0]["text"] == "my own status"


def test_a_changed_section_sets_up_that_integration_alone(hub: HubProcess) -> None:
    before = {each["domain"]: each["since"] for each in hub.rpc("status")["integrations"]}

    with edited(hub, PLACE, "garden gate"):
        until(lambda: "garden gate" in place(hub))

        after = {each["domain"]: each["since"] for each in hub.rpc("status")["integrations"]}
        assert {domain for domain in before if before[domain] != after[domain]} == {"doorbell"}


def test_a_set_up_that_fails_takes_back_what_it_brought_and_a_mended_one_brings_it_again(hub: HubProcess) -> None:
    with edited(hub, PLACE, f"{PLACE}\n  setup: fails"):
        until(lambda: integration(hub, "doorbell")["state"] == "failed")

        assert "the wire is cut" in repair_of(hub, "doorbell")["text"]
        assert hub.post("/doorbell", OWNER)[0] == 404
        assert "ring_doorbell" not in tools(hub)

    assert "ring_doorbell" in tools(hub)
    until(lambda: [each for each in hub.rpc("status")["repairs"] if each["id"] == "doorbell"] == [])


def test_one_that_is_not_ready_is_tried_until_it_is(hub: HubProcess) -> None:
    with edited(hub, PLACE, f"{PLACE}\n  setup: waits"):
        until(lambda: integration(hub, "doorbell")["state"] == "retrying")
        assert "does not answer" in integration(hub, "doorbell")["reason"]

        (hub.home / "doorbell" / "ready").touch()
        until(lambda: integration(hub, "doorbell")["state"] == "set_up")


def test_a_broken_section_changes_nothing_and_is_told_with_its_line(hub: HubProcess) -> None:
    with edited(hub, f"place: {PLACE}", f"plaze: {PLACE}"):
        told = until(lambda: [each for each in hub.rpc("status")["repairs"] if "plaze" in each["text"]])

        line = 1 + (hub.home / "configuration.yaml").read_text().splitlines().index(f"  plaze: {PLACE}")
        assert told[0]["location"]["line"] == line
        until(lambda: integration(hub, "doorbell")["state"] == "set_up")
        checked = json.loads(hub.cli("check", "--json").stdout)
        assert line in {error["line"] for error in checked["errors"]}

    until(lambda: not [each for each in hub.rpc("status")["repairs"] if "plaze" in each["text"]])


def test_a_removed_section_takes_the_integration_away(hub: HubProcess) -> None:
    section = CONFIGURATION[CONFIGURATION.index("doorbell:\n") :]
    with edited(hub, section, ""):
        until(lambda: integration(hub, "doorbell")["state"] == "absent")

        until(lambda: "ring_doorbell" not in tools(hub) and hub.post("/doorbell", OWNER)[0] == 404)


def test_the_check_agrees_with_the_hub_about_what_is_valid(hub: HubProcess) -> None:
    ran = hub.cli("check", "--json")

    assert ran.returncode == 0
    assert json.loads(ran.stdout)["valid"] is True
    assert chat(hub, "hello", "--session", "still-there")["reply"] == "ok"


def tools(hub: HubProcess) -> set[str]:
    return {tool["name"] for tool in hub.rpc("tools.catalog")["tools"]}


def place(hub: HubProcess) -> str:
    """What the doorbell says of its place."""
    number = query(hub, "SELECT count(*) FROM inbox")[0][0]
    status, receipt = hub.post("/doorbell", {"id": f"where-{number}", "who": "7", "text": "/where"})
    return str(receipt["reply"]) if status == 200 else ""


def test_one_that_is_added_while_the_hub_runs_can_be_configured_at_once(hub: HubProcess) -> None:
    add_integration(hub.home, "latecomer", EMPTY)
    path = hub.home / "configuration.yaml"
    path.write_text(path.read_text() + "latecomer:\n")

    until(lambda: integration(hub, "latecomer")["state"] == "set_up")

    assert "there is no integration or section latecomer" not in hub.log.read_text()
