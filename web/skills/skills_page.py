"""The page of skills: the list with states, one skill with the findings of its scan, a search, an install form."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, HttpCall
from hub.skills.skill_file import body_of
from web.chat.markdown import Markdown
from web.core.form import read_fields
from web.core.formats import title_of
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import SKILL_SEVERITIES, SKILL_SOURCES, SKILL_STATES

PATH = "/tools/skills"
ROOM_FOR_TEXT = 300_000
ON = ("ready", "missing", "shadowed")
"""States of what is switched on."""
TONES = {"ready": "good", "missing": "warn", "quarantined": "danger", "changed": "danger", "broken": "danger"}

_ID = All(string, Length(min=1, max=1_500))
CHANGE = Schema(
    {
        Required("id"): _ID,
        Required("do"): In(["enable", "disable"]),
        Optional("digest", default=""): All(string, Length(max=64)),
        Optional("accept", default=False): boolean,
        Optional("back", default=""): In(["", "list"]),
    }
)
REMOVE = Schema({Required("id"): _ID})
SEARCH = Schema({Required("query"): All(string, Length(max=200))})
INSTALL = Schema(
    {
        Optional("url", default=""): All(string, Length(max=8_192)),
        Optional("ref", default=""): All(string, Length(max=300)),
        Optional("path", default=""): All(string, Length(max=500)),
        Optional("text", default=""): All(string, Length(max=ROOM_FOR_TEXT)),
        Optional("file", default=b""): bytes,
    }
)


class SkillsPage:
    """The page and its forms.

    Args:
        client: Calls the methods for skills.
        pulse: Counts changes.
        registries: Returns the names of the configured registries.
    """

    def __init__(
        self, renderer: Renderer, client: MethodClient, pulse: PagePulse, registries: Callable[[], Iterable[str]]
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._pulse = pulse
        self._registries = registries
        self._markdown = Markdown()

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /tools/skills[?skill=ID]`: the list, or one skill."""
        return await self._show(call, call.request.query.get("skill", ""), {})

    async def change(self, call: HttpCall) -> web.StreamResponse:
        """`POST /skills/change`: enable a viewed skill, or disable one."""
        fields = read_fields(call, CHANGE)
        params = {"skillKey": fields["id"], "enabled": fields["do"] == "enable", "accept": fields["accept"]}
        if fields["digest"]:
            params["digest"] = fields["digest"]
        try:
            answer = await self._client.ask(call, "skills.update", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, fields["id"], {"error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response(answer)
        return see_other(PATH if fields["back"] else path_of(answer["skill"]["id"]))

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /skills/remove`: delete a skill of the home, or a proposal."""
        answer = await self._client.ask(call, "skills.remove", {"name": read_fields(call, REMOVE)["id"]})
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def search(self, call: HttpCall) -> web.StreamResponse:
        """`POST /skills/search`: ask the registries, which are sent the words."""
        query = read_fields(call, SEARCH)["query"].strip()
        try:
            answer = await self._client.ask(call, "skills.search", {"query": query})
        except HubError as error:
            if wants_json(call.request):
                raise
            wrong = {"query": query, "error": error.message, "error_at": "query"}
            return await self._show(call, "", wrong, status=error.http_status)
        return (
            json_response(answer)
            if wants_json(call.request)
            else await self._show(call, "", {"query": query, **answer})
        )

    async def install(self, call: HttpCall) -> web.StreamResponse:
        """`POST /skills/install`: from a registry, a URL, a file, or the text of a SKILL.md."""
        given = read_fields(call, INSTALL, files=("file",))
        file = given.pop("file")
        fields = {name: value.strip() for name, value in given.items()}
        params = {"path": fields["path"]} if fields["path"] else {}
        if fields["ref"]:
            params["ref"] = fields["ref"]
        elif fields["url"]:
            params["url"] = fields["url"]
        elif file:
            params["archive"] = base64.b64encode(file).decode()
        else:
            params["archive"] = base64.b64encode(fields["text"].replace("\r\n", "\n").encode()).decode()
        try:
            answer = await self._client.ask(call, "skills.install", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            at = "query" if fields["ref"] else "url" if fields["url"] else "file" if file else "text"
            wrong = {"error": error.message, "error_at": at}
            return await self._show(call, "", {**wrong, **fields}, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(path_of(answer["skill"]["id"]))

    async def _show(
        self, call: HttpCall, chosen: str, asked: Mapping[str, Any], *, status: int = 200
    ) -> web.StreamResponse:
        look = _looked_at(await self._client.ask(call, "skills.info", {"name": chosen})) if chosen else None
        if look is not None:
            body = body_of(look["text"])
            await self._markdown.prepare([body])
            look["html"] = self._markdown.render_kept(body)
        data: dict[str, Any] = {
            "topic": self._pulse.topic,
            "revision": self._pulse.revision,
            "skills": _listed(await self._client.ask(call, "skills.status")),
            "chosen": look,
            "asked": {**dict.fromkeys(("url", "path", "text", "query", "error_at", "results", "failed"), ""), **asked},
            "registries": sorted(self._registries()),
            "error": asked.get("error"),
            "may_change": call.known_caller.authority.has(ADMIN),
        }
        return await self._renderer.respond(call, RenderedPage("skills", "Skills", data, PATH, status))


def path_of(id: str) -> str:
    """Return the address of a skill."""
    return f"{PATH}?{urlencode({'skill': id})}"


def _listed(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the skills, those that need attention first."""
    order = list(SKILL_STATES)
    found = [_shown(each) for each in status["skills"]]
    return sorted(found, key=lambda each: (order.index(each["state"]), each["name"]))


def _shown(skill: Mapping[str, Any]) -> dict[str, Any]:
    needs_look = skill["source"] not in ("bundled", "integration")
    is_on = skill["state"] in ON
    return {
        **skill,
        "title": title_of(skill["name"]),
        "tone": TONES.get(skill["state"], ""),
        "on": is_on,
        "switchable": is_on or (skill["state"] == "disabled" and not needs_look),
        "path": path_of(skill["id"]),
        "state_text": SKILL_STATES[skill["state"]],
        "source_text": SKILL_SOURCES[skill["source"]],
        "removable": skill["source"] in ("home", "proposed"),
        "needs_look": needs_look,
    }


def _looked_at(look: Mapping[str, Any]) -> dict[str, Any]:
    findings = [{**each, "severity_text": SKILL_SEVERITIES[each["severity"]]} for each in look["findings"]]
    return {
        **look,
        "skill": _shown(look["skill"]),
        "findings": findings,
        "dangerous": any(each["severity"] == "danger" for each in findings),
    }
