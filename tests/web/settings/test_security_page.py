"""The page of the security audit without script: what is open, why, and mending it, in a real hub."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser

PATH = "/settings/security"
CONFIGURATION = """\
hub: {update: {advisories: null}}
memory: {embeddings: {provider: none}}
exec: {mode: full, trust_output: true}   # quicker
tools: {strangers: coding}
discovery: {mdns: full}
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION)
    (home / "configuration.yaml").chmod(0o600)
    with HubProcess(home) as hub:
        yield hub


@pytest.fixture
async def tab(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as tab:
        yield tab


async def test_it_ranks_what_is_open_and_says_who_can_reach_what(tab: PlainBrowser, hub: HubProcess) -> None:
    await tab.goto(PATH)

    text = tab.text("main")
    places = [text.index(words) for words in ("believes what commands print", "Strangers may use", "see the name")]
    assert places == sorted(places)
    assert "1 thing should be mended soon." in text
    assert "Open configuration.yaml:3" in text
    assert f"Dashboard and API (127.0.0.1:{hub.port})" in text
    assert "this machine alone, with a token" in text


async def test_one_finding_is_mended_and_the_file_as_it_was_is_linked(tab: PlainBrowser, hub: HubProcess) -> None:
    await tab.goto(PATH)
    await tab.press("Mend it: Strangers may use the tools of the profile coding")

    text = tab.text("main")
    assert "1 thing is mended." in text
    assert "Strangers may use the tools of the profile coding" not in text
    assert "configuration.yaml as it was before" in text
    config = (hub.home / "configuration.yaml").read_text()
    assert config == CONFIGURATION.replace("coding", "minimal")
    await tab.follow("configuration.yaml as it was before")
    assert "on a page" in tab.text("main"), "the history says who changed it"


async def test_who_did_what_is_listed_and_tampering_is_said(tab: PlainBrowser, hub: HubProcess) -> None:
    await tab.goto(PATH)
    await tab.press("Mend it: Strangers may use the tools of the profile coding")

    text = tab.text("#audit")
    assert "mended" in text
    assert "Sign-in" in text
    assert "none was changed" in text
    log = hub.home / ".storage" / "audit" / "0000000001.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"owner"', b'"other"', 1))
    await tab.goto(PATH)
    assert "The audit log is not as the hub wrote it." in tab.text("#audit")
    assert "entry 1 was changed" in tab.text("#audit")


async def test_all_above_a_note_is_mended_after_a_question(tab: PlainBrowser, hub: HubProcess) -> None:
    await tab.goto(PATH)
    assert "tools.strangers: minimal" in tab.text("#mend-all")
    assert "discovery" not in tab.text("#mend-all")
    await tab.press("Mend all")

    text = tab.text("main")
    assert "Nothing is too open." in text
    assert "The network can see the name of your home" in text, "a note stays as it is"
    assert "mode: ask, trust_output: false}   # quicker" in (hub.home / "configuration.yaml").read_text()


async def test_the_ports_are_tried_from_the_page(tab: PlainBrowser) -> None:
    await tab.goto(f"{PATH}?deep=1")

    assert "The hub's ports were tried" in tab.text("main")
    assert "Whether the hub answers without a sign-in" in tab.text("main")
