"""The diary: a month as a calendar, and one day's notes and memories."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.surfaces import HttpCall
from web.core import moments
from web.core.render import RenderedPage
from web.core.texts import MONTHS
from web.core.urls import memory_place
from web.memory.facts import FactShelf
from web.memory.file_list import DAYS, File, day_of, section_of
from web.memory.files_page import MemoryPageTools, may_write
from web.memory.shelf import facts_of

PATH = "/memory/diary"
_TITLE = re.compile(r"\A\s*<h\d[^>]*>\d{4}-\d\d-\d\d</h\d>\s*")
"""The heading of a diary file, which the page has already."""
YEARS = range(1970, 2200)


class MemoryDiaryPage:
    """The diary.

    Args:
        tools: The dependencies shared by all memory pages.
        shelf: Has the facts.
    """

    def __init__(self, tools: MemoryPageTools, shelf: FactShelf) -> None:
        self._tools = tools
        self._shelf = shelf

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/diary[?day=YYYY-MM-DD | ?month=YYYY-MM][&agent=ID]`: a month, and one of its days."""
        query = call.request.query
        asked, today = query.get("agent", ""), self._tools.renderer.today()
        choice = self._tools.choice(asked, "diary")
        listed = (await self._tools.client.ask(call, "memory.list", self._tools.whose(asked)))["files"]
        written = [file for file in listed if section_of(file) == DAYS]
        facts = await facts_of(self._tools, self._shelf, call, asked, listed)
        counts = Counter(fact.when[:10] for fact in facts if fact.when)
        counts.update({day_of(file) for file in written} - counts.keys())
        asked_month = _month(query.get("month", ""))
        day = _day(query.get("day", "")) or _opened(asked_month, today, counts)
        month = asked_month or day.replace(day=1)
        name = phrase(MONTHS[month.month - 1])
        agent = choice["agent"]
        others = [fact for fact in facts if fact.when[:10] == day.isoformat()]
        own = sorted(
            (file for file in written if day_of(file) == day.isoformat()), key=lambda file: len(str(file["path"]))
        )
        paths = {str(file["path"]) for file in own}
        beside = [fact for fact in others if fact.path not in paths]
        await self._tools.view.prepare(fact.text for fact in beside)

        def place(**query: object) -> str:
            return memory_place("diary", agent, **query)

        data = {
            **choice,
            "shown_month": phrase("{month} {year}", month=name, year=month.year),
            "weeks": [
                [self._cell(each, month, day, counts, place(day=each.isoformat())) for each in week]
                for week in calendar.Calendar().monthdatescalendar(month.year, month.month)
            ],
            "earlier": place(month=f"{month - dt.timedelta(days=1):%Y-%m}"),
            "later": place(month=f"{month + dt.timedelta(days=31):%Y-%m}"),
            "today_path": place(day=today.isoformat()),
            "day": moments.title(day, today),
            "iso": day.isoformat(),
            "files": [await self._file(call, file, asked, agent) for file in own],
            "facts": [
                {
                    "html": self._tools.view.rendered(fact.text),
                    "struck": fact.struck,
                    "source": self._tools.view.source(fact.kind, fact.person, fact.session, None, trusted=fact.trusted),
                }
                for fact in beside
            ],
            "write": memory_place("new", agent, path=f"memory/{day}.md"),
            "may_write": may_write(call),
        }
        return await self._tools.renderer.respond(call, RenderedPage("memory_diary", "Diary", data, PATH))

    def _cell(
        self, each: dt.date, month: dt.date, day: dt.date, counts: Mapping[str, int], path: str
    ) -> dict[str, Any]:
        today = self._tools.renderer.today()
        return {
            "number": each.day,
            "count": counts.get(each.isoformat(), 0),
            "name": moments.weekday(each, today),
            "path": path,
            "outside": each.month != month.month,
            "chosen": each == day,
            "today": each == today,
        }

    async def _file(self, call: HttpCall, file: File, asked: str, agent: str | None) -> dict[str, Any]:
        """Return a file of the day, in parts; without them when it cannot be read, which its own page explains."""
        path = str(file["path"])
        place = memory_place("file", agent, path=path)
        try:
            read = await self._tools.client.ask(call, "memory.read", {"path": path, **self._tools.whose(asked)})
        except HubError:
            return {"path": place, "name": path, "parts": [], "more": True}
        page = await self._tools.view.file(read["text"])
        parts = [{**each, "html": _TITLE.sub("", each["html"])} for each in page.parts]
        return {"path": place, "name": path, "parts": [each for each in parts if each["html"]], "more": page.count > 1}


def _opened(month: dt.date | None, today: dt.date, counts: Mapping[str, int]) -> dt.date:
    """Return the day that is open at first: today, and of another month the last that has something."""
    if month is None or (month.year, month.month) == (today.year, today.month):
        return today
    days: Sequence[str] = [day for day in counts if day.startswith(f"{month:%Y-%m}-")]
    return dt.date.fromisoformat(max(days)) if days else month


def _day(text: str) -> dt.date | None:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in YEARS else None


def _month(text: str) -> dt.date | None:
    return _day(f"{text}-01")
