"""The pages of memory in a browser without scripts: what they say, and that they are forms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S, until
from tests.web.conftest import CONFIGURATION
from tests.web.memory.test_files_page import MORE, fill
from tests.web.plain_browser import PlainBrowser, plain_browser


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("plain-memory") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url) + MORE)
    fill(home / "workspace")
    (home / "workspace" / "memory" / "latin.md").write_bytes(b"# Latin\n\n- caf\xe9\n")
    with HubProcess(home) as process:
        yield process


async def test_the_memory_is_browsed_by_place_and_by_month(plain: PlainBrowser) -> None:
    await plain.goto("/memory/files")

    assert plain.texts("[aria-label='2026-05'] a") == ["2026-05-12", "2026-05-12 · boiler repair", "2026-05-11"]
    assert plain.links("Long-term memory") == ["MEMORY.md"]
    assert plain.links("Shared") == ["shared"]
    assert plain.links("Imported notes") == ["openclaw/note.md"]
    assert plain.links("People") == ["Me"]
    await plain.follow("2026-04")
    assert plain.texts("[aria-label='2026-04'] a") == ["2026-04-30"]


async def test_another_agent_has_a_memory_of_its_own(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/memory")

    await plain.follow("Cook")

    assert plain.url == f"{hub.url}/memory?agent=cook"
    assert "Nothing is remembered yet." in plain.text()
    assert "Moving in" in plain.texts("main a")
    assert plain.value("What") == ""


async def test_a_file_is_read_with_where_its_entries_came_from(plain: PlainBrowser) -> None:
    await plain.goto("/memory/file?path=MEMORY.md")

    assert "Berlin" in plain.text()
    boiler = plain.having("article", "The boiler was serviced")
    assert "Fact" in boiler.get_text()
    assert "from Me" in boiler.get_text()
    assert [link["href"] for link in boiler.select("a", string="Main conversation")] == [
        "/chat?session=agent%3Amain%3Amain"
    ]
    assert "No longer true." in plain.having("article", "bakery").get_text()
    assert "written by others" in plain.having("article", "shop closes").get_text()
    assert "by hand" in plain.having("article", "绿茶").get_text()
    assert "_fact" not in plain.text()


async def test_what_was_brought_in_says_so(plain: PlainBrowser) -> None:
    await plain.goto("/memory/file?path=memory/imported/openclaw/note.md")

    origin = plain.region("Where it comes from").get_text()
    assert "openclaw" in origin
    assert "written by others" in origin


async def test_what_is_no_text_is_told_before_it_is_lost(plain: PlainBrowser) -> None:
    await plain.goto("/memory/edit?path=memory/latin.md")

    assert "is not UTF-8 text" in plain.text("[role=alert]")


@pytest.mark.parametrize("path", ["notes.md", "memory/notes.txt", "memory/people/nobody.md"])
async def test_a_path_that_is_none_is_told_with_how_one_looks(plain: PlainBrowser, path: str) -> None:
    await plain.goto("/memory/new")

    plain.fill("Path", path)
    await plain.press("Save")

    assert plain.status == 400
    assert "begins with memory/ and ends in .md" in plain.text()


async def test_what_cannot_be_remembered_stays_in_its_form(plain: PlainBrowser) -> None:
    await plain.goto("/memory")
    plain.fill("What", "  ")
    plain.fill("Kind", "todo")
    plain.fill("Replaces", "rain")
    plain.check("Share with everyone in this home")

    await plain.press("Remember it")

    assert "text: expected something to remember" in plain.text("#f-text-wrong")
    assert plain.value("Replaces") == "rain"
    assert plain.value("Kind") == "todo"
    assert "checked" in plain.field("Share with everyone in this home").attrs


@pytest.mark.parametrize(
    ("replaces", "told"),
    [("marmalade sandwich", "No old entry matched"), ("gate code", "the old entry is struck")],
)
async def test_what_was_struck_for_something_new_is_told(
    plain: PlainBrowser, hub: HubProcess, replaces: str, told: str
) -> None:
    hub.rpc("memory.add", {"text": "The gate code is 4711"})
    await plain.goto("/memory")
    plain.fill("What", f"It is 0815 now, not {replaces}")
    plain.fill("Replaces", replaces)

    await plain.press("Remember it")

    assert told in plain.text()


async def test_entries_are_remembered_edited_found_undone_and_indexed(plain: PlainBrowser) -> None:
    await plain.goto("/memory")
    plain.fill("What", "The ladder is in the shed")
    await plain.press("Remember it")
    row = plain.having("#facts > li", "The ladder is in the shed")
    await plain.goto(str(row.select("a[href*='/memory/file']")[0]["href"]))
    await plain.follow("Edit")
    plain.fill("Content", plain.value("Content").replace("in the shed", "in the cellar"))
    await plain.press("Save")
    assert "The ladder is in the cellar" in plain.having("article", "cellar").get_text()
    await plain.goto("/memory/search?q=ladder")
    async with asyncio.timeout(LIMIT_S):
        while "in the cellar" not in plain.text("li.found"):  # on a busy machine the index answers as it was
            await plain.goto("/memory/search?q=ladder")
    await plain.goto("/memory/history")
    await plain.goto(str(plain.page.select("ul.rows a")[0]["href"]))
    assert len([each for each in plain.texts(".diff ins") if "cellar" in each]) == 1
    await plain.press("Undo")
    assert "Undone." in plain.text()
    await plain.goto("/memory/index")
    await plain.press("Index now")
    assert "Up to date:" in plain.text()


async def test_the_pages_are_there_in_chinese(hub: HubProcess) -> None:
    async with plain_browser(hub, language="zh-CN") as plain:
        await plain.goto("/memory")
        plain.fill("搜索记忆", "绿茶")
        await plain.press("筛选")

        assert "绿茶" in plain.text("li.found")
        assert "搜索记忆" in plain.texts("h1, h2")


async def test_a_search_tells_how_good_and_why(plain: PlainBrowser) -> None:
    await plain.goto("/memory")
    plain.fill("Search the memory", "when was the boiler serviced?")
    await plain.press("Filter")

    first = plain.page.select("li.found")[0]
    assert "The boiler was serviced on 12 May" in first.get_text()
    assert "Score" in first.get_text()
    assert [each.get_text() for each in first.select("mark")] == ["boiler", "serviced"]
    assert "The score goes from 0 to 1." in plain.text()
    assert "ms" in plain.text()
    await plain.follow("MEMORY.md")
    assert plain.url.endswith("&line=7")
    assert "The boiler was serviced" in plain.text("#hit")


async def test_a_search_is_narrowed(plain: PlainBrowser) -> None:
    await plain.goto("/memory/search?q=绿茶")
    assert "我喜欢喝绿茶" in plain.text("li.found").replace(" ", "")

    plain.fill("Kind", "fact")
    await plain.press("Filter")

    assert "kind=fact" in plain.url
    assert [each for each in plain.texts("li.found") if "绿茶" in each] == []


async def test_a_day_is_begun_and_taken_away_and_brought_back(plain: PlainBrowser, hub: HubProcess) -> None:
    file = hub.home / "workspace" / "memory" / "2026-06-01.md"
    await plain.goto("/memory/new")
    plain.fill("Path", "memory/2026-06-01.md")
    plain.fill("Content", "# 2026-06-01\n\n- Strawberries\n")
    await plain.press("Save")
    assert file.exists()
    await plain.press("Delete it")
    assert plain.url.endswith("/memory/files?told=deleted")
    assert not file.exists()

    await plain.follow("Changes")
    await plain.goto(str(plain.page.select("ul.rows a")[0]["href"]))
    assert "- - Strawberries" in plain.texts(".diff del")
    assert "memory/2026-06-01.md" in plain.texts("h1, h2")
    assert "If the same lines have changed since, nothing is touched." in plain.text()
    await plain.press("Undo")

    assert file.read_text() == "# 2026-06-01\n\n- Strawberries\n"


async def test_an_entry_is_forgotten_after_it_was_shown(plain: PlainBrowser, hub: HubProcess) -> None:
    hub.rpc("memory.add", {"text": "The old code of the gate is hedgehog"})
    await plain.goto("/memory/forget")
    plain.fill("Words of the entry", "gate hedgehog")
    await plain.press("Show matching entries")
    assert "1 entry would go:" in plain.texts("h1, h2, h3")
    await until(lambda: hub.rpc("memory.search", {"query": "gate hedgehog"})["hits"])

    await plain.press("Forget permanently")

    assert "1 entry was forgotten." in plain.texts("h1, h2, h3")
    assert b"hedgehog" not in b"".join(path.read_bytes() for path in (hub.home / "workspace").rglob("*.md"))
    await plain.goto("/memory/history")
    assert "hedgehog" not in str(plain.page)


async def test_an_entry_is_forgotten_from_the_file_it_stands_in(plain: PlainBrowser, hub: HubProcess) -> None:
    added = hub.rpc("memory.add", {"text": "Grandmother's clock stopped at noon"})
    file = hub.home / "workspace" / added["path"]
    await plain.goto(f"/memory/file?path={added['path']}")

    line = file.read_text().splitlines().index("- Grandmother's clock stopped at noon") + 1
    await plain.press(f"Forget line {line}")
    await plain.press("Forget permanently")

    assert "1 entry was forgotten." in plain.texts("h1, h2, h3")
    assert "clock" not in file.read_text()


async def test_forgetting_tells_what_it_reaches_and_what_not(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/memory/forget")
    await plain.press("Show matching entries")
    assert plain.text("[role=alert]") == "Say what to forget: fill in at least one field."

    plain.fill("Who said it", "anna")
    await plain.press("Show matching entries")
    theirs = plain.having("li", "memory/people/anna.md")
    assert "The words are somebody else's, and not shown here." in theirs.get_text()
    assert "It stays where it was said" in plain.text()
    before = plain.page
    await plain.press("Forget permanently")

    assert plain.having("li", "memory/people/anna.md").select("a") == []
    assert plain.value("Who said it") == ""
    plain.page = before
    await plain.press("Forget permanently")
    assert "Nothing is left to forget." in plain.texts("h1, h2, h3")
    assert not (hub.home / "workspace" / "memory" / "people" / "anna.md").exists()


async def test_the_index_is_compared_and_rebuilt(plain: PlainBrowser) -> None:
    await plain.goto("/memory/index")

    await plain.press("Compare with the files")
    assert "Files and index agree:" in plain.text()
    await plain.press("Rebuild")
    assert "Up to date:" in plain.text()

    assert "Passages" in plain.region("State").get_text()
    assert "matches words only" in plain.region("Search by meaning").get_text()
    assert "No costs" in plain.region("Cost of vectors").get_text()


async def test_a_standing_reminder_is_added_and_removed(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/memory/intents")
    assert "There are no standing reminders." in plain.text()
    plain.fill("When this comes up", "dentist\ntooth hurts")
    plain.fill("Bring up", "Ask for the bill")
    await plain.press("Add it")
    reminder = plain.text("[aria-label='Standing reminders'] li")
    assert "Ask for the bill" in reminder
    assert "tooth hurts" in reminder
    assert hub.rpc("memory.intents.list")["intents"][0]["topics"] == ["dentist", "tooth hurts"]

    await plain.press("Remove it")

    assert plain.url.endswith("told=removed")
    assert hub.rpc("memory.intents.list")["intents"] == []
