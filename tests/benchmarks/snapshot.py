"""What a snapshot of a large page takes in a real Chromium, with the page just loaded."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import async_playwright

from integrations.tools.browser.chromium import start_managed
from integrations.tools.browser.snapshot import SnapshotForm
from integrations.tools.browser.tab import Tab
from tests.benchmarks.table import Row, row

RUNS = 15
ELEMENTS = 5_000
GOAL = "< 300 ms"
_ENTRY = """<li class="row"><div><h3>Product {n}</h3><a href="/p/{n}"><span>Go to <b>product</b> {n}</span></a>
<p>It costs <em>{n}</em> euros, <span>and more</span></p></div><div><label for="q{n}">How many</label>
<input id="q{n}" value="1"><button type="button">Put into basket</button></div></li>"""
_EACH = _ENTRY.count("</") + _ENTRY.count("<input")
PAGE = (
    "<!doctype html><title>Shop</title><style>.row {display: flex} .row div {padding: 4px}</style><ul>"
    + "".join(_ENTRY.format(n=n) for n in range(ELEMENTS // _EACH))
    + "</ul>"
)


def measure() -> list[Row]:
    """Take each form of a snapshot of a page of 5 000 elements many times; the page is loaded before each."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    numbers = itertools.count(1)
    async with async_playwright() as playwright:
        context = await start_managed(playwright, folder, 9, executable=None, headless=True)
        tab = Tab("t1", context.pages[0], lambda: next(numbers), lambda tab, download: None)
        rows = [
            row("snapshot of 5 000 nodes, ai", "ms", await _timed(tab, SnapshotForm()), GOAL),
            row("snapshot of 5 000 nodes, role", "ms", await _timed(tab, SnapshotForm(role_refs=True)), GOAL),
            row("snapshot of 5 000 nodes, interactive", "ms", await _timed(tab, SnapshotForm(interactive=True)), GOAL),
            row("snapshot of 5 000 nodes, compact", "ms", await _timed(tab, SnapshotForm(compact=True)), GOAL),
        ]
        await context.close()
        return rows


async def _timed(tab: Tab, form: SnapshotForm) -> list[float]:
    taken = []
    for _ in range(RUNS):
        await tab.page.set_content(PAGE)
        begun = time.perf_counter()
        await tab.snapshot(form)
        taken.append((time.perf_counter() - begun) * 1_000)
    return taken
