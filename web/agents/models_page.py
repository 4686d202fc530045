"""The page of models: those in use with their order, who runs them and how they are doing, and adding one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Required, Schema, string
from hub.core.surfaces import ADMIN, HttpCall
from web.agents.model_adding import ModelAdding
from web.agents.model_names import ModelNames, provider_name
from web.core.form import read_fields
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

PATH = "/agents/models"
ADD = f"{PATH}/add"
CHOICES_LIMIT = 200
_REF = All(string, Length(min=1, max=256))
ONE = Schema({Required("model"): _REF})
PROVIDER = Schema({Required("provider"): All(string, Length(min=1, max=64))})
FALLBACK = Schema({Required("model"): _REF, Required("do"): In(["add", "up", "down", "remove"])})


class ModelsPage:
    """The page and its forms.

    Args:
        client: Calls the methods for models.
        adding: The form for a further one.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, adding: ModelAdding) -> None:
        self._renderer = renderer
        self._client = client
        self._adding = adding

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/models`: the models."""
        return await self._show(call)

    async def choose(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/models/add[?provider=…]`: those who run models, and the form of one."""
        return await self._add(call, await self._adding.data(call, ADD))

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/models/add`: connect to a provider, try its model, or use it."""
        adding, added, status = await self._adding.post(call, ADD)
        if added is not None:
            query = urlencode({"added": added})
            return json_response({"model": added}) if wants_json(call.request) else see_other(f"{PATH}?{query}")
        return await self._add(call, adding, status)

    async def test(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/models/test`: make one small call with each key of a model, or with one."""
        answer = await self._client.ask(call, "models.test", read_fields(call, ONE))
        return json_response(answer) if wants_json(call.request) else await self._show(call, answer["results"])

    async def default(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/models/default`: choose the model that answers when nothing else is said."""
        return await self._change(call, "models.default", read_fields(call, ONE))

    async def fallback(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/models/fallback`: add, move or remove a model that is tried when the default fails."""
        fields = read_fields(call, FALLBACK)
        order = list((await self._client.ask(call, "models.status"))["fallbacks"])
        return await self._change(
            call, "models.fallbacks", {"models": move_fallback(order, fields["model"], fields["do"])}
        )

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/models/remove`: take a provider out of the configuration, with its key."""
        return await self._change(call, "models.providers.remove", read_fields(call, PROVIDER))

    async def _change(self, call: HttpCall, method: str, params: Mapping[str, Any]) -> web.StreamResponse:
        try:
            answer = await self._client.ask(call, method, params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, error=error.message, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def _add(self, call: HttpCall, adding: Mapping[str, Any], status: int = 200) -> web.StreamResponse:
        page = RenderedPage("model_add", "Add a model", {"adding": adding}, PATH, status, secret=True)
        return await self._renderer.respond(call, page)

    async def _show(
        self, call: HttpCall, tested: Sequence[Mapping[str, Any]] = (), *, error: str = "", status: int = 200
    ) -> web.StreamResponse:
        state = await self._client.ask(call, "models.status")
        listed = (await self._client.ask(call, "models.list"))["models"]
        known = {each["ref"]: each for each in listed}
        names = ModelNames(listed, catalogue(self._renderer.preferences(call).language).gettext)
        resolved = state["resolved"]["ref"]
        in_use = [resolved, *(each for each in state["fallbacks"] if each != resolved)] if resolved else []
        added = call.request.query.get("added", "")
        data = {
            "auto": state["default"] == "auto",
            "default": resolved,
            "reason": state["resolved"]["reason"],
            "models": [_model(known.get(ref), ref, names, state["providers"]) for ref in in_use],
            "choices": names.choices()[:CHOICES_LIMIT],
            "providers": [
                _provider(each, [model for model in listed if model["provider"] == each["name"]])
                for each in state["providers"]
                if each["origin"] in ("configuration", "environment") or not each["obstacle"]
            ],
            "tested": [{**each, "name": names.title_of(str(each["model"]))} for each in tested],
            "added": names.title_of(added) if added == resolved else "",
            "error": error,
            "may_change": call.known_caller.authority.has(ADMIN),
        }
        return await self._renderer.respond(call, RenderedPage("models", "Models", data, PATH, status))


def move_fallback(order: Sequence[str], model: str, do: str) -> list[str]:
    """Return the fallbacks with one of them added, removed, or moved by one place."""
    left = [each for each in order if each != model]
    if do == "remove":
        return left
    if do == "add":
        return [*left, model]
    place = order.index(model) if model in order else len(left)
    left.insert(max(0, place - 1) if do == "up" else place + 1, model)
    return left


def _model(
    info: Mapping[str, Any] | None, ref: str, names: ModelNames, providers: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    provider = next((each for each in providers if each["name"] == ref.partition("/")[0]), None)
    cost = (info or {}).get("cost")
    return {
        "ref": ref,
        "name": names.name(ref),
        "by": provider_name(ref.partition("/")[0]),
        "window": f"{info['contextWindow']:,}" if info else "",
        "cost": {name: f"${value or 0:,.2f}" for name, value in cost.items()} if cost else None,
        **_health(provider),
    }


def _provider(each: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "name": each["name"],
        "title": provider_name(each["name"]),
        "base_url": each["base_url"],
        "count": len(models),
        "prices": _prices(models),
        "removable": each["origin"] == "configuration",
        "origin": each["origin"],
        "keys": [{"id": key["id"], "name": f"{each['name']}@{key['id']}"} for key in each["credentials"]],
        **_health(each),
    }


def _prices(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a million tokens cost in and out, of the cheapest and the dearest; empty if that is not known."""
    costs = sorted({(each["cost"]["input"] or 0, each["cost"]["output"] or 0) for each in models if each.get("cost")})
    return [f"${input:,.2f} / ${output:,.2f}" for input, output in dict.fromkeys((*costs[:1], *costs[-1:]))]


def _health(provider: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return how a provider is doing, and the last error of its keys."""
    if provider is None:
        return {"state": "unknown", "error": ""}
    if provider["obstacle"]:
        return {"state": "unusable", "error": provider["obstacle"]}
    keys = provider["credentials"]
    resting = [key for key in keys if key["cooldowns"] or key["aside"]]
    error = next(((key["error"] or {}).get("message", "") for key in keys if key["error"]), "")
    state = "resting" if keys and len(resting) == len(keys) else "ready"
    return {"state": state, "error": error if resting else ""}
