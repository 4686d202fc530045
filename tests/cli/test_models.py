"""`homarus models`: what there is and how it does, fallbacks and aliases kept with their comments, keys tried."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.cli.terminal import Terminal
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.oauth_server import oauth_server
from tests.servers.openai_server import OpenAIServer
from tests.servers.ports import free_port


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub whose models are on a server that accepts one key."""
    with OpenAIServer() as server:
        provider = f"{{api: openai, base_url: '{server.base_url}', api_key: sk-good, models: [m, small]}}"
        configuration = f"# mine\nmodels:\n  default: mine  # the best\n  providers:\n    mine: {provider}\n"
        with HubProcess(make_home(tmp_path_factory.mktemp("models") / "home", configuration)) as process:
            server.key = "sk-good"
            yield process


def test_the_state_of_each_key_is_shown(ask: Terminal) -> None:
    shown = ask("models", "status").out

    assert "Default: mine/m (mine is configured)" in shown
    assert [line.split() for line in shown.splitlines() if line.startswith("mine")] == [
        ["mine", "default", "configuration", "ready"]
    ]


def test_models_are_listed_and_looked_for(ask: Terminal) -> None:
    assert [each["id"] for each in json.loads(ask("models", "list", "mine", "--json").out)] == ["mine/m", "mine/small"]
    assert json.loads(ask("models", "scan", "--json").out)["providers"]["mine"] == ["m", "small"]


def test_a_key_that_is_refused_is_found_by_a_test_and_not_kept(hub: HubProcess, ask: Terminal) -> None:
    tried = ask("models", "test", "mine/m", "--json")
    assert tried.code == 0
    assert [(each["credential"], each["ok"]) for each in json.loads(tried.out)["results"]] == [("default", True)]

    with pytest.raises(AssertionError, match="refuses this key, and it was not kept"):
        hub.rpc("models.auth.add", {"provider": "mine", "id": "bad", "key": "sk-bad"})

    assert json.loads(ask("models", "auth", "list", "--json").out) == []


def test_a_key_is_added_used_and_removed(hub: HubProcess, ask: Terminal) -> None:
    added = hub.rpc("models.auth.add", {"provider": "mine", "id": "work", "key": "sk-good"})
    assert added["credential"]["test"]["ok"] is True
    assert "sk-good" not in json.dumps(added)

    assert ask("models", "test", "mine@work").code == 0
    assert "work" in ask("models", "auth", "list").out
    assert ask("models", "auth", "remove", "mine", "--id", "work").out == "mine (work) is removed.\n"
    again = ask("models", "auth", "remove", "mine", "--id", "work")
    assert again.code != 0
    assert "No credential work of mine" in again.err


def test_usage_is_summed_by_what_is_asked_for(ask: Terminal) -> None:
    assert ask("models", "usage").out == "No model was called in 30 days.\n"
    assert ask("chat", "hello").code == 0

    by_session = ask("models", "usage", "--days", "7", "--by", "session", "--json").json
    by_model = ask("models", "usage").out.splitlines()

    assert [(each["session"], each["calls"]) for each in by_session["rows"]] == [("agent:main:main", 1)]
    assert by_session["total"]["tokens"] == by_session["rows"][0]["tokens"] > 0
    assert [line.split()[:2] for line in by_model[1:]] == [["mine/m", "1"], ["total", "1"]]
    assert "--by" in ask("models", "usage", "--by", "moon").err


def test_fallbacks_and_aliases_are_kept_in_the_configuration(hub: HubProcess, ask: Terminal) -> None:
    assert ask("models", "fallbacks", "add", "mine/small").out == "mine/small\n"
    assert "small" in ask("models", "aliases", "set", "fast", "mine/small").out
    text = (hub.home / "configuration.yaml").read_text()
    assert text.startswith("# mine\n")
    assert "default: mine  # the best" in text
    assert ask("models", "test", "fast").code == 0

    assert ask("models", "fallbacks", "clear").out == "There are no fallbacks.\n"
    assert json.loads(ask("models", "aliases", "remove", "fast", "--json").out) == {}


async def test_one_signs_in_before_a_hub_ever_ran(tmp_path: Path) -> None:
    async with oauth_server() as server:
        place = {**server.endpoint, "redirect_url": f"http://localhost:{free_port()}/back"}
        provider = {"api": "openai", "base_url": "http://127.0.0.1:9/v1", "models": ["m"], "oauth": place}
        (tmp_path / "configuration.yaml").write_text(json.dumps({"models": {"providers": {"mine": provider}}}))
        command = (sys.executable, "-m", "hub", "models", "auth", "login", "mine", "--config", str(tmp_path))
        person = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert person.stdout is not None
        while not (line := await person.stdout.readline()).startswith(b"http"):
            assert line
        async with aiohttp.ClientSession() as browser, browser.get(line.decode().strip()) as page:
            shown = await page.text()
        said, _ = await person.communicate()

    assert "You are signed in" in shown
    assert person.returncode == 0
    assert b"Signed in at mine" in said
    assert "access-1-not-a-secret" in (tmp_path / ".storage" / "model_credentials.json").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fallbacks", "add", "nobody/x"), "neither a provider nor an alias"),
        (("fallbacks", "add"), "Name the model"),
        (("fallbacks", "remove", "mine/m"), "is not a fallback"),
        (("aliases", "set", "fast"), "aliases set NAME MODEL"),
        (("aliases", "remove", "slow"), "no alias slow"),
        (("auth", "login", "mine"), "has no sign-in"),
        (("test", "nobody"), "neither a provider nor an alias"),
    ],
)
def test_what_cannot_be_done_says_why(ask: Terminal, words: tuple[str, ...], said: str) -> None:
    refused = ask("models", *words)

    assert refused.code != 0
    assert said in refused.err
