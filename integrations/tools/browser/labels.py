"""Refs drawn on a page, for a screenshot of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from integrations.tools.browser.snapshot import INTERACTIVE
from integrations.tools.browser.tab import Tab

LABELS_LIMIT = 150
_DRAW = """(boxes) => {
  const layer = document.createElement("div");
  Object.assign(layer.style, {position: "fixed", left: 0, top: 0, zIndex: 2147483647, pointerEvents: "none"});
  for (const [number, x, y, width, height] of boxes) {
    const box = document.createElement("div"), tag = document.createElement("span");
    Object.assign(box.style, {position: "fixed", left: x + "px", top: y + "px", width: width + "px",
      height: height + "px", outline: "2px solid #d00"});
    Object.assign(tag.style, {background: "#d00", color: "#fff", font: "bold 11px sans-serif", padding: "0 2px"});
    tag.textContent = number;
    box.append(tag);
    layer.append(box);
  }
  document.documentElement.append(layer);
  return layer;
}"""


@asynccontextmanager
async def show_labels(tab: Tab, *, on: bool) -> AsyncIterator[None]:
    """Show the refs of interactive elements, as the last snapshot with boxes has them, for as long as this lasts."""
    if not on:
        yield
        return
    boxes = [
        [number, *element.box]
        for number, element in tab.elements.items()
        if element.box is not None and element.role in INTERACTIVE
    ]
    layer = await tab.page.evaluate_handle(_DRAW, boxes[:LABELS_LIMIT])
    try:
        yield
    finally:
        await layer.evaluate("layer => layer.remove()")
