"""Search by name or words, for the command palette, which adds the pages itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from aiohttp import web

from hub.core.errors import HubError
from hub.core.surfaces import ADMIN, HttpCall
from hub.memory.words import fold
from hub.sessions.session import Session
from web.chat.said_search import SaidSearch
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import Renderer, json_response
from web.core.urls import blueprint_place, memory_place, script_place
from web.settings.fields import PAGES

QUERY_LIMIT = 100
PER_KIND = 6
MEMORY_FROM = 3
"""Characters from which on memory is searched."""
SAID_FROM = 2
"""Characters from which on messages are searched: two are a word in Chinese."""
EXCERPT_LIMIT = 80
NEAR = 0.5
"""Cosine from which on a passage without any of the words has to do with them."""

Found = dict[str, str]


class FindPage:
    """Finds pages, entities, agents, conversations, messages, automations, scripts, blueprints, and memory.

    Args:
        client: Searches with the rights of the viewer.
        sessions: Returns the conversations.
        title: Returns the name of a conversation, or None.
        said: Finds messages by their words.
    """

    def __init__(
        self,
        client: MethodClient,
        renderer: Renderer,
        sessions: Callable[[], Iterable[Session]],
        title: Callable[[Session], str | None],
        said: SaidSearch,
    ) -> None:
        self._client = client
        self._renderer = renderer
        self._sessions = sessions
        self._title = title
        self._said = said

    async def find(self, call: HttpCall) -> web.StreamResponse:
        """`GET /find?q=…`: JSON for the palette: `{found: [{kind, name, path}]}`."""
        query = call.request.query.get("q", "").strip()[:QUERY_LIMIT]
        words = fold(query).split()
        if not words:
            return json_response({"found": []})
        found = [
            *_fitting(self._pages(call), words),
            *_fitting([_entity(each) for each in await self._ask(call, "entities.list", "entities")], words),
            *_fitting([_agent(each) for each in await self._ask(call, "agents.list", "agents")], words),
            *_fitting(self._settings(call), words),
            *_fitting(self._conversations(), words),
            *_fitting([_automation(each) for each in await self._ask(call, "automation.list", "automations")], words),
            *_fitting([_script(each) for each in await self._ask(call, "script.list", "scripts")], words),
            *_fitting([_blueprint(each) for each in await self._ask(call, "blueprint.list", "blueprints")], words),
            *_fitting([_file(each) for each in await self._ask(call, "memory.list", "files")], words),
        ]
        if len(query) >= MEMORY_FROM:
            params = {"query": query, "limit": PER_KIND}
            hits = await self._ask(call, "memory.search", "hits", params)
            found += [_hit(each) for each in hits if _is_near(each)]
        if len(query) >= SAID_FROM:
            found += [_message(each) for each in await self._said.messages(call, query, PER_KIND)]
        return json_response({"found": found})

    def _conversations(self) -> Iterable[Found]:
        for session in self._sessions():
            if title := self._title(session):
                yield {"kind": "conversation", "name": title, "path": f"/chat?session={quote(session.key, safe='')}"}

    def _pages(self, call: HttpCall) -> Iterable[Found]:
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        for group in self._renderer.groups():
            for entry in group.entries:
                for tab in (entry, *entry.tabs, *(below for above in entry.tabs for below in above.tabs)):
                    name = gettext(tab.title) if tab is entry else f"{gettext(entry.title)}: {gettext(tab.title)}"
                    yield {"kind": "page", "name": name, "path": tab.path}

    def _settings(self, call: HttpCall) -> Iterable[Found]:
        if not call.known_caller.authority.has(ADMIN):
            return
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        for path, title, cards in PAGES.values():
            for field in (field for card in cards for field in card.fields):
                name = f"{gettext(field.label)} · {gettext(title)}"
                yield {"kind": "setting", "name": name, "path": f"{path}#f-{field.name}"}

    async def _ask(
        self, call: HttpCall, method: str, key: str, params: Mapping[str, Any] | None = None
    ) -> list[Mapping[str, Any]]:
        """Return the list of a method; nothing when this caller may not call it or memory is not ready."""
        try:
            answer = await self._client.ask(call, method, params)
        except HubError:
            return []
        return list(answer[key])


def _fitting(each: Iterable[Found], words: list[str]) -> list[Found]:
    found = [item for item in each if all(word in fold(f"{item['name']} {item['path']}") for word in words)]
    return found[:PER_KIND]


def _is_near(hit: Mapping[str, Any]) -> bool:
    """Whether a hit is related to the query: something is always nearest, even when nothing is near."""
    return hit["text_score"] is not None or (hit["vector_score"] or 0) >= NEAR


def _entity(each: Mapping[str, Any]) -> Found:
    name = f"{each['shown_name']} · {each['area']}" if each["area"] else str(each["shown_name"])
    return {"kind": "entity", "name": name, "path": f"/devices/all?entity={quote(each['entity_id'], safe='.')}"}


def _agent(each: Mapping[str, Any]) -> Found:
    return {
        "kind": "agent",
        "name": str(each.get("name") or each["id"]),
        "path": f"/chat?session=agent:{each['id']}:main",
    }


def _automation(each: Mapping[str, Any]) -> Found:
    name = each.get("alias") or each["id"]
    return {"kind": "automation", "name": str(name), "path": f"/automations/{quote(str(each['id']), safe='')}"}


def _script(each: Mapping[str, Any]) -> Found:
    return {"kind": "script", "name": str(each.get("alias") or each["id"]), "path": script_place(str(each["id"]))}


def _blueprint(each: Mapping[str, Any]) -> Found:
    path, domain = str(each["path"]), str(each.get("domain") or "automation")
    return {"kind": "blueprint", "name": str(each.get("name") or path), "path": blueprint_place("use", path, domain)}


def _file(each: Mapping[str, Any]) -> Found:
    return {"kind": "file", "name": str(each["path"]), "path": memory_place("file", path=each["path"])}


def _hit(each: Mapping[str, Any]) -> Found:
    name = _brief(str(each["text"]))
    path = memory_place("file", path=each["path"], line=each["start_line"])
    return {"kind": "memory", "name": name, "path": f"{path}#hit"}


def _message(each: Mapping[str, Any]) -> Found:
    return {"kind": "message", "name": _brief(str(each["text"])), "path": str(each["path"])}


def _brief(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT_LIMIT else f"{text[: EXCERPT_LIMIT - 1]}…"
