"""Adding a model: tiles of those who run models, then address or key, its list to pick from, a hello, and use.

The page of models and the first steps show it: both include `fragments/model_add.html` with what `data` returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from hub.core.errors import HubError
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import HttpCall
from hub.models.adding import OWN_SERVER
from hub.models.contract import AuthError
from hub.models.vendors import OFFLINE, OLLAMA, VENDORS
from web.core.form import read_fields
from web.core.method_client import MethodClient
from web.core.texts import MODEL_PROVIDERS

OFFLINE_REF = f"{OFFLINE}/homarus"
LISTED_LIMIT = 12
"""Models that are shown as choices; a longer list is a select."""

_TEXT = All(string, Length(max=4_096))
FORM = Schema({Optional(name, default=""): _TEXT for name in ("provider", "base_url", "key", "model", "do")})


class ModelAdding:
    """The content of the fragment, and the actions of its form.

    Args:
        client: Calls the methods for providers.
    """

    def __init__(self, client: MethodClient) -> None:
        self._client = client

    async def data(self, call: HttpCall, action: str) -> dict[str, Any]:
        """Return the fragment's data for `GET action[?provider=…&base_url=…]`; its form posts to `action`."""
        query = call.request.query
        return await self._state(call, action, {name: query.get(name, "") for name in ("provider", "base_url")})

    async def post(self, call: HttpCall, action: str) -> tuple[dict[str, Any], str | None, int]:
        """Carry out the form's action: connect, say hello, or use the model.

        Returns:
            The fragment's new data, the model when one was added, and the HTTP status.
        """
        typed = read_fields(call, FORM)
        typed = {name: str(value).strip() for name, value in typed.items()}
        if typed["provider"] == OFFLINE:
            await self._client.ask(call, "models.default", {"model": OFFLINE_REF})
            return {}, OFFLINE_REF, 200
        provider = {"provider": typed["provider"], "base_url": typed["base_url"], "key": typed["key"]}
        told: dict[str, Any] = {}
        try:
            connected = await self._client.ask(call, "models.providers.connect", provider)
            provider["base_url"] = typed["base_url"] = connected["base_url"]
            told["connected"] = connected
            if not typed["model"] and connected["models"]:
                typed["model"] = _first(typed["provider"], connected["models"])
            with_model = {**provider, "model": typed["model"]}
            if typed["do"] == "hello" and typed["model"]:
                told["hello"] = await self._client.ask(call, "models.providers.hello", with_model)
            elif typed["do"] == "use" and typed["model"]:
                added = await self._client.ask(call, "models.providers.add", with_model)
                return {}, added["model"], 200
        except HubError as error:
            place = "key" if error.code == AuthError.code else "base_url" if "connected" not in told else ""
            if place == "base_url" and typed["provider"] in VENDORS:
                place = "key"
            told |= {"error": error.message, "error_at": place}
            return await self._state(call, action, typed, told), None, error.http_status
        return await self._state(call, action, typed, told), None, 200

    async def _state(
        self, call: HttpCall, action: str, typed: Mapping[str, str], told: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        chosen = typed.get("provider", "")
        told = told or {}
        models = (told.get("connected") or {}).get("models", [])
        vendor = VENDORS.get(chosen)
        found = [] if chosen else (await self._client.ask(call, "models.scan", {"local": True}))["local"]
        return {
            "action": action,
            "tiles": [] if chosen else [*_found(action, found), *_offers(action, found)],
            "offline": OFFLINE,
            "provider": chosen,
            "title": MODEL_PROVIDERS.get(chosen, MODEL_PROVIDERS[OWN_SERVER]),
            "own": bool(chosen) and (vendor is None or not vendor.needs_key),
            "base_url": typed.get("base_url", "") or (vendor.base_url or "" if vendor and not vendor.needs_key else ""),
            "key": typed.get("key", ""),
            "model": typed.get("model", ""),
            "models": [[each, each] for each in models],
            "widget": "choices" if len(models) <= LISTED_LIMIT else "select",
            "connected": told.get("connected"),
            "hello": told.get("hello"),
            "error": told.get("error", ""),
            "error_at": told.get("error_at", ""),
        }


def _found(action: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a tile for each server of models that answers on this machine."""
    return [
        {
            "name": MODEL_PROVIDERS.get(each["provider"], each["provider"]),
            "found": ", ".join(each["models"][:2]),
            "line": "",
            "icon": "server",
            "path": _path(action, each["provider"] if each["provider"] in VENDORS else OWN_SERVER, each["base_url"]),
        }
        for each in found
    ]


def _offers(action: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    here = {each["provider"] for each in found}
    names = [OWN_SERVER, *(name for name in VENDORS if name != OFFLINE and name not in here)]
    order = ("anthropic", "openai", "gemini", "openrouter", OWN_SERVER, OLLAMA)
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    return [
        {
            "name": MODEL_PROVIDERS[name],
            "found": "",
            "line": VENDORS[name].default_model or "" if name in VENDORS else "",
            "icon": "sparkles" if name in VENDORS and VENDORS[name].needs_key else "server",
            "path": _path(action, name),
        }
        for name in names
    ]


def _path(action: str, provider: str, base_url: str = "") -> str:
    query = {"provider": provider, **({"base_url": base_url} if base_url else {})}
    return f"{action}?{urlencode(query)}"


def _first(provider: str, models: list[str]) -> str:
    """Return the model to begin with: the vendor's usual one where it is listed."""
    usual = VENDORS[provider].default_model if provider in VENDORS else None
    return usual if usual in models else models[0]
