"""Lists: what the assistant keeps as things to buy and to do, added to and ticked off in the browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.e2e.talk import ask
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A home without a model: its assistant understands sentences about lists."""
    home = tmp_path_factory.mktemp("lists") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("people:\n  - {id: ada, name: Ada, owner: true}\n")
    with HubProcess(home) as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        await browser.goto("/memory/lists")
        yield browser


def on(plain: PlainBrowser, name: str) -> list[str]:
    """What is open on a list."""
    return [each.get_text() for each in plain.region(name).select(".card > .rows > li .lead > span")]


async def test_what_is_said_to_the_assistant_is_on_the_list_and_what_is_added_here_is_known_to_it(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    ask(hub, "add milk and eggs to my shopping list")
    await plain.goto("/memory/lists")
    assert on(plain, "Shopping") == ["milk", "eggs"]

    plain.fill("Add to Shopping", "bread.")
    await plain.press("Add it to Shopping")

    assert on(plain, "Shopping") == ["milk", "eggs", "bread"]
    assert "bread" in ask(hub, "what's on my shopping list?")["reply"]


async def test_what_is_ticked_off_is_done_here_and_for_the_assistant_and_is_put_back(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    hub.rpc("memory.add", {"text": "Garden list: soil", "kind": "todo"})
    hub.rpc("memory.add", {"text": "Garden list: seeds", "kind": "todo"})
    await plain.goto("/memory/lists")

    await plain.press("Tick off soil")

    assert on(plain, "Garden") == ["seeds"]
    assert "Done · 1" in plain.region("Garden").get_text()
    assert "soil" not in ask(hub, "what's on my garden list?")["reply"]
    (change, *_) = hub.rpc("memory.changes")["changes"]
    assert (change["reason"], change["summary"]) == ("edit", "Garden list: soil")

    await plain.press("Put soil back")

    assert on(plain, "Garden") == ["seeds", "soil"]
    assert "Done" not in plain.region("Garden").get_text()


async def test_a_list_is_begun_and_shared_and_one_without_a_name_is_what_is_to_do(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    plain.fill("What it is called", "Holiday")
    plain.fill("The first thing on it", "Passports")
    plain.check("Share with everyone in this home")
    await plain.press("Add it")
    plain.fill("Add to Holiday", "Sun cream")
    await plain.press("Add it to Holiday")
    plain.fill("The first thing on it", "Call the plumber")
    await plain.press("Add it")

    assert on(plain, "Holiday") == ["Passports", "Sun cream"]
    assert on(plain, "To do") == ["Call the plumber"]
    assert "Holiday list: Sun cream" in (hub.home / "workspace" / "memory" / "shared.md").read_text()


async def test_an_item_is_ticked_off_although_its_line_moved_and_one_that_is_gone_is_named(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    added = hub.rpc("memory.add", {"text": "Tool list: hammer", "kind": "todo"})
    await plain.goto("/memory/lists")
    stale = plain.page
    path = hub.home / "workspace" / added["path"]
    path.write_text("# First\n\nAnother line.\n\n" + path.read_text())
    await plain.press("Tick off hammer")
    assert "~~Tool list: hammer~~" in path.read_text()

    plain.page = stale
    await plain.press("Tick off hammer")

    assert plain.status == 404
    assert "look at the list again" in plain.text("body")


async def test_what_cannot_name_a_list_is_said_and_what_was_typed_stays(plain: PlainBrowser) -> None:
    plain.fill("What it is called", "a: b")
    plain.fill("The first thing on it", "c")

    await plain.press("Add it")

    assert plain.status == 400
    assert "cannot name a list" in plain.text()
    assert plain.value("What it is called") == "a: b"


async def test_an_item_is_removed_after_it_was_shown(plain: PlainBrowser, hub: HubProcess) -> None:
    hub.rpc("memory.add", {"text": "Book list: Emma", "kind": "todo"})
    await plain.goto("/memory/lists")

    await plain.press("Remove Emma")
    assert "1 entry would go:" in plain.texts("h1, h2, h3")
    await plain.press("Forget permanently")

    await plain.goto("/memory/lists")
    assert "Emma" not in plain.text()
