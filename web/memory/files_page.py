"""Memory pages: the list of files, and one file with the sources of its entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from msgspec import Struct

from hub.core.errors import HubError, LimitExceeded, NotFound
from hub.core.surfaces import WRITE, HttpCall
from hub.memory.places import CURATED, PERSON_AREA
from hub.memory.tidy.marks import marks_in
from web.core.formats import size_text
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, wants_json
from web.core.texts import MEMORY_AREAS, MEMORY_KINDS, MEMORY_SECTIONS, MEMORY_TOLD
from web.core.urls import memory_place
from web.memory.file_list import (
    DAYS,
    File,
    audience_of,
    by_month,
    by_section,
    day_of,
    is_writable,
    name_of,
    pick_month,
    section_of,
)
from web.memory.names import MemoryNames
from web.memory.view import MemoryView

PATH = "/memory/files"
SECTION_LIMIT = 20
"""Files of a section that are shown beside other sections; the rest is a link away."""
PAGE_SIZE = 200
NOTHING_TO_REMEMBER = {"text": "", "kind": "fact", "replaces": "", "shared": ""}


class MemoryPageTools(Struct, frozen=True):
    """The dependencies shared by all memory pages.

    Attributes:
        renderer: Makes the pages.
        client: Calls the methods for memory.
        names: Finds the names of persons and conversations.
        view: Shows entries and hits.
        pulse: Counts changes.
    """

    renderer: Renderer
    client: MethodClient
    names: MemoryNames
    view: MemoryView
    pulse: PagePulse

    def agent(self, asked: str) -> str | None:
        """Return the agent as links name it: None for the default one.

        Raises:
            NotFound: There is no such agent.
        """
        agent = self.names.agent(asked)
        return None if agent == self.names.default_agent else agent

    def whose(self, asked: str) -> dict[str, Any]:
        """Return the methods' parameter for the owner of a memory.

        Raises:
            NotFound: There is no such agent.
        """
        return {"agent": self.names.agent(asked)}

    def choice(self, asked: str, page: str = "", **query: object) -> dict[str, Any]:
        """Return what every page shows: the agent of this memory and the other agents.

        Raises:
            NotFound: There is no such agent.
        """
        agent = self.agent(asked)
        default = self.names.default_agent
        return {
            "topic": self.pulse.topic,
            "revision": self.pulse.revision,
            "agent": agent,
            "agents": [
                each | {"path": memory_place(page, None if each["id"] == default else each["id"], **query)}
                for each in self.names.agents()
            ],
            "chosen": agent or default,
            "places": {
                name: memory_place(name, agent)
                for name in ("files", "new", "search", "intents", "history", "index", "forget", "lists", "diary")
            },
            "kinds": MEMORY_KINDS,
            "people": self.names.people(),
        }

    def moment(self, ts_ms: int | None) -> dict[str, str]:
        """Return a time as pages show it."""
        return {"when": self.renderer.when(ts_ms), "iso": self.renderer.iso(ts_ms)}


class MemoryPage:
    """The list of files, and one file.

    Args:
        tools: The dependencies shared by all memory pages.
    """

    def __init__(self, tools: MemoryPageTools) -> None:
        self._tools = tools

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/files[?agent=ID][&month=YYYY-MM][&section=NAME&page=N]`."""
        query = call.request.query
        asked = query.get("agent", "")
        choice = self._tools.choice(asked, "files")
        found = await self._tools.client.ask(call, "memory.list", self._tools.whose(asked))
        data = {
            **choice,
            **self._shelf(found["files"], query, choice["agent"]),
            **flash_message(query),
            "may_write": may_write(call),
        }
        return await self._tools.renderer.respond(call, RenderedPage("memory_files", "Files", data, PATH))

    async def file(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/file?path=…[&agent=ID][&line=N | &page=N]`: a file in parts."""
        query = call.request.query
        asked, path = query.get("agent", ""), query.get("path", "")
        choice = self._tools.choice(asked)
        try:
            read = await self._tools.client.ask(call, "memory.read", {"path": path, **self._tools.whose(asked)})
        except HubError as error:
            if wants_json(call.request):
                raise
            data = {**choice, "name": path, "error": error.message, "too_large": isinstance(error, LimitExceeded)}
            return await self._tools.renderer.respond(
                call, RenderedPage("memory_unread", "Memory", data, PATH, error.http_status)
            )
        page = await self._tools.view.file(
            read["text"], line=number_of(query, "line"), number=number_of(query, "page") or 1
        )
        agent = choice["agent"]
        data = {
            "file": {"path": path, "name": path, "hash": read["hash"], "text": read["text"]},
            "seen_by": MEMORY_AREAS.get(audience_of(path)),
            "redacted": read["redacted"],
            "origin": page.origin,
            "parts": page.parts,
            "number": page.number,
            "pages": page.count,
            "earlier": memory_place("file", agent, path=path, page=page.number - 1) if page.number > 1 else None,
            "later": memory_place("file", agent, path=path, page=page.number + 1) if page.number < page.count else None,
            "edit_path": memory_place("edit", agent, path=path),
            "may_write": may_write(call) and is_writable(path),
        }
        return await self._tools.renderer.respond(
            call, RenderedPage("memory_file", "Memory", {**choice, **data, **flash_message(query)}, PATH)
        )

    # --- below ---

    def _shelf(self, files: Sequence[File], query: Mapping[str, str], agent: str | None) -> dict[str, Any]:
        sections = by_section(files)
        months = by_month(sections.pop(DAYS, ()))
        month = pick_month(query.get("month", ""), list(months))
        alone = query.get("section", "")
        if alone and alone not in sections:
            raise NotFound(f"there is nothing of {alone[:40]!r} in this memory")
        today = self._tools.renderer.today().isoformat()
        years: dict[str, list[dict[str, Any]]] = {}
        for each, held in months.items():
            told = {"month": each, "count": len(held), "path": memory_place("files", agent, month=each)}
            years.setdefault(each[:4], []).append(told | {"chosen": each == month})
        return {
            "count": len(files),
            "size": size_text(sum(file["size_bytes"] for file in files)),
            "years": [
                {"year": year, "months": held, "chosen": (month or "")[:4] == year} for year, held in years.items()
            ],
            "month": month,
            "days": [self._row(file, agent) for file in months.get(month or "", ())],
            "sections": [
                self._section(section, held, query, agent)
                for section, held in sections.items()
                if not alone or section == alone
            ],
            "alone": alone,
            "today": {
                "path": memory_place("file", agent, path=f"memory/{today}.md")
                if any(day_of(file) == today for file in months.get(today[:7], ()))
                else memory_place("new", agent, path=f"memory/{today}.md"),
                "day": today,
            },
        }

    def _section(
        self, section: str, files: Sequence[File], query: Mapping[str, str], agent: str | None
    ) -> dict[str, Any]:
        alone = query.get("section") == section
        size = PAGE_SIZE if alone else SECTION_LIMIT
        pages = max(1, -(-len(files) // PAGE_SIZE))
        number = min(number_of(query, "page") or 1, pages) if alone else 1

        def path(number: int) -> str:
            return memory_place("files", agent, section=section, page=number if number > 1 else None)

        return {
            "name": section,
            "title": MEMORY_SECTIONS[section],
            "files": [self._row(file, agent) for file in files[(number - 1) * size : number * size]],
            "count": len(files),
            "more": path(1) if not alone and len(files) > SECTION_LIMIT else None,
            "number": number,
            "pages": pages if alone else 1,
            "earlier": path(number - 1) if alone and number > 1 else None,
            "later": path(number + 1) if alone and number < pages else None,
        }

    def _row(self, file: File, agent: str | None) -> dict[str, Any]:
        area = str(file["area"])
        person = area.removeprefix(PERSON_AREA) if area.startswith(PERSON_AREA) else None
        return {
            **file,
            "name": name_of(file),
            "person": self._tools.names.person(person),
            "section": section_of(file),
            "is_note": section_of(file) == DAYS and name_of(file) != day_of(file),
            "size": size_text(file["size_bytes"]),
            "place": memory_place("file", agent, path=file["path"]),
            **self._tools.moment(file["changed_ms"]),
        }


async def open_questions(
    tools: MemoryPageTools, call: HttpCall, files: Sequence[File], asked: str
) -> dict[str, Any] | None:
    """Return the number of open questions of the tidy-up and the place of the first."""
    if not any(file["path"] == CURATED for file in files):
        return None
    try:
        read = await tools.client.ask(call, "memory.read", {"path": CURATED, **tools.whose(asked)})
    except HubError:  # gone or too large; the page of the file says so
        return None
    waiting = [mark for mark in marks_in(read["text"]) if not mark.both_hold]
    if not waiting:
        return None
    place = memory_place("file", tools.agent(asked), path=CURATED, line=waiting[0].start_line)
    return {"count": len(waiting), "path": f"{place}#hit"}


def may_write(call: HttpCall) -> bool:
    """Whether the viewer may change memories."""
    return call.known_caller.authority.has(WRITE)


def flash_message(query: Mapping[str, str]) -> dict[str, str | None]:
    """Return the flash message of the previous page."""
    return {"told": MEMORY_TOLD.get(query.get("told", ""))}


def number_of(query: Mapping[str, str], name: str) -> int | None:
    """Return a small positive number of the query; None for anything else."""
    text = query.get(name, "")
    return int(text) if text.isdigit() and 0 < int(text[:7]) < 1_000_000 and len(text) <= 7 else None
