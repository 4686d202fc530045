"""How the pages of memory look and keep themselves true, in a real browser over a real hub."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, StorageState, expect

from tests.memory.corpus.diary import diary
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import ON_A_PHONE, misfits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TABLE = "| what | how many |\n|---|---|\n" + "| Donaudampfschifffahrtsgesellschaft | 12 |\n" * 3


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("looks") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    diary(home / "workspace", days=400)
    with HubProcess(home) as process:
        yield process


async def test_days_alone_leave_no_empty_column(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/memory/files")

    days = await page.get_by_role("region", name="Diary").bounding_box()
    head = await page.get_by_role("heading", level=1).bounding_box()

    assert days is not None
    assert head is not None
    assert days["x"] == head["x"]


async def test_years_of_days_are_a_month_at_a_time(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/memory/files")

    assert await page.evaluate("document.getElementsByTagName('*').length") < 600
    await expect(page.get_by_text("400 files")).to_be_visible()


async def test_a_table_is_readable_on_a_phone(chromium: Chromium, cookies: StorageState, hub: HubProcess) -> None:
    hub.rpc("memory.write", {"edits": [{"path": "memory/table.md", "text": f"# Table\n\n{TABLE}"}]})
    context = await chromium.context(storage_state=cookies, **ON_A_PHONE)

    page = await opened(context, "/memory/file?path=memory/table.md")

    await expect(page.get_by_role("columnheader", name="how many")).to_be_visible()
    cell = await page.get_by_role("cell", name="Donaudampfschifffahrtsgesellschaft").first.bounding_box()
    assert cell is not None
    assert cell["height"] < 60
    assert await misfits(page) == []


async def test_the_tab_one_is_on_is_in_sight_on_a_phone(chromium: Chromium, cookies: StorageState) -> None:
    context = await chromium.context(storage_state=cookies, **ON_A_PHONE)

    page = await opened(context, "/memory/index")

    await expect(page.get_by_role("link", name="Index", exact=True)).to_be_in_viewport(ratio=0.9)


async def test_a_page_on_which_the_index_is_worked_at_looks_again_by_itself(signed_in: BrowserContext) -> None:
    page = await signed_in.new_page()
    await page.add_init_script(
        """document.addEventListener("readystatechange", () => document.readyState === "interactive"
             && document.getElementById("memory-page").setAttribute("data-busy", ""))"""
    )

    async with page.expect_request(lambda request: request.resource_type == "fetch" and "/memory/index" in request.url):
        await page.goto("/memory/index")

    await expect(page.locator("#memory-page[data-busy]")).to_have_count(0)


async def test_what_the_tidy_up_could_not_settle_is_put_before_the_owner(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    side = "  “The dentist comes on {day}” (MEMORY.md, 2026-05-12)\n"
    question = f"- Which of the two holds?\n{side.format(day='Tuesday')}{side.format(day='Friday')}"
    text = f"# What counts\n\n## To be settled\n\n{question}"
    hub.rpc("memory.write", {"edits": [{"path": "MEMORY.md", "text": text}]})
    page = await opened(signed_in, "/memory")

    await expect(page.get_by_text("1 pair of entries does not agree.")).to_be_visible()
    await page.get_by_role("link", name="Choose which one is true").click()

    await page.wait_for_url("**/memory/file?path=MEMORY.md&line=5#hit")
    await expect(page.locator("#hit")).to_contain_text("The dentist comes on Friday")


async def test_a_file_that_is_too_large_says_what_to_do(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess
) -> None:
    chromium.allowed.append("status of 429")
    (hub.home / "workspace" / "memory" / "huge.md").write_text("# Huge\n\n" + "word " * 220_000)

    page = await opened(signed_in, "/memory/file?path=memory/huge.md")

    await expect(page.get_by_text("Split it into several files")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Memory").get_by_role("link", name="Facts")).to_be_visible()
