"""Fixtures of the dashboard's tests: one browser, and a real hub and a scripted model server per file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, StorageState

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, cleared, launched, opened
from tests.web.plain_browser import PlainBrowser, plain_browser

CONFIGURATION = """\
# The home of the browser tests.
hub:
  name: Home
  time_zone: Europe/Berlin
  language: en
models:
  default: my_server/scripted
  providers:
    my_server:
      api: openai
      base_url: {base_url}
      api_key: test-key-of-a-scripted-server
      models: [{{id: scripted, context_window: 32768}}]
memory:
  embeddings: {{provider: none}}
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshot", action="store_true", help="write the pictures of docs/images")


@pytest.fixture(scope="module")
def model_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("dashboard") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    with HubProcess(home) as process:
        yield process


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def chromium(browser: Browser, hub: HubProcess, model_server: OpenAIServer) -> AsyncIterator[Chromium]:
    model_server.reset()
    async with Chromium(browser, hub.url) as profiles:
        yield profiles
    assert profiles.unexpected() == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cookies(hub: HubProcess) -> StorageState:
    """What a browser keeps that has signed in."""
    async with plain_browser(hub) as tab:
        strict = {"domain": "127.0.0.1", "path": "/", "httpOnly": True, "sameSite": "Strict"}
        return {"cookies": [{"name": name, "value": value, **strict} for name, value in tab.cookies.items()]}  # type: ignore[typeddict-item]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def profile(browser: Browser, hub: HubProcess, cookies: StorageState) -> AsyncIterator[BrowserContext]:
    """The profile of a file's tests: to begin with another one takes longer than most of what they do with it."""
    async with Chromium(browser, hub.url) as profiles:
        context = await profiles.context(storage_state=cookies)
        await context.new_page()
        profiles.look_away()
        yield context


@pytest_asyncio.fixture(loop_scope="session")
async def signed_in(
    chromium: Chromium, profile: BrowserContext, hub: HubProcess, cookies: StorageState
) -> AsyncIterator[BrowserContext]:
    """A profile that has signed in before, and kept nothing else."""
    chromium.watch(profile)
    yield profile
    chromium.look_away()
    await cleared(profile, hub.url, cookies)


@pytest_asyncio.fixture(loop_scope="session")
async def page(signed_in: BrowserContext) -> Page:
    """A signed-in page on a fresh conversation."""
    return await opened(signed_in, f"/chat?session=agent:main:webchat:direct:{uuid4().hex}")


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    """A signed-in browser without scripts."""
    async with plain_browser(hub) as browser:
        yield browser


async def sign_in(chromium: Chromium, hub: HubProcess, **options: object) -> BrowserContext:
    """Open a profile and sign it in with a link."""
    context = await chromium.context(**options)
    page = await context.new_page()
    await page.goto(hub.rpc("dashboard.link")["url"])
    await page.wait_for_url(lambda url: url.removeprefix(hub.url) in ("/", "/welcome"))
    await page.close()
    return context


def home_file(hub: HubProcess, name: str) -> Path:
    """Return a file of the hub's home."""
    return hub.home / name
