"""Memory as pages show it: a file in parts, each entry with its source, and search results."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.memory.front_matter import front_matter
from hub.memory.markdown import Passage, whole_items
from web.chat.markdown import Markdown
from web.core.texts import MEMORY_ENGINES, MEMORY_FACTORS, MEMORY_KINDS, MEMORY_SCORES
from web.core.urls import memory_place
from web.memory.marks import Marker
from web.memory.names import MemoryNames

PARTS_LIMIT = 200
"""Parts of a file on one page."""


class FilePage(Struct, frozen=True):
    """One page of a file.

    Attributes:
        parts: Its content, in order.
        origin: Where all of it came from, as the file states; None when it does not.
        number, count: Which page it is, from 1, and of how many.
    """

    parts: list[dict[str, Any]]
    origin: dict[str, Any] | None
    number: int
    count: int


class MemoryView:
    """Makes plain data for templates of files and hits.

    Args:
        markdown: Renders texts.
        names: Finds the names of persons and conversations.
    """

    def __init__(self, markdown: Markdown, names: MemoryNames) -> None:
        self._markdown = markdown
        self._names = names

    async def file(self, text: str, *, line: int | None = None, number: int = 1) -> FilePage:
        """Return one page of a file: the page with a given line, if one is given.

        Each entry is a part with its source; the text between two entries is one part.
        """
        cuts = cuts_of(text)
        count = max(1, -(-len(cuts) // PARTS_LIMIT))
        at = next((index for index, cut in enumerate(cuts) if line and cut.start <= line <= cut.end), None)
        number = min(max(number, 1), count) if at is None else at // PARTS_LIMIT + 1
        first = (number - 1) * PARTS_LIMIT
        shown = cuts[first : first + PARTS_LIMIT]
        await self._markdown.prepare(cut.text for cut in shown)
        parts = [self._part(cut, is_hit=index == at) for index, cut in enumerate(shown, first)]
        return FilePage(parts, self._origin(text), number, count)

    async def prepare(self, texts: Iterable[str]) -> None:
        """Render texts beforehand, without blocking the loop."""
        await self._markdown.prepare(texts)

    def rendered(self, text: str) -> str:
        """Return a text as HTML."""
        return self._markdown.render_kept(text)

    def hit(self, hit: Mapping[str, Any], agent: str | None, query: str = "") -> dict[str, Any]:
        """Return a search result, with its scores as shares and words; those of `query` are marked."""
        factors = [
            {"text": MEMORY_FACTORS.get(name, name), "value": f"{value:.0%}" if name == "diverse" else f"× {value:.2f}"}
            for name, value in (hit.get("why") or {}).items()
        ]
        scores = [
            {"text": text, "share": min(max(float(value), 0.0), 1.0), "value": f"{value:.2f}"}
            for name, text in MEMORY_SCORES.items()
            if (value := hit.get(name)) is not None
        ]
        place = memory_place("file", agent, path=hit["path"], line=hit["start_line"])
        marker = Marker(query)
        return {
            **hit,
            "place": f"{place}#hit",
            "path_html": marker.mark(html.escape(hit["path"])),
            "html": marker.mark(self._markdown.render_kept(hit["text"])),
            "scores": scores,
            "factors": factors,
            "source": self.source(
                hit.get("kind"), hit.get("person"), hit.get("session"), hit.get("day"), trusted=hit["trusted"]
            ),
        }

    def engines(self, engines: Sequence[str]) -> list[dict[str, str]]:
        """Return the engines used, for people: what each searches, and its name."""
        asked = []
        for engine in engines:
            kind, _, name = engine.partition(":")
            asked.append({"text": MEMORY_ENGINES.get(kind, kind), "name": name})
        return asked

    def _origin(self, text: str) -> dict[str, Any] | None:
        said, begins = front_matter(text)
        if begins == 1:
            return None
        source = self.source(None, said.person, said.session, None, trusted=said.trusted)
        return {"title": said.title, "brought_by": said.source, "source": source}

    def _part(self, cut: ShownCut, *, is_hit: bool) -> dict[str, Any]:
        passage = cut.passage
        if passage is None:
            part: dict[str, Any] = {"kind": "text", "html": self._markdown.render_kept(cut.text)}
        else:
            part = {
                "kind": "entry",
                "html": self._markdown.render_kept(cut.text),
                "struck": passage.struck,
                "source": self.source(
                    passage.kind,
                    passage.person,
                    passage.session,
                    passage.day,
                    trusted=passage.trusted,
                ),
            }
        return {**part, "line": cut.start, "hit": is_hit}

    def source(
        self, kind: str | None, person: str | None, session: str | None, day: str | None, *, trusted: bool
    ) -> dict[str, Any]:
        """Return where something came from: kind, person and conversation by name, the day, and whether it is ours."""
        return {
            "kind_text": MEMORY_KINDS.get(kind or "", kind),
            "person": self._names.person(person),
            "conversation": self._names.conversation(session),
            "day": day,
            "trusted": trusted,
        }


class ShownCut(Struct, frozen=True):
    """A range of lines of a file, from 1, inclusive, with its text; `passage` for an entry that has a source."""

    start: int
    end: int
    text: str
    passage: Passage | None = None


def entry_at(text: str, line: int) -> str | None:
    """Return the text of the list item that begins at a line; None when none does."""
    return next((each.text for each in whole_items(text) if each.start_line == line), None)


def cuts_of(text: str) -> list[ShownCut]:
    """Cut a file before and after each entry that has a source."""
    lines = text.split("\n")
    found: list[ShownCut] = []
    done = front_matter(text)[1] - 1
    for passage in whole_items(text):
        if passage.kind is None:
            continue
        found += _between(lines, done, passage.start_line - 1)
        found.append(ShownCut(passage.start_line, passage.end_line, passage.text, passage))
        done = passage.end_line
    return found + _between(lines, done, len(lines))


def _between(lines: Sequence[str], start: int, end: int) -> list[ShownCut]:
    text = "\n".join(lines[start:end]).strip("\n")
    return [ShownCut(start + 1, end, text)] if text.strip() else []
