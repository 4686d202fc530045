"""The page of moving in, without script: a plan, what it brings, and the way back, in a real hub."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.migrate.homes import home_assistant
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser

PATH = "/settings/move"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("hub: {name: Elm Street}\nmemory: {embeddings: {provider: none}}\n")
    with HubProcess(home) as hub:
        yield hub


@pytest.fixture
async def tab(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as tab:
        yield tab


async def test_a_plan_is_shown_carried_out_and_taken_back(hub: HubProcess, tab: PlainBrowser, tmp_path: Path) -> None:
    theirs = home_assistant(tmp_path / "ha")
    before = (hub.home / "configuration.yaml").read_bytes()
    await tab.goto(f"{PATH}?source=home-assistant&off=on&path={quote(str(theirs))}")

    assert "Near home" in tab.text(), tab.text()
    assert "Near home" in tab.text("#plan-refused")
    assert "automations.yaml:22" in tab.text("#plan-refused")
    assert "light.stove" in tab.text("#plan-waits")
    assert (hub.home / "configuration.yaml").read_bytes() == before

    await tab.press("Bring it over")
    assert "It is here." in tab.text("main [role=status]")
    assert (hub.home / "packages" / "home_assistant.yaml").is_file()
    assert str(theirs) in tab.text("#moves")

    await tab.press("Take it back")
    assert "It is taken back." in tab.text("main [role=status]")
    assert "Taken back" in tab.text("#moves")
    assert (hub.home / "configuration.yaml").read_bytes() == before


async def test_what_is_no_such_folder_says_so(hub: HubProcess, tab: PlainBrowser, tmp_path: Path) -> None:
    await tab.goto(f"{PATH}?source=openclaw&path={quote(str(tmp_path))}")

    assert "there is no openclaw.json in it" in tab.text("main [role=alert]")
