"""The diary: a month as a calendar, its days opened by pointer and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import another_page, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults
from tests.web.plain_browser import PlainBrowser

SOURCE = "  _fact · 2031-05-{day} 14:03 · from ada in `agent:main:main`_\n"


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("diary") / "home"
    (home / "workspace" / "memory").mkdir(mode=0o700, parents=True)
    home.chmod(0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    (home / "workspace" / "MEMORY.md").write_text("# What counts\n\n- Anna has a dog\n" + SOURCE.format(day="14"))
    days = {
        "2031-05-12.md": "# 2031-05-12\n\nIt rained.\n\n- The boiler was serviced\n" + SOURCE.format(day="12"),
        "2031-05-12-boiler.md": "# The boiler\n\nSomebody came.\n",
        "2031-04-30.md": "# 2031-04-30\n\n- A walk\n",
    }
    for name, text in days.items():
        (home / "workspace" / "memory" / name).write_text(text)
    with HubProcess(home) as process:
        yield process


async def test_a_month_marks_the_days_that_have_something_and_opens_its_last(plain: PlainBrowser) -> None:
    await plain.goto("/memory/diary?month=2031-05")

    assert [each["aria-label"] for each in plain.page.select(".calendar .has")] == [
        "Monday 12 May 2031: 1 entry",
        "Wednesday 14 May 2031: 1 entry",
    ]
    assert len(plain.texts(".calendar a")) == 31
    assert plain.texts("#day h2") == ["Wednesday 14 May 2031"]
    assert "Anna has a dog" in plain.text("#day")
    await plain.follow("The month before")
    assert plain.texts("#day h2") == ["Wednesday 30 April 2031"]


async def test_a_day_shows_its_files_whole_with_where_each_entry_comes_from(plain: PlainBrowser) -> None:
    await plain.goto("/memory/diary?day=2031-05-12")

    shown = plain.text("#day")
    assert "It rained." in shown
    assert "The boiler was serviced Fact from ada Main conversation" in shown
    assert "Somebody came." in shown
    assert "2031-05-12" not in shown
    assert len(plain.page.select("#day footer a")) == 2


@pytest.mark.parametrize("query", ["month=nonsense&day=nonsense", "day=9999-12-31", "month=0001-01", "day=2031-13-01"])
async def test_what_is_no_day_opens_today(plain: PlainBrowser, query: str) -> None:
    await plain.goto(f"/memory/diary?{query}")

    assert plain.status == 200
    assert plain.texts("#day h2") == ["Today"]


async def test_an_empty_day_is_written_into(plain: PlainBrowser) -> None:
    await plain.goto("/memory/diary?day=2031-05-20")
    assert "Nothing was written or remembered on this day." in plain.text("#day")

    await plain.follow("Write something")

    assert plain.value("Path") == "memory/2031-05-20.md"


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_days_are_reached_by_the_keyboard(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/memory/diary?day=2031-05-14")
    await page.locator(".calendar [aria-current]").focus()
    assert await page.locator(".calendar a[tabindex='0']").count() == 1

    await page.keyboard.press("ArrowLeft")
    await expect(page.get_by_role("link", name="Tuesday 13 May 2031")).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("link", name="Tuesday 6 May 2031")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowLeft")
    async with another_page(page):
        await page.keyboard.press("Enter")

    await expect(page.locator("#day")).to_contain_text("It rained.")
    assert await faults(page) == []
    await page.locator(".calendar [aria-current]").focus()
    await page.keyboard.press("PageUp")
    await expect(page.locator("#day")).to_contain_text("A walk")
