"""Editing memory: a file's Markdown, new entries, and forgetting."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping
from itertools import chain, count
from typing import Any

from aiohttp import web

from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.memory.contract import QUERY_LIMIT
from web.core.form import read_fields
from web.core.render import RenderedPage, json_response, see_other, wants_json
from web.core.texts import MEMORY_AREAS, MEMORY_KINDS, MEMORY_TOLD
from web.core.urls import memory_place
from web.memory.facts_page import MemoryFactsPage
from web.memory.file_list import audience_of
from web.memory.files_page import MemoryPageTools, may_write
from web.memory.view import entry_at
from web.settings.diff import diff_lines

PATH = "/memory/files"
FACTS = "/memory"
TEXT_LIMIT = 1_048_576
ENTRY_LIMIT = 8_000
"""More than memory takes, which says so beside the form."""
NO_TEXT = "\ufffd"
"""Stands for bytes of a file that are no UTF-8."""
CRLF = "crlf"
"""How the lines of a file end that another system made; a browser sends all of them alike."""
COMPARED_LINES = 5_000
"""Maximum number of lines compared with a draft; of a longer file, only the fact of a change is shown."""

_AGENT = All(string, Length(max=64))
_PATH = All(string, Length(max=512))
SAVE = Schema(
    {
        Required("path"): _PATH,
        Required("text"): All(string, Length(max=TEXT_LIMIT)),
        Optional("base_hash", default=""): All(string, Length(max=128)),
        Optional("summary", default=""): All(string, Length(max=200)),
        Optional("new", default=""): _PATH,
        Optional("newline", default=""): In(["", CRLF]),
        Optional("agent", default=""): _AGENT,
    }
)
DELETE = Schema(
    {
        Required("path"): _PATH,
        Required("base_hash"): All(string, Length(max=128)),
        Optional("agent", default=""): _AGENT,
    }
)
REMEMBER = Schema(
    {
        Required("text"): All(string, Length(max=ENTRY_LIMIT)),
        Optional("kind", default="fact"): In(list(MEMORY_KINDS)),
        Optional("replaces", default=""): All(string, Length(max=QUERY_LIMIT)),
        Optional("shared", default=""): string,
        Optional("agent", default=""): _AGENT,
    }
)
FORGET = Schema(
    {
        Optional("query", default=""): All(string, Length(max=ENTRY_LIMIT)),
        Optional("session", default=""): All(string, Length(max=512)),
        Optional("person", default=""): All(string, Length(max=64)),
        Optional("path", default=""): _PATH,
        Optional("line", default=""): All(string, Length(max=9)),
        Optional("command", default="look"): In(["look", "forget"]),
        Optional("agent", default=""): _AGENT,
    }
)


class MemoryEditPage:
    """The forms that edit memory.

    Args:
        tools: The dependencies shared by all memory pages.
    """

    def __init__(self, tools: MemoryPageTools, facts: MemoryFactsPage) -> None:
        self._tools = tools
        self._facts = facts

    # --- files ---

    async def edit(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/edit?path=…[&agent=ID]`: its Markdown."""
        asked, path = call.request.query.get("agent", ""), call.request.query.get("path", "")
        read = await self._read(call, path, asked)
        text = read["text"]
        draft = {"path": path, "text": text, "base_hash": read["hash"] or "", "summary": "", "new": ""}
        draft["newline"] = CRLF if "\r\n" in text else ""
        told = {"redacted": read["redacted"], "broken": NO_TEXT in text}
        return await self._draft(call, asked, draft, told)

    async def new(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/new[?path=…][&agent=ID]`: the form for a new file."""
        asked = call.request.query.get("agent", "")
        path = call.request.query.get("path", "")[:512] or await self._free_path(call, asked)
        title = path.removeprefix("memory/").removesuffix(".md")
        draft = {"path": path, "text": f"# {title}\n\n", "base_hash": "", "summary": "", "new": path, "newline": ""}
        return await self._draft(call, asked, draft)

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/save`: save a file unless it changed since it was read."""
        fields = read_fields(call, SAVE)
        ends = "\r\n" if fields["newline"] == CRLF else "\n"
        fields["text"] = fields["text"].replace("\r\n", "\n").replace("\n", ends)
        fields["path"] = fields["path"].strip()
        asked = fields.pop("agent")
        edit = {"path": fields["path"], "text": fields["text"], "base_hash": fields["base_hash"] or None}
        try:
            params = {"edits": [edit], "summary": fields["summary"], **self._tools.whose(asked)}
            change = await self._tools.client.ask(call, "memory.write", params)
        except HubError as failed:
            error = _no_place(failed, fields)
            if wants_json(call.request):
                raise error from None
            if isinstance(error, Conflict):
                return await self._conflict(call, asked, fields)
            return await self._draft(call, asked, fields, {"error": error.message}, status=error.http_status)
        self._tools.pulse.beat()
        if wants_json(call.request):
            return json_response(change)
        return see_other(memory_place("file", self._tools.agent(asked), path=fields["path"], told="saved"))

    async def delete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/delete`: delete a file, after the page's confirmation; it can be restored."""
        fields = read_fields(call, DELETE)
        edit = {"path": fields["path"], "text": None, "base_hash": fields["base_hash"] or None}
        params = {"edits": [edit], **self._tools.whose(fields["agent"])}
        change = await self._tools.client.ask(call, "memory.write", params)
        self._tools.pulse.beat()
        if wants_json(call.request):
            return json_response(change)
        return see_other(memory_place("files", self._tools.agent(fields["agent"]), told="deleted"))

    # --- entries ---

    async def remember(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/remember`: add an entry and show its place."""
        fields = read_fields(call, REMEMBER)
        agent = self._tools.agent(fields["agent"])
        params = {
            "text": fields["text"].replace("\r\n", "\n").strip(),
            "kind": fields["kind"],
            "shared": fields["shared"] in ("true", "on"),
            **self._tools.whose(fields["agent"]),
        }
        if fields["replaces"].strip():
            params["replaces"] = fields["replaces"].strip()
        try:
            added = await self._tools.client.ask(call, "memory.add", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._facts.shown(call, fields["agent"], {}, fields, error)
        self._tools.pulse.beat()
        if wants_json(call.request):
            return json_response(added)
        told = _told_of_added(added, fields["replaces"].strip())
        return see_other(memory_place("", agent, told=told))

    async def forget_form(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/forget[?agent=ID][&session=KEY]`: the form for choosing what to forget."""
        query = call.request.query
        fields = {"query": "", "person": "", "session": query.get("session", "")[:512]}
        return await self._forget_page(call, query.get("agent", ""), fields)

    async def forget(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/forget`: show what would go; `command=forget` deletes it. `path` and `line` name one entry."""
        fields = read_fields(call, FORGET)
        asked, command = fields.pop("agent"), fields.pop("command")
        path, line = fields.pop("path"), fields.pop("line")
        if path:
            fields["query"] = await self._entry_at(call, path, line, asked)
        params = {name: value.replace("\r\n", "\n").strip() for name, value in fields.items() if value.strip()}
        if not params and not wants_json(call.request):
            return await self._forget_page(call, asked, fields, {"error": MEMORY_TOLD["nothing_said"]}, status=400)
        params |= {"dry_run": command == "look", **self._tools.whose(asked)}
        try:
            answer = await self._tools.client.ask(call, "memory.forget", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._forget_page(call, asked, fields, {"error": error.message}, status=error.http_status)
        if command == "forget":
            self._tools.pulse.beat()
        if wants_json(call.request):
            return json_response(answer)
        agent = self._tools.agent(asked)
        found = {
            "hits": [self._tools.view.hit(hit, agent) for hit in answer["forgotten"]],
            "count": answer["count"],
            "done": command == "forget",
        }
        left = dict.fromkeys(fields, "") if found["done"] else fields
        return await self._forget_page(call, asked, left, {"found": found})

    # --- below ---

    async def _free_path(self, call: HttpCall, asked: str) -> str:
        """Return the path of today's diary, numbered if that file exists."""
        found = await self._tools.client.ask(call, "memory.list", self._tools.whose(asked))
        taken = {file["path"] for file in found["files"]}
        day = self._tools.renderer.today().isoformat()
        names = chain((day,), (f"{day}-{number}" for number in count(2)))
        return next(path for path in (f"memory/{name}.md" for name in names) if path not in taken)

    async def _entry_at(self, call: HttpCall, path: str, line: str, asked: str) -> str:
        """Return the text of an entry.

        Raises:
            NotFound: There is none at that line.
        """
        read = await self._read(call, path, asked)
        text = entry_at(read["text"], int(line) if line.isdigit() else 0)
        if text is None:
            raise NotFound(f"there is no entry at line {line} of {path}; the file may have changed, look at it again")
        # All words of a query must stand in the entry, so the beginning of a long one finds it.
        return text if len(text) <= QUERY_LIMIT else text[:QUERY_LIMIT].rsplit(None, 1)[0]

    async def _read(self, call: HttpCall, path: str, asked: str) -> Mapping[str, Any]:
        params = {"path": path, **self._tools.whose(asked)}
        read: Mapping[str, Any] = await self._tools.client.ask(call, "memory.read", params)
        return read

    async def _conflict(self, call: HttpCall, asked: str, draft: Mapping[str, str]) -> web.Response:
        """Show the draft beside the present text; saving again overwrites it."""
        try:
            read = await self._read(call, draft["path"], asked)
        except NotFound:
            read = {"text": "", "hash": "", "redacted": False}
        diff = await asyncio.to_thread(_difference, read["text"], draft["text"])
        back = memory_place("file", self._tools.agent(asked), path=draft["path"]) if read["hash"] else ""
        told = {"changed": True, "diff": diff, "redacted": read["redacted"]} | ({"back": back} if back else {})
        return await self._draft(call, asked, {**draft, "base_hash": read["hash"] or ""}, told, status=409)

    async def _draft(
        self,
        call: HttpCall,
        asked: str,
        draft: Mapping[str, str],
        told: Mapping[str, Any] | None = None,
        *,
        status: int = 200,
    ) -> web.Response:
        choice = self._tools.choice(asked)
        data = {
            **choice,
            "draft": dict(draft),
            "seen_by": MEMORY_AREAS.get(audience_of(draft["path"])),
            "back": memory_place("files", choice["agent"])
            if draft["new"]
            else memory_place("file", choice["agent"], path=draft["path"]),
            "error": "",
            "changed": False,
            "diff": [],
            "redacted": False,
            "broken": False,
            **(told or {}),
        }
        return await self._tools.renderer.respond(
            call, RenderedPage("memory_edit", "Edit the memory", data, PATH, status)
        )

    async def _forget_page(
        self,
        call: HttpCall,
        asked: str,
        fields: Mapping[str, str],
        told: Mapping[str, Any] | None = None,
        *,
        status: int = 200,
    ) -> web.Response:
        choice = self._tools.choice(asked, "forget")
        data = {
            **choice,
            "fields": dict(fields),
            "conversations": self._tools.names.conversations(choice["chosen"]),
            "conversation": self._tools.names.conversation(fields["session"]),
            "may_write": may_write(call),
            "error": "",
            "found": None,
            **(told or {}),
        }
        return await self._tools.renderer.respond(call, RenderedPage("memory_forget", "Forget", data, FACTS, status))


def _no_place(error: HubError, draft: Mapping[str, str]) -> HubError:
    """Return why a new file cannot have this path; None for other errors, which have their own message."""
    if not (isinstance(error, NotFound) and draft["new"]) or audience_of(draft["path"]) in ("private", "shared"):
        return error
    return InvalidRequest(
        f"no memory file can be made at {draft['path'][:100]!r}: a path begins with memory/ and ends in .md, and "
        "below memory/people/ and memory/groups/ is only what is yours"
    )


def _told_of_added(added: Mapping[str, Any], replaced: str) -> str:
    """Return the message about a new entry: known already, or replacing an old one."""
    if replaced:
        return "replaced" if added["struck"] else "not_replaced"
    return "known" if added["known"] else "added"


def _difference(theirs: str, mine: str) -> list[dict[str, str]]:
    """Return the difference between `theirs` and `mine`; empty if they are too long to compare."""
    old, new = theirs.split("\n"), mine.split("\n")
    if max(len(old), len(new)) > COMPARED_LINES:
        return []
    unified = "\n".join(difflib.unified_diff(old, new, "", "", lineterm=""))
    return [line.as_dict() for line in diff_lines(unified)]
