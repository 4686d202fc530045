"""The page of integrations from elsewhere: those that wait and those that are there, a look at one, an install form."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, HttpCall
from web.core.form import read_fields
from web.core.formats import title_of
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import (
    INTEGRATION_LOOKS,
    INTEGRATION_REACHES,
    INTEGRATION_STATES,
    NOT_IN_USE,
    PACKAGE_STATES,
    SKILL_SEVERITIES,
)

PATH = "/tools/integrations"
TONES = {"set_up": "good", "failed": "danger", "retrying": "warn", "installing": "warn", "waiting": "warn"}
LOOK_TONES = {"waiting": "warn", "changed": "danger", "enabled": "good"}
AVAILABLE = "available"

_DOMAIN = All(string, Length(min=1, max=64))
CHANGE = Schema(
    {
        Required("domain"): _DOMAIN,
        Required("do"): In(["enable", "disable"]),
        Optional("digest", default=""): All(string, Length(max=64)),
        Optional("accept", default=False): boolean,
    }
)
REMOVE = Schema({Required("domain"): _DOMAIN})
INSTALL = Schema(
    {
        Optional("url", default=""): All(string, Length(max=8_192)),
        Optional("path", default=""): All(string, Length(max=500)),
        Optional("replace", default=False): boolean,
        Optional("file", default=b""): bytes,
    }
)


class IntegrationsPage:
    """The page and its forms.

    Args:
        client: Calls the methods for integrations.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /tools/integrations[?integration=DOMAIN]`: the list, or one of them."""
        return await self._show(call, call.request.query.get("integration", ""), {})

    async def change(self, call: HttpCall) -> web.StreamResponse:
        """`POST /integrations/change`: enable what was looked at, or switch one off."""
        fields = read_fields(call, CHANGE)
        domain, enables = fields["domain"], fields["do"] == "enable"
        params: dict[str, Any] = {"domain": domain}
        if enables and fields["digest"]:
            params |= {"digest": fields["digest"], "accept": fields["accept"]}
        try:
            answer = await self._client.ask(call, "integration.enable" if enables else "integration.disable", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, domain, {"error": error.message}, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(path_of(domain))

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /integrations/remove`: delete one that waits, or that nothing uses."""
        domain = read_fields(call, REMOVE)["domain"]
        try:
            answer = await self._client.ask(call, "integration.remove", {"domain": domain})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, domain, {"error": error.message}, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def install(self, call: HttpCall) -> web.StreamResponse:
        """`POST /integrations/install`: from a URL, or from a file; it waits then."""
        given = read_fields(call, INSTALL, files=("file",))
        file, url, path = given["file"], given["url"].strip(), given["path"].strip()
        params: dict[str, Any] = {"replace": given["replace"], **({"path": path} if path else {})}
        params |= {"url": url} if url else {"archive": base64.b64encode(file).decode()}
        try:
            answer = await self._client.ask(call, "integration.install", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            wrong = {"error": error.message, "error_at": "url" if url else "file", "url": url, "path": path}
            return await self._show(call, "", wrong, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(path_of(answer["domain"]))

    async def _show(
        self, call: HttpCall, chosen: str, asked: Mapping[str, Any], *, status: int = 200
    ) -> web.StreamResponse:
        listed = await self._client.ask(call, "integration.list")
        look = None
        if chosen:
            look = _looked_at(
                await self._client.ask(call, "integration.info", {"domain": chosen, "text": True}), listed
            )
        data: dict[str, Any] = {
            "integrations": _listed(listed),
            "chosen": look,
            "asked": {**dict.fromkeys(("url", "path", "error_at"), ""), **asked},
            "error": asked.get("error"),
            "may_change": call.known_caller.authority.has(ADMIN),
        }
        return await self._renderer.respond(call, RenderedPage("integrations", "Integrations", data, PATH, status))


def path_of(domain: str) -> str:
    """Return the address of an integration from elsewhere."""
    return f"{PATH}?{urlencode({'integration': domain})}"


def _listed(listed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return those that wait, then those from elsewhere that are there."""
    waiting = [
        {
            "name": title_of(domain),
            "path": path_of(domain),
            "state_text": INTEGRATION_LOOKS["waiting"],
            "tone": "warn",
            "reason": "",
        }
        for domain in listed["waiting"]
    ]
    there = [
        {
            "name": each["name"],
            "path": path_of(each["domain"]),
            "state_text": INTEGRATION_STATES.get(each["state"], NOT_IN_USE),
            "tone": TONES.get(each["state"], ""),
            "reason": each["reason"],
        }
        for each in listed["integrations"]
        if each["custom"]
    ]
    return [*waiting, *there]


def _looked_at(look: Mapping[str, Any], listed: Mapping[str, Any]) -> dict[str, Any]:
    now = next((each for each in listed["integrations"] if each["domain"] == look["domain"]), None)
    state = now["state"] if now else AVAILABLE
    findings = [{**each, "severity_text": SKILL_SEVERITIES[each["severity"]]} for each in look["findings"]]
    return {
        **look,
        "findings": findings,
        "dangerous": any(each["severity"] == "danger" for each in findings),
        "state_text": INTEGRATION_LOOKS[look["state"]],
        "tone": LOOK_TONES.get(look["state"], ""),
        "reason": now["reason"] if now and look["state"] != "waiting" else "",
        "needs_look": look["state"] in ("waiting", "changed"),
        "off": state == "disabled",
        "on": state in INTEGRATION_STATES and state != "disabled" and look["state"] != "waiting",
        "reaches": [(INTEGRATION_REACHES[kind], places) for kind, places in look["reaches"].items() if places],
        "packages": [(name, PACKAGE_STATES[each]) for name, each in look["requirements"].items()],
    }
