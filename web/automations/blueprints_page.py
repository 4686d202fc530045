"""Blueprints: list, import, update, remove, and make an automation or a script from one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.automation.blueprints.blueprints import Blueprints
from hub.automation.editing.script_editor import ScriptEditor
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.schema import All, In, Length, Optional, Required, Schema, SchemaError, string
from hub.core.surfaces import ADMIN, HttpCall
from web.automations.blueprint_form import BlueprintForm, blueprint_form
from web.automations.trace_view import automation_path
from web.core.form import read_fields, read_lists
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.suggestions import NameCatalog
from web.core.urls import blueprint_place, script_place
from web.settings.diff import diff_lines
from web.settings.yaml_view import to_yaml

PATH = "/blueprints"
FILES = "/settings/files"
AUTOMATION, SCRIPT, TEMPLATE = "automation", "script", "template"

_PATH = All(string, Length(min=1, max=255))
_DOMAIN = In([AUTOMATION, SCRIPT, TEMPLATE])
ONE = Schema({Required("path"): _PATH, Optional("domain", default=AUTOMATION): _DOMAIN})
UPDATE = Schema({**ONE.schema, Optional("confirm"): All(string, Length(max=128))})

Fields = Mapping[str, Sequence[str]]


class BlueprintsPage:
    """Pages and forms of the blueprints.

    Args:
        client: Calls the methods for blueprints.
        blueprints: Fills them in to preview the result.
        suggestions: The suggestions for fields.
        scripts: Writes scripts.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        blueprints: Blueprints,
        suggestions: NameCatalog,
        scripts: ScriptEditor,
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._blueprints = blueprints
        self._suggestions = suggestions
        self._scripts = scripts

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /blueprints`."""
        return await self._list(call, {})

    # --- bringing in ---

    async def import_(self, call: HttpCall) -> web.StreamResponse:
        """`POST /blueprints/import`: preview a blueprint from a URL, a file or a text; with `command=write` save it."""
        fields = read_lists(call)
        url, path = _one(fields, "url").strip(), _one(fields, "path").strip()
        text = _one(fields, "text") if _one(fields, "text").strip() else _one(fields, "file")
        writes = _one(fields, "command") == "write"
        params: dict[str, Any] = {"preview": not writes, "overwrite": _one(fields, "overwrite") == "true"}
        params |= {"path": path} if path else {}
        if text.strip():
            params["text"] = text
        elif url:
            params["url"] = url
        else:
            words = self._words(call)
            message = words.gettext("Give the address of a blueprint, choose a file, or paste its text.")
            return await self._list(call, {"message": message, "problems": []}, url=url, status=422)
        try:
            draft = await self._client.ask(call, "blueprint.import", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            problems = error.details.get("errors", [])
            told = {"message": error.message, "problems": problems}
            return await self._list(call, told, url=url, text=text, status=error.http_status)
        if writes:
            if wants_json(call.request):
                return json_response(_about(draft))
            made = draft["domain"] != TEMPLATE  # of those, the files say what is made of them
            return see_other(blueprint_place("use", draft["path"], draft["domain"]) if made else PATH)
        data = {
            "draft": {**_about(draft), "text": draft["text"], "exists": draft["exists"]},
            "sections": draft["sections"],
        }
        return await self._renderer.respond(call, RenderedPage("blueprint_import", "Import a blueprint", data, PATH))

    async def update(self, call: HttpCall) -> web.StreamResponse:
        """`POST /blueprints/update`: show what a newer version changes; with `confirm`, its hash, write it."""
        fields = read_fields(call, UPDATE)
        update = await self._client.ask(call, "blueprint.update", fields)
        if update["written"] and not wants_json(call.request):
            return see_other(PATH)
        data = {
            "blueprint": {"path": fields["path"], "domain": fields["domain"]},
            "newer": update,
            "diff": [line.as_dict() for line in diff_lines(update["diff"])],
        }
        return await self._renderer.respond(call, RenderedPage("blueprint_update", "Update a blueprint", data, PATH))

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /blueprints/remove`: remove one; refused while it is in use."""
        fields = read_fields(call, ONE)
        try:
            removed = await self._client.ask(call, "blueprint.remove", fields)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._list(call, {"message": error.message, "problems": []}, status=error.http_status)
        return json_response(removed) if wants_json(call.request) else see_other(PATH)

    # --- using ---

    async def use(self, call: HttpCall) -> web.StreamResponse:
        """`GET /blueprints/use?path=…[&domain=script][&automation=ID]`: the form; of what uses it already, if named."""
        query = call.request.query
        shown = await self._found(call, query.get("path", ""), query.get("domain", AUTOMATION))
        id = query.get("automation", "")
        item: Mapping[str, Any] = {}
        base_hash = ""
        if id:
            written = await self._client.ask(call, "automation.yaml", {"id": id})
            item, base_hash = written["automation"], written["hash"]
            if (item.get("use_blueprint") or {}).get("path") != shown["path"]:
                raise NotFound(f"the automation {id} is not made from {shown['path']}")
        given = (item.get("use_blueprint") or {}).get("input") or {}
        form = blueprint_form(shown["sections"], self._suggestions, given)
        name = str(item.get("alias") or self._words(call).gettext(shown["name"]))
        about = {"alias": name, "automation": id, "base_hash": base_hash}
        return await self._form(call, shown, form, about)

    async def make(self, call: HttpCall) -> web.StreamResponse:
        """`POST /blueprints/use`: preview the result, or with `command=save` save it."""
        fields = read_lists(call)
        shown = await self._found(call, _one(fields, "path"), _one(fields, "domain") or AUTOMATION)
        form = blueprint_form(shown["sections"], self._suggestions)
        words = self._words(call)
        given = form.take(fields, words)
        about = {key: _one(fields, key).strip() for key in ("alias", "automation", "base_hash")}
        item = {"alias": about["alias"] or shown["name"], "use_blueprint": {"path": shown["path"], "input": given}}
        if not form.has_errors:
            try:
                if _one(fields, "command") == "save":
                    return await self._save(call, shown, item, about)
                about["becomes"] = await asyncio.to_thread(self._becomes, shown, item)
                return await self._form(call, shown, form, about)
            except SchemaError as error:
                about["error"] = "; ".join(form.place_errors(error))
            except HubError as error:
                if wants_json(call.request):
                    raise
                about["error"] = error.message
        if not about.get("error"):
            about["error"] = words.gettext("Some fields have errors.")
        return await self._form(call, shown, form, about, status=422)

    async def _save(
        self, call: HttpCall, shown: Mapping[str, Any], item: dict[str, Any], about: Mapping[str, str]
    ) -> web.StreamResponse:
        """Write an automation or a script.

        Raises:
            SchemaError: An input does not fit.
            HubError: It cannot be written.
        """
        await asyncio.to_thread(self._blueprints.expand, item, shown["domain"])
        if shown["domain"] == SCRIPT:
            key = await self._scripts.save(None, to_yaml(item), None)
            saved: Mapping[str, Any] = {"id": key}
            place = script_place(key)
        elif about["automation"]:
            id = about["automation"]
            written = await self._client.ask(call, "automation.yaml", {"id": id})
            data = {**written["automation"], **item}
            params = {"id": id, "automation": data, "base_hash": about["base_hash"] or None}
            saved = await self._client.ask(call, "automation.save", params)
            place = automation_path(str(saved["id"]))
        else:
            use = item["use_blueprint"]
            params = {"path": use["path"], "input": use["input"], "alias": item["alias"]}
            saved = await self._client.ask(call, "blueprint.use", params)
            place = automation_path(str(saved["id"]))
        return json_response(saved) if wants_json(call.request) else see_other(place)

    def _becomes(self, shown: Mapping[str, Any], item: Mapping[str, Any]) -> str:
        """Return the result as YAML; raises `Invalid` if it would be none."""
        self._blueprints.expand(item, shown["domain"])
        blueprint = self._blueprints.find(shown["path"], shown["domain"])
        given = item["use_blueprint"]["input"]
        values = {key: given.get(key, field.default) for key, field in blueprint.inputs.items()}
        return to_yaml({"alias": item["alias"], **blueprint.fill(values)})

    # --- below ---

    async def _found(self, call: HttpCall, path: str, domain: str) -> dict[str, Any]:
        shown: dict[str, Any] = await self._client.ask(call, "blueprint.get", {"path": path, "domain": domain})
        if shown["errors"]:
            problem = shown["errors"][0]
            raise InvalidRequest(f"{path} cannot be used: {problem['message']} (line {problem['line']})")
        if domain == TEMPLATE:
            raise InvalidRequest(f"{path} makes template entities; write use_blueprint in template: of a file")
        return shown

    async def _list(
        self, call: HttpCall, told: Mapping[str, Any], *, url: str = "", text: str = "", status: int = 200
    ) -> web.Response:
        found = await self._client.ask(call, "blueprint.list")
        data = {
            "blueprints": [_about(each) for each in found["blueprints"]],
            "may_change": call.known_caller.authority.has(ADMIN),
            "told": told or None,
            "import": {"url": url, "text": text},
        }
        return await self._renderer.respond(call, RenderedPage("blueprints", "Blueprints", data, PATH, status))

    async def _form(
        self,
        call: HttpCall,
        shown: Mapping[str, Any],
        form: BlueprintForm,
        about: Mapping[str, str],
        *,
        status: int = 200,
    ) -> web.Response:
        data = {
            "blueprint": _about(shown),
            "sections": form.as_list(),
            "text": shown["text"],
            "alias": about["alias"],
            "automation": about["automation"],
            "base_hash": about["base_hash"],
            "becomes": about.get("becomes"),
            "error": about.get("error"),
        }
        return await self._renderer.respond(call, RenderedPage("blueprint_use", "Use a blueprint", data, PATH, status))

    def _words(self, call: HttpCall) -> Catalogue:
        return catalogue(self._renderer.preferences(call).language)


def _one(fields: Fields, name: str) -> str:
    values = fields.get(name) or [""]
    return values[-1]


def _about(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return a blueprint as a list shows it."""
    path, domain = str(shown["path"]), str(shown["domain"])
    place: Mapping[str, Callable[[str], str]] = {AUTOMATION: automation_path, SCRIPT: script_place}
    users = [
        {**user, "place": place[domain](user["id"]) if domain in place else FILES} for user in shown.get("in_use", ())
    ]
    return {
        "path": path,
        "domain": domain,
        "name": shown.get("name") or path,
        "description": shown.get("description") or "",
        "author": shown.get("author"),
        "source_url": shown.get("source_url"),
        "bundled": bool(shown.get("bundled")),
        "in_use": users,
        "problems": shown.get("errors") or [],
        "place": blueprint_place("use", path, domain),
    }
