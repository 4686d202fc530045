"""Changing the configuration of a hub that runs: only what changed is applied, and what is broken changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import ask, chat, connected, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

NEEDS_RESTART = "http: {allowed_hosts: [attic.example], limits: {}}"
RESTARTS = "the hub restarts for what changed"


@pytest.fixture(scope="module")
def start_text(server: OpenAIServerProcess) -> str:
    return "hub:\n  name: Home # keep me\n" + MODELS.format(base_url=server.base_url)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, start_text: str) -> Iterator[HubProcess]:
    with HubProcess(make_home(tmp_path_factory.mktemp("live") / "home", start_text)) as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


@pytest.fixture
def hub(running: HubProcess, server: OpenAIServerProcess, start_text: str) -> Iterator[HubProcess]:
    """A hub on the configuration that all tests begin with."""
    server.reset()
    yield running
    root(running).write_text(start_text)
    until(lambda: raw(running) == start_text and not repairs(running))
    until(lambda: agents(running) == ["main"] and running.rpc("status")["models"]["default"] == "test/scripted")


def root(hub: HubProcess) -> Path:
    return hub.home / "configuration.yaml"


def raw(hub: HubProcess) -> str:
    return str(hub.rpc("config.get")["raw"])


def repairs(hub: HubProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hub.rpc("status")["repairs"]
    return found


def agents(hub: HubProcess) -> list[str]:
    return [agent["id"] for agent in hub.rpc("status")["agents"]]


def append(hub: HubProcess, text: str) -> None:
    root(hub).write_text(root(hub).read_text() + text)


def test_an_agent_that_is_added_answers_and_one_that_is_removed_does_not(hub: HubProcess) -> None:
    append(hub, "agents:\n  - {id: main, default: true}\n  - {id: cook}\n")
    until(lambda: agents(hub) == ["main", "cook"])

    assert chat(hub, "hello", "--agent", "cook")["session_key"] == "agent:cook:main"
    assert (hub.home / "workspace-cook" / "SOUL.md").exists()

    root(hub).write_text(root(hub).read_text().replace("  - {id: cook}\n", ""))
    until(lambda: agents(hub) == ["main"])
    assert "cook" in chat(hub, "hello", "--agent", "cook", code=1)["error"]["message"]
    assert (hub.home / "workspace-cook" / "SOUL.md").exists()


def test_a_changed_model_is_asked_from_the_next_message_on(hub: HubProcess, server: OpenAIServerProcess) -> None:
    ask(hub, "hello", session="models")

    root(hub).write_text(root(hub).read_text().replace("default: test/scripted", "default: test/other"))
    until(lambda: hub.rpc("status")["models"]["default"] == "test/other")
    ask(hub, "hello", session="models")

    assert [request["body"]["model"] for request in server.requests()] == ["scripted", "other"]


def test_a_fallback_answers_for_a_provider_that_is_not_there(hub: HubProcess, start_text: str) -> None:
    text = start_text.replace("default: test/scripted", "default: nowhere/gone\n  fallbacks: [test/other]").replace(
        "  providers:\n",
        "  providers:\n    nowhere: {api: openai, base_url: 'http://127.0.0.1:9/v1', models: [gone]}\n",
    )
    root(hub).write_text(text)
    until(lambda: hub.rpc("status")["models"]["default"] == "nowhere/gone")

    answer = chat(hub, "hello", "--session", "fallback")

    assert answer["reply"] == "ok"
    assert "error" not in answer
    assert [(each["kind"], each["instead"]) for each in answer["notices"]] == [("failover", "test/other")]

    person = Person("chat", "--session", "fallback_lines", "--config", str(hub.home))
    person.wait_for("> ")
    person.press(b"hello\r")
    person.wait_for("test/other")
    person.press(b"/quit\r")
    assert person.leave() == 0


def test_a_run_that_goes_on_is_not_disturbed_by_a_change_of_its_provider(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue([{"text": "before "}, {"hold": "change"}, {"text": "and after"}])
    hub.rpc("chat.send", {"sessionKey": "through", "message": "hi", "idempotencyKey": "through"})
    until(lambda: len(server.requests()) == 1)

    root(hub).write_text(root(hub).read_text().replace("test-key-0123456789", "test-key-9876543210"))
    until(lambda: "9876543210" in root(hub).read_text() and hub.rpc("config.get")["valid"])
    ask(hub, "meanwhile", session="elsewhere")
    server.release("change")

    assert hub.rpc("agent.wait", {"runId": "through"})["reply"] == "before and after"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("http:\n  prot: 1\n", "prot"),
        ("agents:\n  - {id: A B}\n", "agents[0].id"),
        ("session: {dm_scope: everybody}\n", "dm_scope"),
        ("moddels: {}\n", "moddels"),
        ("\tbad\n", "tab"),
        ("agents: !include nowhere.yaml\n", "nowhere.yaml"),
    ],
)
def test_a_broken_file_changes_nothing_and_says_so_and_a_mended_one_is_in_force(
    hub: HubProcess, server: OpenAIServerProcess, start_text: str, broken: str, told: str
) -> None:
    root(hub).write_text(start_text.replace("test/scripted", "test/other") + broken)
    found = until(lambda: repairs(hub))

    assert any("last good one stays in force" in repair["title"] for repair in found)
    assert told in json.dumps(found)
    line = len(start_text.splitlines()) + 1
    assert any((repair["location"] or {}).get("line", 0) >= line for repair in found)
    assert hub.rpc("status")["state"] == "running"
    assert hub.rpc("status")["models"]["default"] == "test/scripted"
    assert chat(hub, "hello", "--session", "during")["reply"] == "ok"

    root(hub).write_text(start_text.replace("test/scripted", "test/other"))
    until(lambda: not repairs(hub) and hub.rpc("status")["models"]["default"] == "test/other")


def test_a_file_that_is_gone_changes_nothing(hub: HubProcess, start_text: str) -> None:
    root(hub).unlink()
    found = until(lambda: repairs(hub))

    assert "configuration.yaml" in json.dumps(found)
    assert chat(hub, "hello", "--session", "gone")["reply"] == "ok"
    root(hub).write_text(start_text)


def test_what_needs_a_restart_says_so_until_it_is_taken_back(hub: HubProcess, start_text: str) -> None:
    root(hub).write_text(start_text + "http:\n  port: 4444\n")
    found = until(lambda: repairs(hub))

    assert "restart" in found[0]["title"]
    assert hub.rpc("health")["ok"]


def test_automations_go_by_a_new_place_and_a_new_time_zone_at_once(hub: HubProcess, start_text: str) -> None:
    def automation(id: str) -> dict[str, Any]:
        return next((each for each in hub.rpc("automation.list")["automations"] if each["id"] == id), {})

    evening = "{id: evening, triggers: [{trigger: sun, event: sunset}], actions: [{stop: done}]}"
    seven = "{id: seven, triggers: [{trigger: time, at: '07:00'}], actions: [{stop: done}]}"
    append(hub, f"automation: [{evening}, {seven}]\n")
    until(lambda: "latitude" in (automation("evening").get("error") or ""))
    before = automation("seven")["next_run"]

    place = "hub:\n  latitude: 52.5\n  longitude: 13.4\n  time_zone: Asia/Tokyo\n"
    root(hub).write_text(root(hub).read_text().replace("hub:\n", place, 1))

    def earlier() -> timedelta:
        return datetime.fromisoformat(before) - datetime.fromisoformat(automation("seven")["next_run"])

    until(lambda: automation("evening").get("error", "") is None)
    until(lambda: earlier() % timedelta(days=1) == timedelta(hours=9))


def test_an_included_file_is_watched_too(hub: HubProcess) -> None:
    (hub.home / "agents.yaml").write_text("- {id: main, default: true}\n")
    append(hub, "agents: !include agents.yaml\n")
    until(lambda: "agents.yaml" in raw(hub))

    (hub.home / "agents.yaml").write_text("- {id: main, default: true}\n- {id: gardener}\n")

    until(lambda: agents(hub) == ["main", "gardener"])


async def test_saving_over_the_gateway_tells_clients_keeps_comments_and_a_copy(hub: HubProcess) -> None:
    before = hub.rpc("config.get")
    text = before["raw"].replace("name: Home", "name: Villa")
    async with connected(hub) as client:
        saved = await client.call("config.set", {"raw": text, "baseHash": before["hash"]})
        changed = await client.event("config.changed", lambda told: "hub" in told["changed"])
        stale = await client.call("config.set", {"raw": text + "# more\n", "baseHash": before["hash"]})
        broken = await client.call(
            "config.set", {"raw": text + "http: {prot: 1}\n", "baseHash": hub.rpc("config.get")["hash"]}
        )

    assert saved["ok"], saved
    assert changed["payload"]["changed"] == ["hub"]
    assert "name: Villa # keep me" in root(hub).read_text()
    assert stale["ok"] is False
    assert broken["ok"] is False
    assert "prot" in json.dumps(broken)
    assert "prot" not in root(hub).read_text()
    history = json.loads(hub.cli("config", "history", "--json").stdout)
    assert history != []


def test_a_value_is_set_from_the_command_line_and_in_force(hub: HubProcess) -> None:
    ran = hub.cli("config", "set", "models.default", "test/other")
    until(lambda: hub.rpc("status")["models"]["default"] == "test/other")

    assert ran.returncode == 0
    assert "name: Home # keep me" in root(hub).read_text()
    assert hub.cli("config", "get", "models.default").stdout.strip() == "test/other"


def test_a_wrong_value_from_the_command_line_is_refused_with_the_reason(hub: HubProcess, start_text: str) -> None:
    ran = hub.cli("config", "set", "http.port", "many")

    assert ran.returncode == 3
    assert "http.port" in ran.stderr + ran.stdout
    assert root(hub).read_text() == start_text


def test_a_secret_is_never_shown_to_clients(hub: HubProcess, start_text: str) -> None:
    secrets = hub.home / "secrets.yaml"
    secrets.touch(mode=0o600)  # one that others can read is a finding of the audit, and a repair
    secrets.write_text("my_key: sk-hidden-0123456789abcdef\n")
    root(hub).write_text(start_text.replace("test-key-0123456789", "!secret my_key"))
    until(lambda: "!secret" in raw(hub) and not repairs(hub))

    shown = json.dumps([hub.rpc("config.get"), hub.rpc("status"), hub.rpc("logs.tail")])

    assert "sk-hidden" not in shown
    assert "sk-hidden" not in hub.log.read_text()


def reloading(tmp_path: Path, start_text: str, mode: str) -> HubProcess:
    text = start_text.replace("hub:\n", f"hub:\n  reload: {mode}\n", 1)
    return HubProcess(make_home(tmp_path / "home", text))


@pytest.mark.parametrize(("mode", "line"), [("hybrid", NEEDS_RESTART), ("restart", "agents: [{id: attic}]")])
def test_a_change_restarts_the_hub_where_the_configuration_asks_for_that(
    tmp_path: Path, start_text: str, mode: str, line: str
) -> None:
    with reloading(tmp_path, start_text, mode) as hub:
        append(hub, f"{line}\n")

        until(lambda: RESTARTS in hub.log.read_text() and hub.log.read_text().count("Dashboard: ") == 2)
        assert "attic" in raw(hub)


@pytest.mark.parametrize(("mode", "line"), [("hot", NEEDS_RESTART), ("hybrid", "agents: [{id: attic}]")])
def test_a_change_restarts_nothing_where_it_need_not(tmp_path: Path, start_text: str, mode: str, line: str) -> None:
    with reloading(tmp_path, start_text, mode) as hub:
        append(hub, f"{line}\n")
        hub.rpc("service.call", {"service": "hub.reload"})  # returns when the change is in force

        assert RESTARTS not in hub.log.read_text()
