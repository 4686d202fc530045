"""The pages of memory in a real browser, over a real hub with the notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.lengths import in_long_runs
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults, violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MORE = """\
people:
  - {id: me, name: Me, owner: true}
  - {id: anna, name: Anna}
agents:
  - {id: main, default: true}
  - {id: cook, name: Cook}
"""
MEMORY = """\
# What counts

The family lives in **Berlin**.

## House

- The boiler was serviced on 12 May
  _fact · 2026-05-12 14:03 · from me in `agent:main:main`_
- ~~Anna works at the bakery~~
  _person · 2026-05-12 14:05 · from me in `agent:main:webchat:direct:gone` · superseded 2026-06-01_
- > The page says the shop closes at 18:00
  _fact · 2026-05-13 10:00 · from someone in `agent:main:telegram:group:7` · untrusted_
- 我喜欢喝绿茶
  _preference · 2026-05-14 10:00 · from me in `by hand`_
"""
PAGES = (
    "/memory",
    "/memory?state=past",
    "/memory/files",
    "/memory/file?path=MEMORY.md",
    "/memory/edit?path=MEMORY.md",
    "/memory/new",
    "/memory/search?q=boiler",
    "/memory/forget?q=boiler",
    "/memory/intents",
    "/memory/history",
    "/memory/index",
    *in_long_runs(
        "/memory?agent=cook",
        "/memory/files?month=2026-04",
        "/memory/file?path=memory/imported/openclaw/note.md",
        "/memory/search",
        "/memory/search?q=zzzzqqq",
    ),
)


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("memory") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url) + MORE)
    fill(home / "workspace")
    with HubProcess(home) as process:
        yield process


def fill(workspace: Path) -> None:
    files = {
        "MEMORY.md": MEMORY,
        "memory/2026-05-12.md": "# 2026-05-12\n\n- Rain all day\n",
        "memory/2026-05-11.md": "# 2026-05-11\n\n- Sun all day\n",
        "memory/2026-04-30.md": "# 2026-04-30\n\n- A walk in the park\n",
        "memory/2026-05-12-boiler-repair.md": "---\ntitle: Boiler repair\n---\n# Boiler\n\nIt is warm.\n",
        "memory/people/anna.md": "# Anna\n\n- Likes tea\n",
        "memory/people/me.md": "# Me\n\n- Likes coffee\n",
        "memory/shared.md": "# Shared\n\n- The Wi-Fi is called Home\n",
        "memory/imported/openclaw/note.md": "---\ntrusted: false\nsource: openclaw\n---\n- From another life\n",
    }
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def of(hub: HubProcess, name: str) -> str:
    return (hub.home / "workspace" / name).read_text()


async def test_something_is_remembered_and_shown_where_it_stands(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/memory")
    await page.get_by_label("What", exact=True).fill("The bins are emptied on Thursdays")
    await page.get_by_label("Kind", exact=True).select_option("decision")
    await page.get_by_role("button", name="Remember it").click()
    await page.wait_for_url("**/memory?told=added")

    await expect(page.get_by_role("status").filter(has_text="Remembered.")).to_be_visible()
    row = page.locator("#facts > li").filter(has_text="The bins are emptied on Thursdays")
    await expect(row).to_contain_text("Decision")
    hits = await until(lambda: hub.rpc("memory.search", {"query": "bins Thursdays"})["hits"])
    assert hits[0]["kind"] == "decision"


async def test_a_file_is_edited_as_markdown(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/memory/file?path=memory/2026-05-11.md")
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Content", exact=True).fill("# 2026-05-11\n\n- Sun, then thunder\n")
    await is_ready(page)

    await page.keyboard.press("Control+s")
    await page.wait_for_url("**/memory/file?**told=saved**")

    await expect(page.get_by_text("Sun, then thunder")).to_be_visible()
    assert of(hub, "memory/2026-05-11.md") == "# 2026-05-11\n\n- Sun, then thunder\n"


async def test_a_change_made_meanwhile_keeps_the_draft_and_shows_the_difference(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 409")
    file = hub.home / "workspace" / "memory" / "2026-04-30.md"
    page = await opened(signed_in, "/memory/edit?path=memory/2026-04-30.md")
    await page.get_by_label("Content", exact=True).fill("# 2026-04-30\n\n- Mine\n")
    file.write_text("# 2026-04-30\n\n- Theirs\n")

    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_role("heading", name="Changed meanwhile")).to_be_visible()
    await expect(page.get_by_label("Content", exact=True)).to_have_value("# 2026-04-30\n\n- Mine\n")
    await expect(page.locator(".diff del")).to_have_text(["- - Theirs"])
    await expect(page.locator(".diff ins")).to_have_text(["+ - Mine"])
    assert file.read_text() == "# 2026-04-30\n\n- Theirs\n"
    assert await violations(page) == []
    await page.get_by_role("button", name="Overwrite with mine").click()
    await page.wait_for_url("**/memory/file?**")
    assert file.read_text() == "# 2026-04-30\n\n- Mine\n"


async def test_a_draft_outlives_a_reload(signed_in: BrowserContext, hub: HubProcess) -> None:
    before = of(hub, "memory/shared.md")
    page = await opened(signed_in, "/memory/edit?path=memory/shared.md")
    await page.get_by_label("Content", exact=True).fill("half a thought")
    await page.reload()
    await is_ready(page)

    await expect(page.get_by_label("Content", exact=True)).to_have_value("half a thought")
    await page.get_by_role("button", name="Discard").click()

    await expect(page.get_by_label("Content", exact=True)).to_have_value(before)
    assert of(hub, "memory/shared.md") == before


async def test_an_open_page_shows_what_is_remembered_elsewhere(signed_in: BrowserContext) -> None:
    async def remember(text: str) -> Page:
        page = await opened(signed_in, "/memory")
        await page.get_by_label("What", exact=True).fill(text)
        await page.get_by_role("button", name="Remember it").click()
        await page.wait_for_url("**/memory?told=added")
        return page

    watching = await remember("The ladder is behind the shed")

    acting = await remember("The spare key is under the fern")

    await expect(acting.locator("#facts")).to_contain_text("fern")
    await expect(watching.get_by_text("The spare key is under the fern")).to_be_visible()


async def test_letters_and_the_palette_lead_to_the_memory(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/")
    await page.evaluate("Date.now = () => 0")  # the second letter counts for a moment only
    await page.keyboard.press("g")
    await page.keyboard.press("m")
    await page.wait_for_url("**/memory")

    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search or do").fill("changes")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/memory/history")


async def test_the_pages_are_accessible_and_fit(signed_in: BrowserContext, hub: HubProcess) -> None:
    change = hub.rpc("memory.write", {"edits": [{"path": "memory/imported/looks.md", "text": "# Looks\n"}]})
    hub.rpc("memory.intents.add", {"topics": ["dentist"], "remind": "Ask for the bill"})
    places = [*PAGES, f"/memory/history?change={change['id']}"]
    page = await signed_in.new_page()
    found = {}

    for place in places:
        await page.goto(place)
        await is_ready(page)
        found[place] = await faults(page)

    assert found == {place: [] for place in places}
