"""Developer tools: states, live events, services and templates."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.automations.service_form import ServiceForm, service_form
from web.automations.template_preview import TemplatePreview
from web.core.form import read_fields, read_lists
from web.core.i18n import Catalogue, catalogue
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.suggestions import NameCatalog
from web.developer.event_log import EventLog
from web.developer.state_rows import StateFilter, StateRows
from web.settings.yaml_data import data_of

if TYPE_CHECKING:
    from hub.hub import Hub

PATH = "/settings/developer"
EVENTS, SERVICES, TEMPLATES = (f"{PATH}/{name}" for name in ("events", "services", "templates"))
ANSWER_LIMIT_S = 20.0
"""How long a page waits for a service; it goes on behind it."""
DATA_LIMIT = 65_536

_DATA = All(string, Length(max=DATA_LIMIT))
_NAME = All(string, Length(max=256))
SET = Schema({Required("entity_id"): _NAME, Required("state"): _NAME, Optional("attributes", default=""): _DATA})
REMOVE = Schema({Required("entity_id"): _NAME})
FIRE = Schema({Required("type"): _NAME, Optional("data", default=""): _DATA})
RENDER = Schema({Required("template"): _DATA, Optional("variables", default=""): _DATA})
EXAMPLE = """\
{# The result is updated as you type. #}
It is {{ now().strftime("%H:%M") }}.
{% for automation in states.automation %}
{{ automation.name }} is {{ automation.state }}.
{% endfor %}
"""


class DeveloperPage:
    """Pages and forms for administrators.

    Args:
        client: Calls the methods for states, events and services.
        states: The rows of the states.
        events: The latest events.
        preview: Renders templates.
        suggestions: The suggestions for fields.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        states: StateRows,
        events: EventLog,
        preview: TemplatePreview,
        *,
        suggestions: NameCatalog,
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._states = states
        self._events = events
        self._preview = preview
        self._suggestions = suggestions

    # --- states ---

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/developer[?q=…&entity_id=…]`: the states, and one of them in the form."""
        return await self._show_states(call, {})

    async def set(self, call: HttpCall) -> web.StreamResponse:
        """`POST /developer/set`: set a state by hand."""
        fields = read_fields(call, SET)
        params: dict[str, Any] = {"entity_id": fields["entity_id"].strip(), "state": fields["state"]}
        try:
            if fields["attributes"].strip():
                params["attributes"] = data_of(fields["attributes"])
            answer = await self._client.ask(call, "state.set", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show_states(call, {**fields, "error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response(answer)
        return see_other(f"{PATH}?{urlencode({'entity_id': params['entity_id']})}")

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /developer/remove`: remove an entity; what keeps it sets it again."""
        fields = read_fields(call, REMOVE)
        try:
            answer = await self._client.ask(call, "state.remove", fields)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show_states(call, {**fields, "error": error.message}, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def state_rows(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the states that a topic, `states:FILTER`, is about."""
        html = self._renderer.fragment("states", language, page=self._states.page(StateFilter.of_topic(topic)))
        return ({"t": "html", "id": "states", "html": html},)

    # --- events ---

    async def events(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/developer/events[?type=…]`: live events, of one type or all."""
        return await self._show_events(call, {})

    async def fire(self, call: HttpCall) -> web.StreamResponse:
        """`POST /developer/fire`: fire an event."""
        fields = read_fields(call, FIRE)
        self._events.begin()
        try:
            params = {"type": fields["type"].strip(), "data": data_of(fields["data"])}
            answer = await self._client.ask(call, "event.fire", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show_events(call, {**fields, "error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response(answer)
        told = self._words(call).gettext("The event was fired.")
        return await self._show_events(call, {**fields, "note": told})

    async def event_rows(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the events that a topic, `events:TYPE`, is about."""
        self._events.begin()
        page = {"events": self._events.rows(topic.partition(":")[2])}
        return ({"t": "html", "id": "events", "html": self._renderer.fragment("events", language, page=page)},)

    # --- services ---

    async def services(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/developer/services[?service=…&as=yaml]`: all services, or one with its form."""
        query = call.request.query
        found = await self._services(call)
        form = service_form(found.get(query.get("service", "")), self._suggestions, as_yaml=query.get("as") == "yaml")
        return await self._show_services(call, found, form, {}, name=query.get("service", ""))

    async def call(self, call: HttpCall) -> web.StreamResponse:
        """`POST /developer/services`: call a service; `command=yaml` or `command=form` shows its data the other way."""
        fields = read_lists(call)
        name, command = (_one(fields, key) for key in ("service", "command"))
        found = await self._services(call)
        words = self._words(call)
        form = service_form(found.get(name), self._suggestions, as_yaml=_one(fields, "as") == "yaml")
        if form is None:
            raise InvalidRequest(f"there is no service {name[:200]}")
        try:
            data = form.take(fields, words)
        except InvalidRequest as error:
            return await self._show_services(call, found, form, {"error": error.message}, name=name, status=422)
        if command in ("yaml", "form"):
            other = service_form(found.get(name), self._suggestions, data, as_yaml=command == "yaml")
            return await self._show_services(call, found, other, {}, name=name)
        if form.has_errors:
            told = {"error": words.gettext("Some fields have errors.")}
            return await self._show_services(call, found, form, told, name=name, status=422)
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                answer = await self._client.ask(call, "service.call", {"service": name, "data": data})
        except TimeoutError:
            told = {"note": words.gettext("Still running; it took too long to wait for here.")}
            return await self._show_services(call, found, form, told, name=name)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show_services(
                call, found, form, {"error": error.message}, name=name, status=error.http_status
            )
        if wants_json(call.request):
            return json_response(answer)
        response = answer["response"]
        shown = "" if response is None else json.dumps(response, ensure_ascii=False, indent=2, default=str)
        told = {"note": words.gettext("The service was called."), "response": shown}
        return await self._show_services(call, found, form, told, name=name)

    # --- templates ---

    async def templates(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/developer/templates`: an editor with a preview."""
        return await self._show_template(call, EXAMPLE, "")

    async def render(self, call: HttpCall) -> web.StreamResponse:
        """`POST /developer/templates`: the result of a template, and its dependencies."""
        fields = read_fields(call, RENDER)
        return await self._show_template(call, fields["template"].replace("\r\n", "\n"), fields["variables"])

    async def preview(self, call: HttpCall) -> web.StreamResponse:
        """`POST /developer/preview`: the same as the fragment that replaces it on a page."""
        fields = read_fields(call, RENDER)
        shown = await self._rendered(fields["template"], fields["variables"])
        language = self._renderer.preferences(call).language
        return json_response({"preview": shown, "html": self._renderer.fragment("preview", language, preview=shown)})

    # --- below ---

    async def _show_states(self, call: HttpCall, form: Mapping[str, str], *, status: int = 200) -> web.Response:
        query = call.request.query
        id = form.get("entity_id") or query.get("entity_id", "")
        chosen = self._states.form(id) | {"error": "", **form}
        data = {**self._states.page(StateFilter.of_query(query.get("q", ""))), "form": chosen}
        return await self._renderer.respond(call, RenderedPage("developer_states", "States", data, PATH, status))

    async def _show_events(self, call: HttpCall, form: Mapping[str, str], *, status: int = 200) -> web.Response:
        self._events.begin()
        type = call.request.query.get("type", "").strip()[:128]
        data = {
            "type": type,
            "topic": f"events:{type}" if type else "events",
            "events": self._events.rows(type),
            "types": self._events.types(),
            "form": {"type": "", "data": "", "error": "", "note": "", **form},
        }
        return await self._renderer.respond(call, RenderedPage("developer_events", "Events", data, EVENTS, status))

    async def _services(self, call: HttpCall) -> dict[str, Any]:
        found = await self._client.ask(call, "service.list")
        return {each["service"]: each for each in found["services"]}

    async def _show_services(
        self,
        call: HttpCall,
        found: Mapping[str, Any],
        form: ServiceForm | None,
        told: Mapping[str, str],
        *,
        name: str,
        status: int = 200,
    ) -> web.Response:
        wanted = call.request.query.get("q", "").strip().lower()[:100]
        rows = [
            {
                "service": key,
                "description": each["description"],
                "path": f"{SERVICES}?{urlencode({'service': key})}",
            }
            for key, each in sorted(found.items())
            if wanted in key or wanted in str(each["description"]).lower()
        ]
        groups = itertools.groupby(rows, key=lambda each: each["service"].partition(".")[0])
        data = {
            "services": rows,
            "domains": [{"name": name, "services": list(each)} for name, each in groups],
            "q": wanted,
            "name": name,
            "service": None if form is None else form.as_dict(),
            "told": {"error": "", "note": "", "response": "", **told},
        }
        return await self._renderer.respond(
            call, RenderedPage("developer_services", "Services", data, SERVICES, status)
        )

    async def _show_template(self, call: HttpCall, text: str, variables: str) -> web.Response:
        shown = await self._rendered(text, variables)
        data = {"template": text, "variables": variables, "preview": shown}
        return await self._renderer.respond(call, RenderedPage("developer_templates", "Templates", data, TEMPLATES))

    async def _rendered(self, text: str, variables: str) -> dict[str, Any]:
        return await self._preview.render(text, variables)

    def _words(self, call: HttpCall) -> Catalogue:
        return catalogue(self._renderer.preferences(call).language)


def make_developer_page(hub: Hub, renderer: Renderer, client: MethodClient, events: EventLog) -> DeveloperPage:
    """Return the pages for a hub that is not in recovery mode."""
    states = StateRows(hub.states, hub.redactor, renderer)
    preview = TemplatePreview(hub.automation.parts.templates, hub.redactor)
    return DeveloperPage(renderer, client, states, events, preview, suggestions=NameCatalog(hub))


def _one(fields: Mapping[str, Sequence[str]], name: str) -> str:
    return (fields.get(name) or [""])[-1]
