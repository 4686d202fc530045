"""The pages of the demo home: each opens from the navigation, and some are the pictures of README and docs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.servers.demo_process import DemoProcess
from tests.web.browser import Chromium
from tests.web.conftest import sign_in

pytestmark = pytest.mark.asyncio(loop_scope="session")

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = {
    "/": "home",
    "/timeline": "timeline",
    "/chat": "chat",
    "/automations": "automations",
    "/devices/rooms": "devices",
}
"""The pages that are pictured with --screenshot, by day and by night: `docs/images/<name>-<light|dark>.png`."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    with DemoProcess(tmp_path_factory.mktemp("demo") / "home") as process:
        yield process


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, demo: DemoProcess) -> AsyncIterator[Page]:
    async with Chromium(browser, demo.url) as profiles:
        context = await sign_in(profiles, demo)
        yield await context.new_page()
    assert profiles.unexpected() == []


async def test_every_page_of_the_navigation_opens_and_has_something_in_it(page: Page) -> None:
    await page.goto("/")
    links = await page.get_by_role("navigation").get_by_role("link").all()
    paths = sorted({str(await link.get_attribute("href")) for link in links})
    assert len(paths) > 5

    for path in paths:
        await page.goto(path)
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
        await expect(page.get_by_role("main")).not_to_be_empty()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_pictured(page: Page, request: pytest.FixtureRequest, scheme: Literal["light", "dark"]) -> None:
    if not request.config.getoption("--screenshot", default=False):
        pytest.skip("makes the pictures of docs/images, with --screenshot")
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

    for path, name in PICTURES.items():
        await page.goto(path)
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
        await page.wait_for_load_state("networkidle")
        await page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
