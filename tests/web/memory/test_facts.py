"""The facts, one a row: filtered, corrected, forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.conftest import CONFIGURATION
from tests.web.memory.test_files_page import MORE, fill
from tests.web.plain_browser import PlainBrowser, plain_browser
from web.memory.facts import FactShelf

ROWS = "#facts > li"


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("facts") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url) + MORE)
    fill(home / "workspace")
    with HubProcess(home) as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        await browser.goto("/memory")
        yield browser


async def test_a_fact_is_a_row_with_its_kind_person_day_and_conversation(plain: PlainBrowser) -> None:
    boiler = " ".join(plain.having(ROWS, "The boiler was serviced").get_text(" ").split())

    assert "Fact from Me Main conversation 12 May" in boiler
    assert "written by others" in plain.having(ROWS, "shop closes").get_text()
    assert [each for each in plain.texts(ROWS) if "bakery" in each] == []


async def test_facts_are_narrowed_by_kind_and_by_whether_they_hold(plain: PlainBrowser) -> None:
    plain.fill("Any kind", "preference")
    await plain.press("Filter")
    assert len(plain.texts(ROWS)) == 1
    assert "绿茶" in plain.text(ROWS)

    await plain.goto("/memory?state=past")

    assert len(plain.texts(ROWS)) == 1
    assert "Anna works at the bakery" in plain.text(ROWS)
    assert "until 1 June" in plain.text(ROWS)


async def test_words_lead_to_the_search_and_keep_the_filters(plain: PlainBrowser) -> None:
    plain.fill("Search the memory", "boiler")
    plain.fill("Any kind", "fact")

    await plain.press("Filter")

    assert plain.url.endswith("/memory/search?q=boiler&kind=fact")
    assert "The boiler was serviced" in plain.text("li.found")
    assert "Why this" in plain.text("li.found summary")


async def test_a_fact_is_corrected_in_place_and_the_old_one_is_kept(plain: PlainBrowser, hub: HubProcess) -> None:
    hub.rpc("memory.add", {"text": "The guest Wi-Fi is called Elm"})
    await plain.goto("/memory")
    row = plain.having(ROWS, "guest Wi-Fi")
    await plain.goto(str(row.select("a[href*='correct=']")[0]["href"]))
    assert plain.value("Replaces") == "The guest Wi-Fi is called Elm"
    plain.fill("What", "The guest Wi-Fi is called Oak")
    await plain.press("Remember it")

    assert "the old entry is struck" in plain.text()
    assert [each for each in plain.texts(f"{ROWS} .fact > div:first-child") if "called Elm" in each] == []
    assert len([each for each in plain.texts(ROWS) if "called Oak" in each]) == 1
    await plain.goto("/memory?state=past")
    assert "called Elm" in plain.having(ROWS, "guest Wi-Fi").get_text()


async def test_a_fact_written_by_hand_is_forgotten_from_its_row_after_it_was_shown(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    row = plain.having(ROWS, "The Wi-Fi is called Home")
    button = row.find("form", action="/memory/forget").find("button")  # type: ignore[union-attr]
    button["aria-label"] = "the one"  # type: ignore[index]
    await plain.press("the one")
    assert "1 entry would go:" in plain.texts("h1, h2, h3")

    await plain.press("Forget permanently")

    assert "1 entry was forgotten." in plain.texts("h1, h2, h3")
    assert "Wi-Fi is called Home" not in (hub.home / "workspace" / "memory" / "shared.md").read_text()


async def test_ten_thousand_facts_are_read_once() -> None:
    source = "  _fact · 2026-05-12 14:03 · from me in `agent:main:main`_\n"
    text = "# Much\n\n" + "".join(f"- Number {number} is true\n{source}" for number in range(10_000))
    file = {"path": "MEMORY.md", "area": "private", "day": None, "changed_ms": 1, "size_bytes": len(text)}
    asked: list[str] = []

    async def read(path: str) -> str:
        asked.append(path)
        return text

    shelf = FactShelf()
    await shelf.all("main", [file], read)
    facts = await shelf.all("main", [file], read)

    assert len(facts) == 10_000
    assert asked == ["MEMORY.md"]


async def test_a_fact_tells_its_history_in_its_row_and_is_taken_back_there(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    hub.rpc("memory.add", {"text": "The gardener comes on Monday"})
    hub.rpc("memory.add", {"text": "The gardener comes on Friday", "replaces": "The gardener comes on Monday"})
    await plain.goto("/memory")

    row = plain.having(ROWS, "comes on Friday")
    assert "comes on Monday" in row.select(".more .struck")[0].get_text()
    row.select("form[action='/memory/undo'] button")[0]["aria-label"] = "this one"
    await plain.press("this one")

    await plain.goto("/memory")
    assert [each for each in plain.texts(ROWS) if "comes on Friday" in each] == []
    assert len([each for each in plain.texts(ROWS) if "comes on Monday" in each]) == 1


async def test_a_corrected_fact_is_forgotten_with_what_it_said_before(plain: PlainBrowser, hub: HubProcess) -> None:
    hub.rpc("memory.add", {"text": "The code of the gate is Tulip"})
    hub.rpc("memory.add", {"text": "The code of the gate is Rose", "replaces": "The code of the gate is Tulip"})

    for state, text in (("past", "is Tulip"), ("", "is Rose")):
        await plain.goto(f"/memory?state={state}")
        button = plain.having(ROWS, text).select("form[action='/memory/forget'] button")[0]
        button["aria-label"] = "the one"
        await plain.press("the one")
        assert "1 entry would go:" in plain.texts("h1, h2, h3")
        await plain.press("Forget permanently")

    kept = "\n".join(path.read_text() for path in (hub.home / "workspace").rglob("*.md"))
    assert "code of the gate" not in kept
    assert hub.rpc("memory.search", {"query": "code of the gate"})["hits"] == []
