"""`hub_docs`: the documentation of this hub, for an agent."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from hub.core.errors import NotFound
from hub.core.schema import All, Length, Match, Optional, Schema, string
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

HUB_DOCS = "hub_docs"
GROUP = "session"
DOCS = Path(__file__).resolve().parents[3] / "docs"
LINES_LIMIT = 40
LINE_LIMIT = 240

_SCHEMA = Schema(
    {
        Optional("page", description="One of the pages; without it they are listed."): All(
            string, Match(r"^[a-z0-9/-]{1,64}$")
        ),
        Optional("find", description="Only lines with one of these words."): All(string, Length(min=1, max=200)),
    }
)


def hub_docs_tools(docs: Path = DOCS) -> list[Tool]:
    """Return the tool, if the documentation is installed."""
    if not docs.is_dir():
        return []

    async def run(call: ToolCall) -> ToolResult:
        return ToolResult(
            await asyncio.to_thread(_answer, docs, call.arguments.get("page"), call.arguments.get("find"))
        )

    description = "Read or search the documentation of this hub: how it is set up, configured and used."
    return [Tool(HUB_DOCS, description, from_schema(_SCHEMA), run, GROUP, READS_HOME)]


def _answer(docs: Path, page: str | None, find: str | None) -> str:
    pages = {str(path.relative_to(docs).with_suffix("")): path for path in sorted(docs.rglob("*.md"))}
    if page is not None and page not in pages:
        raise NotFound(f"there is no page {page}; there are: {', '.join(pages)}")
    chosen = pages if page is None else {page: pages[page]}
    if find is None:
        if page is not None:
            return pages[page].read_text(encoding="utf-8")
        titles = (path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in pages.values())
        return "\n".join(f"{name}: {title}" for name, title in zip(pages, titles, strict=True))
    words = [re.escape(word) for word in find.split()]
    pattern = re.compile("|".join(words), re.IGNORECASE)
    scored = [
        (-len({found.lower() for found in pattern.findall(line)}), name, number, line.strip()[:LINE_LIMIT])
        for name, path in chosen.items()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    if not scored:
        return "No line has these words."
    return "\n".join(f"{name}:{number} {line}" for _, name, number, line in sorted(scored)[:LINES_LIMIT])
