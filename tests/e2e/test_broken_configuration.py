"""Whatever is broken in the configuration: the hub starts, says where, and leaves out no more than it must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hub.sections import core_sections
from tests.e2e.homes import add_integration, make_home
from tests.e2e.talk import chat, integration, until
from tests.servers.hub_process import HubProcess


@dataclass(frozen=True)
class Case:
    """A configuration and its outcome: the place of the error, the message, and whether the hub recovers."""

    text: str | bytes
    line: int
    told: str
    recovery: bool = False
    file: str = "configuration.yaml"
    more: dict[str, str] = field(default_factory=dict)


DOOR = "doorbell:\n  place: here\n"
CASES = {
    "a tab": Case("hub:\n\tname: Home\n", 2, "tab", True),
    "no mapping": Case("- hub\n", 1, "list", True),
    "not UTF-8": Case("hub: {name: Küche}\n".encode("latin-1"), 1, "UTF-8", True),
    "an open bracket": Case("hub: {name: Home\nagents: []\n", 1, "", True),
    "a wrong key in http": Case("http:\n  prot: 18789\n", 2, "port", True),
    "a wrong type in hub": Case("hub:\n  name: Home\n  time_zone: Europe/Berlim\n", 3, "Europe/Berlin", True),
    "a wrong address of a model": Case("models:\n  providers:\n    a:\n      base_url: not a url\n", 4, "http://"),
    "a missing secret of a model": Case("models:\n  providers:\n    a:\n      api_key: !secret absent\n", 4, "absent"),
    "two agents of one name": Case("agents:\n  - {id: main}\n  - {id: main}\n", 3, "two agents", True),
    "a person who is perhaps an owner": Case("people:\n  - {id: me, owner: perhaps}\n", 2, "true or false", True),
    "an error in a package": Case(
        "hub:\n  packages:\n    one: !include one.yaml\n",
        2,
        "port",
        True,
        "one.yaml",
        {"one.yaml": "http:\n  prot: 1\n"},
    ),
    "a section that is not there": Case("hub: {name: A}\nmoddels: {}\n", 2, "models"),
    "a key twice": Case("session: {dm_scope: main}\nsession: {dm_scope: auto}\n", 2, "second time"),
    "a wrong value": Case("session:\n  dm_scope: everybody\n", 2, "per-peer"),
    "an include of nothing": Case("bindings: !include nowhere.yaml\n", 1, "nowhere.yaml"),
    "a circle of includes": Case(
        "bindings: !include loop.yaml\n", 1, "loop", file="loop.yaml", more={"loop.yaml": "- !include loop.yaml\n"}
    ),
    "a tag of another program": Case("session: !python/name:os.system\n", 1, "!python"),
    "a binding to nobody": Case("bindings:\n  - {agent: nobody, match: {channel: webchat}}\n", 2, "nobody"),
    "a missing secret of an integration": Case(f"{DOOR}  key: !secret absent\n", 3, "absent"),
    "a wrong key of an integration": Case(f"{DOOR}  colour: red\n", 3, "colour"),
    "an integration with a broken schema": Case("hub: {name: A}\nwonky: {a: 1}\n", 2, "schema.py"),
    "a bomb of aliases": Case(
        "session: {}\na: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
        ),
        7,
        "alias",
        True,
    ),
    "tools with a typo": Case("tools:\n  profil: minimal\n  deny: [write]\n", 2, "profile"),
    "a token that is too short": Case('telegram:\n  token: "12:ab"\n', 2, "@BotFather"),
    "a secret that is too short": Case(
        "telegram:\n  token: !secret bot\n", 2, "@BotFather", more={"secrets.yaml": 'bot: "12:ab"\n'}
    ),
    "an integration of every home misspelt": Case("web_serch: {}\n", 1, "web_search"),
    "tools misspelt": Case("toolz:\n  deny: [write]\n", 1, "tools"),
}
CORE = {section.name for section in core_sections()}
DOORS = ("a missing secret of an integration", "a wrong key of an integration")


@pytest.fixture(scope="module")
def hubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, HubProcess]]:
    """A hub for each case, all started at once."""
    hubs: dict[str, HubProcess] = {}
    for number, (name, case) in enumerate(CASES.items()):
        home = make_home(tmp_path_factory.mktemp("broken") / f"home{number}", "", own=("doorbell",))
        text = case.text if isinstance(case.text, bytes) else case.text.encode()
        (home / "configuration.yaml").write_bytes(text)
        for file, content in case.more.items():
            (home / file).write_text(content)
        (add_integration(home, "wonky", "async def setup(hub, config): pass\n") / "schema.py").write_text("def (:\n")
        hubs[name] = HubProcess(home)
        hubs[name].start_limit_s = 300.0  # all of them begin at once
    try:
        for hub in hubs.values():
            hub.start(wait=False)
        for hub in hubs.values():
            hub.wait_ready()
        yield hubs
    finally:
        for hub in hubs.values():
            hub.kill()


@pytest.mark.parametrize("name", CASES)
def test_it_starts_says_where_and_leaves_out_no_more_than_it_must(hubs: dict[str, HubProcess], name: str) -> None:
    case, hub = CASES[name], hubs[name]

    status = hub.rpc("status")
    checked = hub.cli("check", "--json")
    errors = json.loads(checked.stdout)["errors"]

    assert checked.returncode == 3
    assert status["state"] == ("recovery" if case.recovery else "running")
    places = [(error["file"], error["line"]) for error in errors]
    assert (case.file, case.line) in places, errors
    assert case.told in json.dumps(errors, ensure_ascii=False)
    assert all(error["column"] >= 1 for error in errors)
    repairs = [repair["location"] for repair in status["repairs"] if repair["source"] == "config"]
    assert {(each["file"], each["line"]) for each in repairs} == set(places)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.recovery])
def test_what_is_left_out_is_printed_logged_and_listed_with_its_reason(hubs: dict[str, HubProcess], name: str) -> None:
    case, hub = CASES[name], hubs[name]
    errors = json.loads(hub.cli("check", "--json").stdout)["errors"]
    said = hub.log.read_text().splitlines()

    listed = {each["domain"]: each for each in hub.rpc("integration.list")["integrations"]}

    for error in errors:
        place = f"{error['file']}:{error['line']}:{error['column']}: {error['path']}: {error['message']}"
        assert [line for line in said if line.startswith(f"Left out: {place}")]
        assert [line for line in said if " ERROR " in line and place in line]
        section = error["path"].split(".")[0].split("[")[0]
        if section not in CORE:
            assert listed[section]["state"] == "failed"
            assert case.told in listed[section]["reason"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.recovery])
def test_what_is_not_broken_runs(hubs: dict[str, HubProcess], name: str) -> None:
    hub = hubs[name]

    def broken() -> set[str]:
        return {each["domain"] for each in hub.rpc("status")["integrations"] if each["state"] != "set_up"}

    assert "12" in ask_time_less(hub)
    left_out = "doorbell" if name in DOORS else "wonky" if "schema" in name else "telegram" if "short" in name else ""
    until(lambda: broken() == ({left_out} if left_out else set()))


def ask_time_less(hub: HubProcess) -> str:
    """Ask what needs no model."""
    reply: str = chat(hub, "what is 3 * 4?")["reply"]
    return reply


@pytest.mark.parametrize("name", ["tools with a typo", "tools misspelt"])
def test_a_typo_in_what_is_forbidden_forbids_nearly_everything(hubs: dict[str, HubProcess], name: str) -> None:
    tools = hubs[name].rpc("tools.catalog")["tools"]

    assert {tool["name"] for tool in tools if tool["available"]} == {"session_status"}


def test_recovery_mode_serves_the_editor_and_says_what_it_cannot_do(hubs: dict[str, HubProcess]) -> None:
    hub = hubs["a wrong key in http"]

    status, answer = hub.post(
        "/api/rpc", {"method": "chat.send", "params": {"sessionKey": "main", "message": "hi", "idempotencyKey": "1"}}
    )
    chatted = hub.cli("chat", "hello")
    shown = hub.cli("status")
    completion, _ = hub.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]})

    assert hub.rpc("config.get")["valid"] is False
    assert hub.rpc("config.schema") != {}
    assert status >= 400
    assert "recovery" in answer["error"]["message"]
    assert chatted.returncode == 3
    assert "recovery" in chatted.stderr
    assert "Traceback" not in chatted.stderr
    assert "configuration.yaml:2:3" in shown.stdout
    assert completion == 503


def test_saving_a_valid_file_over_the_gateway_leaves_recovery_mode_at_the_same_address(
    hubs: dict[str, HubProcess],
) -> None:
    hub = hubs["a wrong key in http"]
    before = hub.rpc("config.get")

    saved = hub.rpc("config.set", {"raw": "http:\n  port: 18789\n", "baseHash": before["hash"]})
    until(lambda: state(hub) == "running")

    assert saved is not None
    assert "12" in ask_time_less(hub)
    until(lambda: hub.rpc("status")["repairs"] == [])


def test_mending_the_file_on_disk_leaves_recovery_mode(hubs: dict[str, HubProcess]) -> None:
    hub = hubs["a tab"]

    (hub.home / "configuration.yaml").write_text("hub:\n  name: Home\n")
    until(lambda: state(hub) == "running")

    assert "12" in ask_time_less(hub)
    until(lambda: hub.rpc("status")["repairs"] == [])


def test_adding_a_missing_secret_brings_its_model_provider_in(hubs: dict[str, HubProcess]) -> None:
    hub = hubs["a missing secret of a model"]
    pid = hub.pid

    secrets = hub.home / "secrets.yaml"
    secrets.touch(mode=0o600)  # one that others can read is a finding of the audit, and a repair
    secrets.write_text("absent: sk-not-absent-any-more-0123\n")
    until(lambda: hub.rpc("status")["repairs"] == [])

    until(lambda: "a" in [provider["name"] for provider in hub.rpc("status")["models"]["providers"]])
    assert hub.pid == pid


def test_fixing_the_file_leaves_recovery_mode(hubs: dict[str, HubProcess]) -> None:
    hub = hubs["a wrong key in http"]

    (hub.home / "configuration.yaml").write_text("hub: {name: Home}\n")
    until(lambda: state(hub) == "running")

    until(lambda: hub.rpc("status")["repairs"] == [])


def test_mending_what_was_left_out_brings_it_in_without_a_restart(hubs: dict[str, HubProcess]) -> None:
    hub = hubs["a wrong key of an integration"]
    pid = hub.pid

    (hub.home / "configuration.yaml").write_text(DOOR)
    until(lambda: integration(hub, "doorbell")["state"] == "set_up")
    until(lambda: hub.rpc("status")["repairs"] == [])

    assert hub.pid == pid


def test_mending_what_is_forbidden_puts_it_in_force(hubs: dict[str, HubProcess]) -> None:
    hub = hubs["tools with a typo"]

    (hub.home / "configuration.yaml").write_text("tools:\n  deny: [write]\n")
    until(lambda: hub.rpc("status")["repairs"] == [])

    def available() -> set[str]:
        return {tool["name"] for tool in hub.rpc("tools.catalog")["tools"] if tool["available"]}

    until(lambda: "read" in available())
    assert "write" not in available()


def state(hub: HubProcess) -> str:
    """The state of a hub that may just be coming back."""
    try:
        return str(hub.rpc("status")["state"])
    except (OSError, AssertionError):
        return "away"
