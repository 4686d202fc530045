"""The templates of `docs/integrations.md` work at the first try, and reload without a restart."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.templates import templates, write_templates
from tests.e2e.automating import traces
from tests.servers.hub_process import HubProcess

CONFIGURATION = """
people: [{{id: me, name: Me, owner: true, identities: ["lines:user:ada"]}}]
doorbell: {{address: "http://doorbell.local"}}
lines: {{port: {port}}}
models: {{default: mine/one, providers: {{mine: {{api: echo}}}}}}
knock: {{}}
automation:
  - id: knocked
    triggers: [{{trigger: knock, door: front}}]
    actions: [{{action: tool.invoke, data: {{tool: ring_doorbell}}}}]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("templates") / "home"
    write_templates(home, *templates())
    (home / "configuration.yaml").write_text(CONFIGURATION.format(port=port), encoding="utf-8")
    with HubProcess(home) as process:
        yield process


def edit(hub: HubProcess, domain: str, name: str, old: str, new: str) -> None:
    """Change a file of an integration and reload it, as a person does."""
    file = hub.home / "custom_integrations" / domain / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    ran = hub.cli("integration", "reload", domain)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def ring(hub: HubProcess) -> Any:
    called = {"service": "tool.invoke", "data": {"tool": "ring_doorbell", "arguments": {"times": 3}}}
    return hub.rpc("service.call", called)["response"]["output"]


def say(port: int, line: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(line.encode() + b"\n")
    return connection


def test_every_template_is_set_up_and_its_configuration_valid(hub: HubProcess) -> None:
    listed = {each["domain"]: each for each in hub.rpc("integration.list")["integrations"]}

    assert {domain: listed[domain]["reason"] for domain in templates() if domain != "hello"} == dict.fromkeys(
        set(templates()) - {"hello"}, ""
    )
    assert {listed[domain]["state"] for domain in templates() if domain != "hello"} == {"set_up"}
    assert hub.cli("check").returncode == 0


def test_the_tool_is_called_and_again_after_an_edit(hub: HubProcess) -> None:
    before = ring(hub)

    edit(hub, "doorbell", "tool.py", "The doorbell rang", "Ding, dong,")

    assert (before, ring(hub)) == ("The doorbell rang 3 times.", "Ding, dong, 3 times.")


def test_the_channel_answers_the_owner_and_gives_a_stranger_nothing_before_and_after_an_edit(
    hub: HubProcess, port: int
) -> None:
    owner, stranger = say(port, "1 ada good evening"), say(port, "1 eve /status")
    answered = owner.makefile().readline()
    stranger.settimeout(1)
    with pytest.raises(TimeoutError):
        stranger.recv(1)

    edit(hub, "lines", "channel.py", "writer.write(", 'writer.write(b"> " + ')
    again = say(port, "2 ada hello").makefile().readline()

    assert answered.startswith("You said:")
    assert "good evening" in answered
    assert again.startswith("> You said:")
    assert "/status" not in str(hub.rpc("chat.history", {"sessionKey": "main"})["messages"])
    assert stranger.recv(1) == b""


def test_the_trigger_fires_and_again_after_an_edit(hub: HubProcess) -> None:
    def fired(count: int) -> str:
        hub.rpc("service.call", {"service": "knock.knock", "data": {"door": "front"}})
        return str(traces(hub, "knocked", count)[0]["trigger"]["description"])

    before = fired(1)

    edit(hub, "knock", "trigger.py", "a knock at", "a loud knock at")

    assert (before, fired(2)) == ("a knock at front", "a loud knock at front")


def test_the_command_runs(hub: HubProcess) -> None:
    ran = hub.cli("hello", "Ada")

    assert (ran.returncode, ran.stdout) == (0, "Hello, Ada!\n")
