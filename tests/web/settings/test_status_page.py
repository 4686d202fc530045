"""The page of how the hub is doing: what runs, and repairs that are mended, ignored and shown again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.conftest import CONFIGURATION
from tests.web.plain_browser import PlainBrowser

NOTICE = {"service": "persistent_notification.create", "data": {"title": "Filter", "message": "Clean it."}}


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("status") / "home"
    home.mkdir(mode=0o700)
    docker = f"docker: {{socket: {home / 'no.sock'}}}\n"
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url) + docker)
    with HubProcess(home) as process:
        yield process


def notice(hub: HubProcess, id: str) -> None:
    hub.rpc("service.call", {**NOTICE, "data": {**NOTICE["data"], "notification_id": id}})  # type: ignore[dict-item]


async def test_it_says_what_runs_and_on_what(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings/status")

    text = plain.text("main")
    assert hub.rpc("status")["version"] in text
    assert "scripted · My own server" in text
    assert "free" in text
    assert "hub.db" in text
    assert "None since the start." in text
    (docker,) = [each for each in plain.texts(".rows li") if each.startswith("Docker")]
    assert "cannot be used here" in docker


async def test_a_repair_is_mended_by_its_button_here_and_on_home(plain: PlainBrowser, hub: HubProcess) -> None:
    for path in ("/settings/status", "/"):
        notice(hub, "filter")
        await plain.goto(path)
        assert "Filter" in plain.text("main")
        await plain.press("Dismiss: Filter")

        assert plain.url == f"{hub.url}{path}"
        assert "Filter" not in plain.text("main")
        assert hub.rpc("repairs.list")["repairs"] == []


async def test_a_repair_is_ignored_until_it_says_something_else(plain: PlainBrowser, hub: HubProcess) -> None:
    notice(hub, "leak")
    await plain.goto("/")
    await plain.press("Ignore: Filter")
    assert "Filter" not in plain.text("main")

    await plain.goto("/settings/status")
    assert "Nothing needs repair." in plain.text("main")
    assert "1 is ignored" in plain.text("main")
    await plain.press("Show it again: Filter")
    await plain.goto("/")
    assert "Filter" in plain.text("main")

    await plain.press("Ignore: Filter")
    other = {"title": "Leak", "message": "In the cellar.", "notification_id": "leak"}
    hub.rpc("service.call", {**NOTICE, "data": other})
    await plain.goto("/")
    assert "Leak" in plain.text("main")


async def test_a_misspelt_key_is_written_as_it_was_meant(plain: PlainBrowser, hub: HubProcess) -> None:
    file = hub.home / "configuration.yaml"
    before = file.read_text()
    file.write_text(f"{before}messages: {{paralel_runs: 4}}  # ours\n")
    hub.rpc("service.call", {"service": "hub.reload"})
    await plain.goto("/settings/status")
    await plain.press("Write parallel_runs instead")

    assert file.read_text() == f"{before}messages: {{parallel_runs: 4}}  # ours\n"
    assert "config" not in {each["source"] for each in hub.rpc("repairs.list")["repairs"]}
    file.write_text(before)


async def test_what_is_mended_already_is_no_error(plain: PlainBrowser, hub: HubProcess) -> None:
    notice(hub, "gone")
    await plain.goto("/settings/status")
    hub.rpc("service.call", {"service": "persistent_notification.dismiss_all"})

    await plain.press("Dismiss: Filter")

    assert plain.status == 200
    assert "Nothing needs repair." in plain.text("main")
