"""A fresh machine: one command, a conversation without key and network, and the same after a restart."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.talk import chat, connected, messages_of, say
from tests.servers.hub_process import HubProcess

HEARD = "12 May"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub on a directory that was not there before, with no key and no network to reach."""
    home = tmp_path_factory.mktemp("first") / "home"
    with HubProcess(home, {"no_proxy": "*", "HTTPS_PROXY": "http://127.0.0.1:9"}) as process:
        yield process


def client(hub: HubProcess) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{hub.url}/v1", api_key=hub.token, max_retries=0)


def complete(hub: HubProcess, text: str, **more: Any) -> str:
    headers = {"x-homarus-session": "main"}
    with client(hub) as api:
        answer = api.chat.completions.create(
            model="homarus", messages=[{"role": "user", "content": text}], extra_headers=headers
        )
        return answer.choices[0].message.content or ""


def complete_in_pieces(hub: HubProcess, text: str) -> str:
    headers = {"x-homarus-session": "main"}
    with client(hub) as api:
        stream = api.chat.completions.create(
            model="homarus", messages=[{"role": "user", "content": text}], extra_headers=headers, stream=True
        )
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def test_an_empty_place_becomes_a_home_that_only_its_owner_reads(hub: HubProcess) -> None:
    modes = {}
    for path in [hub.home, *hub.home.rglob("*")]:
        with suppress(FileNotFoundError):  # one that was being written
            modes[path] = stat.S_IMODE(path.lstat().st_mode)

    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
    made = {str(path.relative_to(hub.home)) for path in modes}
    assert {
        "configuration.yaml",
        "secrets.yaml",
        ".storage/hub.db",
        ".storage/history.db",
        ".storage/hub_token",
    } <= made
    names = {"AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md"}
    assert {f"workspace/{name}" for name in names} <= made


def test_the_starter_configuration_passes_the_check(hub: HubProcess) -> None:
    ran = hub.cli("check", "--json")

    assert ran.returncode == 0
    assert json.loads(ran.stdout) == {"valid": True, "errors": [], "warnings": []}


async def test_it_remembers_through_every_door_and_after_a_restart(hub: HubProcess) -> None:
    chat(hub, "remember that the boiler was serviced on 12 May")

    assert HEARD in chat(hub, "when was the boiler serviced?")["reply"]
    assert HEARD in complete(hub, "when was the boiler serviced?")
    assert HEARD in complete_in_pieces(hub, "when was the boiler serviced?")
    async with connected(hub) as socket:
        assert HEARD in await say(socket, "when was the boiler serviced?", "before")

    before = messages_of(hub)
    assert hub.stop() == 0
    hub.start()

    assert messages_of(hub) == before
    assert HEARD in chat(hub, "when was the boiler serviced?")["reply"]
    assert HEARD in complete(hub, "when was the boiler serviced?")
    assert HEARD in complete_in_pieces(hub, "when was the boiler serviced?")
    async with connected(hub) as socket:
        history = await socket.call("chat.history", {"sessionKey": "main"})
        assert len(history["payload"]["messages"]) > len(before) / 2
        assert HEARD in await say(socket, "when was the boiler serviced?", "after")


def test_what_was_remembered_is_a_line_in_a_markdown_file(hub: HubProcess) -> None:
    chat(hub, "remember that the spare key is with Mrs Novak")

    files = list((hub.home / "workspace").glob("**/*.md"))

    assert any("Mrs Novak" in path.read_text() for path in files)


def test_it_speaks_chinese(hub: HubProcess) -> None:
    chat(hub, "记住锅炉是5月12日检修的")

    answer = chat(hub, "锅炉是什么时候检修的？")["reply"]

    assert "5月12日" in answer
    assert "boiler" not in answer


@pytest.mark.parametrize("text", ["what time is it?", "what is 12 * 12?", "status", "help", "现在几点？", "帮助"])
def test_it_always_answers_something(hub: HubProcess, text: str) -> None:
    answer = chat(hub, text, "--session", "small-talk")

    assert answer["reply"].strip()
    assert "error" not in answer


def test_what_it_does_not_understand_tells_how_to_add_a_model(hub: HubProcess) -> None:
    answer = chat(hub, "write me a sonnet about the tax office", "--session", "small-talk")["reply"]

    assert "model" in answer
    assert "configuration.yaml" in answer or "API_KEY" in answer


def test_nothing_that_a_person_wrote_is_overwritten_by_a_start(hub: HubProcess) -> None:
    soul = hub.home / "workspace" / "SOUL.md"
    soul.write_text("You are brief.\n")
    configuration: Path = hub.home / "configuration.yaml"
    configuration.write_text(configuration.read_text() + "# my own comment\n")
    (hub.home / "workspace" / "BOOTSTRAP.md").unlink()
    hub.stop()
    before = {path: path.read_bytes() for path in [*hub.home.glob("*.yaml"), *hub.home.glob("workspace/*.md")]}

    hub.start()

    after = {path: path.read_bytes() for path in [*hub.home.glob("*.yaml"), *hub.home.glob("workspace/*.md")]}
    assert after == before
