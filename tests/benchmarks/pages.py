"""Every page of the demo home: loaded in a browser, made by the hub, its bytes; and the lists of a home of 10 000."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import psutil
from aiohttp import ClientResponse, ClientSession
from bs4 import BeautifulSoup
from msgspec import Struct
from playwright.async_api import Page

from tests.benchmarks.homes import BenchHub, empty_home, write_configuration
from tests.benchmarks.table import Row, row
from tests.servers.demo_process import DemoProcess
from tests.servers.hub_process import HubProcess
from tests.timeline.kept_home import kept_home
from tests.web.browser import Chromium, is_ready, launched
from tests.web.conftest import sign_in
from tests.web.test_chinese import pages_of_the_router
from tests.web.test_pages import signed_in

LOADS, REQUESTS, WARM = 5, 20, 3
MANY = 10_000
BEGUN_S = 1_800_000_000
LISTS = {
    "/chat/sessions": f"{MANY:,} conversations",
    "/timeline": f"{MANY:,} happenings",
    "/timeline?q=nothing+like+this": f"a search of {MANY:,} happenings that finds none",
    "/": f"Home after {MANY:,} conversations",
}
LARGE = re.compile(r"/(?:uplot|editor|codemirror)[^/]*\.js$")
"""Scripts of the pages with a chart or an editor, which have no budget."""
TIMES = """() => {
  const [page] = performance.getEntriesByType('navigation');
  const scripts = performance.getEntriesByType('resource').filter((each) => /\\.js$/.test(each.name));
  return page.loadEventEnd && {
    parsed: page.domContentLoadedEventEnd, loaded: page.loadEventEnd, html: page.encodedBodySize,
    script: scripts.reduce((sum, each) => sum + each.encodedBodySize, 0), scripts: scripts.map((each) => each.name),
  };
}"""
"""What the browser noted of the page it shows; false until it is loaded."""


class Measured(Struct, frozen=True):
    """One page: how long each load took in the browser, what one request costs the hub, and how large it is."""

    name: str
    parsed_ms: list[float]
    loaded_ms: list[float]
    cpu_ms: float
    html_kb: float
    script_kb: float
    is_large: bool


def measure() -> list[Row]:
    """Load what the demo has, and list what a home of many years has."""
    return [*asyncio.run(_of_the_demo()), *asyncio.run(_of_many())]


async def _of_the_demo() -> list[Row]:
    with empty_home() as home, DemoProcess(home) as hub:
        async with signed_in(hub) as session:
            paths = await _walk(hub, session)
            cpu = {name: await _cpu_ms(hub, session, path) for name, path in paths.items()}
        async with launched() as browser, Chromium(browser, hub.url) as profiles:
            page = await (await sign_in(profiles, hub)).new_page()
            pages = [await _load(page, name, path, cpu[name]) for name, path in paths.items()]
    light = [each for each in pages if not each.is_large]
    loads = [statistics.median(each.loaded_ms) for each in pages]
    parsed = [statistics.median(each.parsed_ms) for each in pages]
    return [
        *(row(f"{each.name} loaded", "ms", each.loaded_ms, "< 400") for each in pages),
        row("all pages, CPU of the hub each", "ms", [each.cpu_ms for each in pages]),
        *_dearest(pages, 5),
        row(f"all {len(pages)} pages, parsed and their scripts run", "ms", parsed, "< 400"),
        row(f"all {len(pages)} pages, loaded", "ms", loads, "< 400"),
        row("HTML of a page, compressed", "kB", [each.html_kb for each in pages], "< 100"),
        row("script of a page without chart or editor", "kB", [each.script_kb for each in light], "<= 50"),
    ]


def _dearest(pages: Iterable[Measured], count: int) -> list[Row]:
    dear = sorted(pages, key=lambda each: -each.cpu_ms)[:count]
    return [row(f"{each.name}, CPU of the hub", "ms", [each.cpu_ms]) for each in dear]


async def _of_many() -> list[Row]:
    with empty_home() as home:
        write_configuration(home, "http://127.0.0.1:9/v1")
        await _fill(home)
        with BenchHub(home) as hub:
            async with signed_in(hub) as session:
                return [row(what, "ms", await _answers(session, path), "< 300") for path, what in LISTS.items()]


async def _fill(folder: Path) -> None:
    async with kept_home(folder) as home:
        for number in range(MANY):
            key = f"agent:main:webchat:direct:{number}"
            await home.sessions.ensure(key)
            await home.run(f"Question {number}", BEGUN_S + number, key=key)


async def _answers(session: ClientSession, path: str, count: int = REQUESTS) -> list[float]:
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        async with session.get(path, headers={"Accept": "text/html"}) as response:
            await response.read()
            assert response.status == 200, path
        taken.append((time.perf_counter() - begun) * 1_000)
    return taken


async def _walk(hub: HubProcess, session: ClientSession) -> dict[str, str]:
    """Follow the links of all pages to one page of each kind; return their paths by the kinds."""
    patterns = {each: re.compile(re.sub(r"\{\w+\}", "[^/]+", each)) for each in pages_of_the_router()}
    found: dict[str, str] = {}
    left = ["/"]
    while left:
        path = left.pop(0)
        kind = _kind(urlsplit(path).path, patterns)
        if kind is None or kind in found:
            continue
        async with session.get(path, headers={"Accept": "text/html"}) as response:
            if not _is_page(response):
                continue
            page = BeautifulSoup(await response.text(), "html.parser")
        found[kind] = path
        links = [urljoin(hub.url + path, str(each["href"])) for each in page.select("a[href]:not([download])")]
        left += [each.removeprefix(hub.url) for each in links if each.startswith(f"{hub.url}/")]
    return found


def _is_page(response: ClientResponse) -> bool:
    return response.status == 200 and response.content_type == "text/html"


def _kind(path: str, patterns: dict[str, re.Pattern[str]]) -> str | None:
    """Return the address in the router that a path belongs to; each kind of happening has its own."""
    if path in patterns:
        return path
    kind = next((each for each, pattern in patterns.items() if pattern.fullmatch(path)), None)
    return f"/timeline/{path.split('/')[2].partition('.')[0]}" if kind == "/timeline/{id}" else kind


async def _cpu_ms(hub: HubProcess, session: ClientSession, path: str) -> float:
    process = psutil.Process(hub.pid)
    await _answers(session, path, WARM)
    before = process.cpu_times()
    await _answers(session, path)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) * 1_000 / REQUESTS


async def _load(page: Page, name: str, path: str, cpu_ms: float) -> Measured:
    parsed, loaded = [], []
    for turn in range(LOADS + 1):
        await page.goto(path)
        await is_ready(page)
        times = await (await page.wait_for_function(TIMES)).json_value()
        if turn:  # the first fills the cache
            parsed.append(float(times["parsed"]))
            loaded.append(float(times["loaded"]))
    is_large = any(LARGE.search(each) for each in times["scripts"])
    sizes = times["html"] / 1_000, times["script"] / 1_000
    return Measured(name, parsed, loaded, cpu_ms, *sizes, is_large)
