"""What `homarus integration new` writes works at the first try, and reloads without a restart."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.templates import PIECES, write_templates
from tests.e2e.automating import traces
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.ports import free_port

CONFIGURATION = """
nodes: {{commands: {{allow: [switch]}}}}
people: [{{id: me, name: Me, owner: true, identities: ["lines:user:ada"]}}]
doorbell: {{}}
lines: {{port: {port}}}
models: {{default: mine/one, providers: {{mine: {{api: echo}}}}}}
knock: {{}}
substrings: {{}}
letters: {{}}
memory: {{keywords: substrings, embeddings: {{provider: letters}}}}
lamps: {{node_port: {lamps}}}
porch: {{}}
greenhouse: {{}}
automation:
  - id: dusk
    triggers: [{{trigger: event, event_type: dusk}}]
    conditions: [{{condition: porch_sign, is: unknown}}]
    actions: [{{porch_sign: open}}]
  - id: night
    triggers: [{{trigger: event, event_type: night}}]
    conditions: [{{condition: porch_sign, is: open}}]
    actions: [{{porch_sign: closed}}]
  - id: knocked
    triggers: [{{trigger: knock_knock, door: front}}]
    actions: [{{action: tool.invoke, data: {{tool: ring_doorbell}}}}]
"""


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def lamps() -> int:
    return free_port()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, port: int, lamps: int) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("templates") / "home"
    write_templates(home, *PIECES)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(port=port, lamps=lamps), encoding="utf-8")
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

    used = set(PIECES) - {"hello", "diary"}
    assert {domain: listed[domain]["reason"] for domain in used} == dict.fromkeys(used, "")
    assert {listed[domain]["state"] for domain in used} == {"set_up"}
    assert hub.cli("check").returncode == 0


def test_the_tool_is_called_and_again_after_an_edit(hub: HubProcess) -> None:
    before = ring(hub)

    edit(hub, "doorbell", "tool.py", "The bell rang", "Ding, dong,")

    assert (before, ring(hub)) == ("The bell rang 3 times.", "Ding, dong, 3 times.")


def answer(line: socket.socket) -> str:
    """The first answer of the agent; before it, the owner may get a notice that somebody asks to be let in."""
    return next(each for each in line.makefile() if "You said:" in each)


def test_the_channel_answers_the_owner_and_gives_a_stranger_a_code_before_and_after_an_edit(
    hub: HubProcess, port: int
) -> None:
    offered = say(port, "1 eve /status").makefile()
    code = offered.readline()
    answered = answer(say(port, "1 ada good evening"))

    edit(hub, "lines", "channel.py", "writer.write(", 'writer.write(b"> " + ')
    again = answer(say(port, "2 ada hello"))

    assert answered.startswith("You said:")
    assert "good evening" in answered
    assert again.startswith("> You said:")
    assert "/status" not in str(hub.rpc("chat.history", {"sessionKey": "main"})["messages"])
    assert "Give this code to the owner" in code
    assert offered.readline() == ""


def test_the_trigger_fires_and_again_after_an_edit(hub: HubProcess) -> None:
    def fired(count: int) -> str:
        hub.rpc("service.call", {"service": "knock.knock", "data": {"door": "front"}})
        return str(traces(hub, "knocked", count)[0]["trigger"]["description"])

    before = fired(1)

    edit(hub, "knock", "trigger.py", "a knock at", "a loud knock at")

    assert (before, fired(2)) == ("a knock at front", "a loud knock at front")


def remembered(hub: HubProcess, words: str) -> Any:
    return hub.rpc("memory.search", {"query": words})


def test_the_memory_engine_finds_what_is_remembered_and_again_after_an_edit(hub: HubProcess) -> None:
    file = hub.home / "workspace" / "memory" / "2026-01-01.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# A day\n\n- The boilermaker came at nine.\n", encoding="utf-8")
    hub.rpc("memory.index", {})
    before = remembered(hub, "oilermake")

    edit(hub, "substrings", "engine.py", 'name = "substrings"', 'name = "pieces"')
    until(lambda: "keywords:pieces" in remembered(hub, "oilermake")["engines"])

    assert "keywords:substrings" in before["engines"]
    assert "boilermaker" in before["hits"][0]["text"]
    until(lambda: "boilermaker" in str(remembered(hub, "oilermake")["hits"]))


def test_the_embedding_model_finds_by_meaning_and_again_after_an_edit(hub: HubProcess) -> None:
    def by_meaning() -> tuple[str, str]:
        answer = remembered(hub, "moob rela")
        hits = [each for each in answer["hits"] if each.get("vector_score")]
        status = hub.rpc("memory.status", {})
        return status["index"]["embedder"]["model"], hits[0]["text"] if hits else ""

    file = hub.home / "workspace" / "memory" / "2026-01-02.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# A day\n\n- real boom\n", encoding="utf-8")
    hub.rpc("memory.index", {})
    before = by_meaning()

    edit(hub, "letters", "engine.py", 'model = "letters"', 'model = "characters"')
    hub.rpc("memory.index", {})

    assert before[0] == "letters"
    assert "real boom" in before[1]
    until(lambda: by_meaning()[0] == "characters" and "real boom" in by_meaning()[1])


def test_the_whole_memory_takes_the_place_of_the_notes_and_again_after_an_edit(hub: HubProcess) -> None:
    def memory() -> str:
        return str(hub.rpc("memory.search", {"query": "boiler"})["engines"])

    configuration = hub.home / "configuration.yaml"
    hub.cli("integration", "disable", "notes")
    configuration.write_text(
        configuration.read_text(encoding="utf-8") + "diary: {keeps_memory: true}\n", encoding="utf-8"
    )
    assert hub.cli("integration", "reload", "diary").returncode == 0
    added = hub.rpc("memory.add", {"text": "The boiler was serviced on 12 May."})
    hub.rpc("memory.add", {"text": "The boiler is in the cellar.", "shared": True})
    found = hub.rpc("memory.search", {"query": "when was the boiler serviced?"})["hits"]
    engines = memory()

    edit(hub, "diary", "memory.py", '["diary"]', '["journal"]')
    kept = hub.rpc("memory.search", {"query": "boiler"})["hits"]
    read = hub.rpc("memory.get", {"path": added["path"]})["text"]
    forgotten = hub.rpc("memory.forget", {"query": "boiler serviced"})["count"]
    left = hub.rpc("memory.search", {"query": "boiler"})["hits"]
    files = hub.rpc("memory.list", {})["files"]

    assert [hit["text"] for hit in found][:1] == ["The boiler was serviced on 12 May."]
    assert (engines, memory()) == ("['diary']", "['journal']")
    assert {hit["path"] for hit in kept} == {"diary/private.md", "diary/shared.md"}
    assert (read, forgotten) == ("- The boiler was serviced on 12 May.", 1)
    assert [hit["text"] for hit in left] == ["The boiler is in the cellar."]
    assert [each["path"] for each in files] == ["diary/private.md", "diary/person-me.md", "diary/shared.md"]

    hub.cli("integration", "disable", "diary")
    hub.cli("integration", "enable", "notes")
    until(lambda: "keywords" in memory())


def lamp(port: int) -> socket.socket:
    """Connect a lamp that obeys commands, and reports them."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(b"lamp-1 Reading lamp\n")

    def serve() -> None:
        with contextlib.suppress(OSError, ValueError):  # closed, by the hub or by the test
            for line in connection.makefile():
                asked = json.loads(line)
                connection.sendall(json.dumps({"key": asked["key"], "switched": asked["on"]}).encode() + b"\n")

    threading.Thread(target=serve, daemon=True).start()
    return connection


def nodes(hub: HubProcess) -> list[tuple[str, str, str]]:
    listed = [each for each in hub.rpc("node.list")["nodes"] if each["connected"]]
    return [(each["nodeId"], each["displayName"], each["transport"]) for each in listed]


def switch(hub: HubProcess) -> Any:
    called = {"service": "lamps.switch", "data": {"lamp": "lamp-1", "on": True}}
    return hub.rpc("service.call", called)["response"]


def test_a_node_comes_by_its_transport_is_asked_and_goes_with_it(hub: HubProcess, lamps: int) -> None:
    connection = lamp(lamps)
    until(lambda: nodes(hub) == [("lamp-1", "Reading lamp", "lamps")])
    hub.rpc("node.pair.approve", {"requestId": hub.rpc("node.pair.list")["pending"][0]["requestId"]})
    answered = switch(hub)

    edit(hub, "lamps", "node.py", 'name = "lamps"', 'name = "lanterns"')
    gone = nodes(hub)
    again = lamp(lamps)
    until(lambda: nodes(hub) == [("lamp-1", "Reading lamp", "lanterns")])
    answered_again = switch(hub)
    again.shutdown(socket.SHUT_RDWR)
    again.close()
    connection.close()

    assert (answered["switched"], answered_again["switched"]) == (True, True)
    assert gone == []
    until(lambda: nodes(hub) == [])


def test_the_condition_and_the_action_run_and_again_after_an_edit(hub: HubProcess) -> None:
    def sign() -> Any:
        return hub.rpc("state.get", {"entity_id": "sensor.porch_sign"})["state"]

    hub.rpc("event.fire", {"type": "dusk"})
    steps = str(hub.rpc("automation.trace.get", {"run_id": traces(hub, "dusk", 1)[0]["run_id"]}))
    before = sign()

    edit(hub, "porch", "action.py", 'step["porch_sign"], context', 'step["porch_sign"] + "!", context')
    hub.rpc("event.fire", {"type": "night"})

    assert "the sign says unknown" in steps
    assert before == "open"
    until(lambda: sign() == "closed!")


def page(hub: HubProcess, language: str) -> str:
    headers = {"Authorization": f"Bearer {hub.token}", "Accept": "text/html", "Accept-Language": language}
    request = urllib.request.Request(f"{hub.url}/greenhouse", headers=headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return str(response.read().decode())


def test_the_page_is_shown_in_both_languages_and_again_after_an_edit_and_gone_when_disabled(hub: HubProcess) -> None:
    english, chinese = page(hub, "en"), page(hub, "zh-CN")

    edit(hub, "greenhouse", "page.html", "<p class", "<p id='again' class")
    again = page(hub, "en")
    disabled = hub.cli("integration", "disable", "greenhouse")
    with pytest.raises(urllib.error.HTTPError) as gone:
        page(hub, "en")
    hub.cli("integration", "enable", "greenhouse")

    assert "It is 21 °C." in english
    assert 'href="/greenhouse"' in english
    assert "现在是 21 °C。" in chinese
    assert "我的 Greenhouse" in chinese
    assert "id='again'" in again
    assert (disabled.returncode, gone.value.code) == (0, 404)
    assert "It is 21 °C." in page(hub, "en")


def test_the_doctor_makes_the_check(hub: HubProcess) -> None:
    found = hub.cli("doctor", "--json")
    (hub.home / "paper.txt").write_text("enough")

    assert "The paper has not been checked." in found.stdout
    assert "The paper has not been checked." not in hub.cli("doctor", "--json").stdout


def test_the_command_runs(hub: HubProcess) -> None:
    ran = hub.cli("hello", "Ada")

    assert (ran.returncode, ran.stdout) == (0, "Hello, Ada!\n")
