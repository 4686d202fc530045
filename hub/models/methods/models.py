"""`models.status|test|scan|default|fallbacks|aliases|providers.*|auth.*`: models, and those who run them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.config.store import ConfigStore, ReloadResult
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    boolean,
    integer,
    number,
    slug,
    string,
    url,
)
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.models.accounts import KEY_LIMIT, ModelAccounts
from hub.models.adding import NewProvider, NewProviders
from hub.models.choosing import choose_model
from hub.models.contract import AUTO
from hub.models.credential_file import CredentialKind
from hub.models.oauth import PASTE_LIMIT
from hub.models.registry import ModelRegistry
from hub.models.schema import CONTEXT_WINDOW_MAX, CONTEXT_WINDOW_MIN, model_ref
from hub.models.vendors import VENDORS
from hub.sessions.usage_sums import GROUPINGS, OF_SESSIONS, sum_usage, total_of

OWNER = "gateway"
WAIT_LIMIT_S = 50.0
FALLBACKS_LIMIT = 20
DAYS_LIMIT = 400
SUMS_LIMIT = 1_000

_NAME = All(string, Length(min=1, max=64))
_ONE = {Required("provider"): _NAME, Required("id", description="Its name at that provider"): _NAME}
_PROVIDER = {
    Required("provider", description="A vendor, or the name of a server of one's own"): slug,
    Optional("base_url", default=""): All(string, Length(max=2_048)),
    Optional("key", default=""): All(string, Length(max=KEY_LIMIT)),
}
_MODEL = {
    Required("model", description="As the provider names it"): All(string, Length(min=1, max=256)),
    Optional("context_window"): AnyOf(None, All(integer, Range(min=CONTEXT_WINDOW_MIN, max=CONTEXT_WINDOW_MAX))),
}
_STATE = {Required("state"): All(string, Length(min=1, max=200))}
_DAYS = All(integer, Range(min=1, max=DAYS_LIMIT))
_KEYS = [CredentialKind.API_KEY.value, CredentialKind.SETUP_TOKEN.value]

Apply = Callable[[ReloadResult], Awaitable[None]]
Used = Callable[[int, bool], Awaitable[list[dict[str, Any]]]]
"""Returns the use of so many days, summed by day, agent and model; also by session when that is asked for."""
Budgets = Callable[[], list[dict[str, Any]]]


class ModelMethods:
    """The methods about models and their credentials.

    Args:
        models: The registry.
        accounts: Adds and tries credentials.
        adding: Tries and adds providers.
        config: The configuration, where fallbacks and aliases are.
        apply: Applies a changed configuration.
        budgets: Returns how far budgets are used.
        used: Records usage.
        refresh: Fetches the public list of models.
    """

    def __init__(
        self,
        models: ModelRegistry,
        accounts: ModelAccounts,
        adding: NewProviders,
        config: ConfigStore,
        *,
        apply: Apply,
        budgets: Budgets,
        used: Used,
        refresh: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self._models = models
        self._accounts = accounts
        self._adding = adding
        self._config = config
        self._apply = apply
        self._budgets = budgets
        self._used = used
        self._refresh_list = refresh

    def methods(self) -> list[Method]:
        """Return the methods."""
        one = Schema({Optional("model"): AnyOf(None, model_ref)})
        provider = Schema({Required("provider"): _NAME})
        fallbacks = Schema({Optional("models"): All([model_ref], Length(max=FALLBACKS_LIMIT))})
        alias = Schema({Optional("name"): _NAME, Optional("model"): AnyOf(None, model_ref)})
        scan = Schema({Optional("local", default=False, description="Only look on this machine"): boolean})
        added = Schema(_PROVIDER | _MODEL | {Optional("default", default=True): boolean})
        key = {
            Required("key"): All(string, Length(min=1, max=KEY_LIMIT)),
            Optional("kind", default=_KEYS[0]): In(_KEYS),
        }
        wait = {Optional("timeout_s", default=WAIT_LIMIT_S): All(number, Range(min=0, max=WAIT_LIMIT_S))}
        paste = {Required("pasted"): All(string, Length(min=1, max=PASTE_LIMIT))}
        each_day = {Optional("each_day", default=False, description="Whether days are summed by themselves"): boolean}
        usage = Schema({Optional("days", default=30): _DAYS, Optional("by"): In(list(GROUPINGS)), **each_day})
        return [
            Method("models.status", self._status, OWNER, Schema({}), READ),
            Method("models.usage", self._usage, OWNER, usage, READ),
            Method("models.test", self._test, OWNER, one, ADMIN, acts=True),
            Method("models.scan", self._scan, OWNER, scan, ADMIN, acts=True),
            Method("models.refresh", self._refresh, OWNER, Schema({}), ADMIN, acts=True),
            Method("models.default", self._default, OWNER, Schema({Required("model"): model_ref}), ADMIN, acts=True),
            Method("models.providers.connect", self._connect, OWNER, Schema(_PROVIDER), ADMIN, acts=True),
            Method("models.providers.hello", self._hello, OWNER, Schema(_PROVIDER | _MODEL), ADMIN, acts=True),
            Method("models.providers.add", self._add_provider, OWNER, added, ADMIN, acts=True),
            Method("models.providers.remove", self._remove_provider, OWNER, provider, ADMIN, acts=True),
            Method("models.fallbacks", self._fallbacks, OWNER, fallbacks, ADMIN, acts=True),
            Method("models.aliases", self._aliases, OWNER, alias, ADMIN, acts=True),
            Method("models.auth.list", self._list, OWNER, Schema({}), ADMIN),
            Method("models.auth.add", self._add, OWNER, Schema(_ONE | key), ADMIN, acts=True),
            Method("models.auth.login", self._login, OWNER, Schema(_ONE), ADMIN, acts=True),
            Method("models.auth.complete", self._complete, OWNER, Schema(_STATE | paste), ADMIN, acts=True),
            Method("models.auth.wait", self._wait, OWNER, Schema(_STATE | wait), ADMIN),
            Method("models.auth.remove", self._remove, OWNER, Schema(_ONE), ADMIN, acts=True),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        return {**self._models.status(), "budgets": self._budgets()}

    async def _usage(self, call: MethodCall) -> Mapping[str, Any]:
        by = call.params.get("by")
        rows = await self._used(call.params["days"], by in OF_SESSIONS)
        if by is None:
            return {"rows": rows}
        if call.params["each_day"]:
            by_day: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                by_day.setdefault(row["day"], []).append(row)
            found = [{"day": day, **each} for day, of in by_day.items() for each in sum_usage(of, by)]
            return {"count": len(found), "rows": found[:SUMS_LIMIT], "total": total_of(found)}
        sums = sum_usage(rows, by)
        return {"count": len(sums), "rows": sums[:SUMS_LIMIT], "total": total_of(sums)}

    async def _test(self, call: MethodCall) -> Mapping[str, Any]:
        results = await self._accounts.test(call.params.get("model"))
        return {"ok": bool(results) and all(each["ok"] for each in results), "results": results}

    async def _scan(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._accounts.scan(local=call.params["local"])

    async def _refresh(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._refresh_list()

    async def _default(self, call: MethodCall) -> Mapping[str, Any]:
        if call.params["model"] != AUTO:
            await choose_model(self._models, call.params["model"])
        await self._set(("models", "default"), call.params["model"])
        return {"default": self._models.status()["default"]}

    async def _connect(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._adding.connect(_provider(call))

    async def _hello(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._adding.hello(_provider(call))

    async def _add_provider(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._adding.add(_provider(call), default=call.params["default"])

    async def _remove_provider(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["provider"]
        kept = [each["id"] for each in self._accounts.all() if each["provider"] == name]
        configured = name in ((self._config.current.raw.get("models") or {}).get("providers") or {})
        if configured or not kept:
            await self._adding.remove(name)
        for id in kept:
            await self._accounts.remove(name, id)
        return {"ok": True, "default": self._models.status()["default"]}

    async def _fallbacks(self, call: MethodCall) -> Mapping[str, Any]:
        if "models" in call.params:
            await asyncio.gather(*(choose_model(self._models, ref) for ref in call.params["models"]))
            await self._set(("models", "fallbacks"), call.params["models"])
        return {"fallbacks": self._models.status()["fallbacks"]}

    async def _aliases(self, call: MethodCall) -> Mapping[str, Any]:
        name, aliases = call.params.get("name"), dict(self._models.aliases)
        if name is not None and (model := call.params.get("model")) is not None:
            await choose_model(self._models, model)
            await self._set(("models", "aliases"), {**aliases, name: model})
        elif name is not None:
            if name not in aliases:
                raise NotFound(f"There is no alias {name}; there are {', '.join(aliases) or 'none'}.")
            del aliases[name]
            await self._set(("models", "aliases"), aliases)
        elif "model" in call.params:
            raise InvalidRequest("name is missing: the alias to set")
        return {"aliases": dict(self._models.aliases)}

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"credentials": self._accounts.all()}

    async def _add(self, call: MethodCall) -> Mapping[str, Any]:
        given = call.params
        kind = CredentialKind(given["kind"])
        return {"credential": await self._accounts.add(given["provider"], given["id"], given["key"], kind)}

    async def _login(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._accounts.login(call.params["provider"], call.params["id"])

    async def _complete(self, call: MethodCall) -> Mapping[str, Any]:
        await self._accounts.complete(call.params["state"], call.params["pasted"])
        return {"ok": True}

    async def _wait(self, call: MethodCall) -> Mapping[str, Any]:
        return {"done": await self._accounts.wait(call.params["state"], call.params["timeout_s"])}

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        await self._accounts.remove(call.params["provider"], call.params["id"])
        return {"ok": True}

    async def _set(self, keys: tuple[str | int, ...], value: Any) -> None:
        await asyncio.to_thread(self._config.editor.set_value, keys, value)
        await self._apply(await self._config.reload())


def _provider(call: MethodCall) -> NewProvider:
    """Return the provider that a call names.

    Raises:
        InvalidRequest: Its address is none.
    """
    given = call.params
    key, base_url = given["key"].strip(), given["base_url"].strip()
    if key and not (key.isascii() and key.isprintable()):
        raise InvalidRequest("key: expected printable ASCII in one line")
    if given["provider"] not in VENDORS and not base_url:
        raise InvalidRequest("base_url: expected an address such as http://127.0.0.1:8000/v1")
    if base_url:
        try:
            base_url = url(base_url if "://" in base_url else f"http://{base_url}")
        except SchemaError as error:
            raise InvalidRequest(f"base_url: {error}") from error
    return NewProvider(given["provider"], base_url, key, given.get("model", ""), given.get("context_window"))
