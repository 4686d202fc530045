"""What a page must look like: accessible, and fitting the window, on a desk by day and on a phone by night."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import Page, ViewportSize

from tests.lengths import LONG

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
ON_A_PHONE: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
AXE = Path(__file__).parent / "vendor" / "axe.js"

# Style sheets and frames are ours, and need not be loaded again for the rules that read them.
EVERY_RULE = "{resultTypes: ['violations'], preload: false, iframes: false}"
COLOURS = "{resultTypes: ['violations'], preload: false, iframes: false, runOnly: ['color-contrast']}"
RULES_OF_A_PHONE = """{resultTypes: ['violations'], preload: false, iframes: false,
  runOnly: ['color-contrast', 'scrollable-region-focusable', 'link-name', 'button-name']}"""
_SEEN: WeakKeyDictionary[Page, int] = WeakKeyDictionary()
"""How many pages each tab has shown."""
FIT = """() => {
  const wide = [document.documentElement, document.querySelector('main')]
    .some((element) => element.scrollWidth > element.clientWidth);
  const least = matchMedia('(pointer: coarse), (max-width: 720px)').matches ? 43.5 : 35.5;
  const whole = (element) => element.closest('.segments, .choices label, hm-pick .box') ?? element;
  const small = [...document.querySelectorAll('button, select, input, nav a, summary')]
    .filter((element) => !element.matches('[type=checkbox], [type=hidden]'))
    .filter((element) => element.checkVisibility() && whole(element).getBoundingClientRect().height < least);
  const headings = document.querySelectorAll('h1').length;
  return [
    ...(wide ? [`wider than the window of ${innerWidth} px`] : []),
    ...small.map((element) => `a small target: ${element.outerHTML.slice(0, 120)}`),
    ...(headings === 1 ? [] : [`${headings} main headings`]),
  ];
}"""


SETTLED = f"""async () => {{
  for (let frame = 0; frame < 60 && ({FIT})().length; frame++) await new Promise(requestAnimationFrame);
  return ({FIT})();
}}"""
"""A chart learns of another width in the frame after, and takes it in the next."""


async def violations(page: Page) -> list[str]:
    """Return what axe finds wrong with a page by day, and in a long run with its colours by night, one line each."""
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    by_day = await _found(page, EVERY_RULE)
    if not LONG:
        return by_day
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return [*by_day, *await _found(page, COLOURS)]


async def misfits(page: Page) -> list[str]:
    """Return what is wider than the window or too small for a finger, and headings that are missing or too many."""
    return list(await page.evaluate(SETTLED))


async def faults(page: Page) -> list[str]:
    """Return what is wrong with a page on a desk by day, then on a phone by night, where it stays.

    The same elements are there in both, so the second look is at colours, at what scrolls, and at short names. What
    is around `main` is the same on all pages, and looked at on the first.
    By night only the first page of a tab is looked at; all of them in a long run.
    """
    turn = _SEEN.get(page, 0)
    _SEEN[page] = turn + 1
    where = "'main'" if turn else "document"
    await page.set_viewport_size(DESKTOP)
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    if not turn:
        await page.add_init_script(path=AXE)
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    on_a_desk = [*await _found(page, EVERY_RULE, where), *await misfits(page)]
    await page.set_viewport_size(PHONE)
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    by_night = await _found(page, RULES_OF_A_PHONE, where) if LONG or not turn else []
    return [*on_a_desk, *by_night, *await misfits(page)]


async def _found(page: Page, rules: str, where: str = "document") -> list[str]:
    found = await page.evaluate(f"axe.run({where}, {rules}).then(({{ violations }}) => violations)")
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for violation in found
        for node in violation["nodes"]
    ]
