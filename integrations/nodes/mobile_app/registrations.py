"""The registrations: kept on disk, each with its own address, deleted with the credential that made it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from hub.core.errors import Forbidden, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.schema import All, Length, Required, Schema
from hub.core.surfaces import ADMIN, READ, WRITE, HttpCall, Method, MethodCall, Open, Route
from hub.gateway.connection.server import json_response
from hub.nodes.phones import Phone
from integrations.nodes.mobile_app.app_api import api_routes
from integrations.nodes.mobile_app.app_push import AppPush, Relay
from integrations.nodes.mobile_app.app_sign_in import AppSignIn
from integrations.nodes.mobile_app.app_socket import AppSocket
from integrations.nodes.mobile_app.entities import AppEntities, device_of
from integrations.nodes.mobile_app.registration import REGISTER, MobileApp
from integrations.nodes.mobile_app.sealed import new_key
from integrations.nodes.mobile_app.webhook import AppWebhook

if TYPE_CHECKING:
    from hub.host import IntegrationHost

APPS_LIMIT = 50
GONE_LIMIT = 200
"""Addresses that are remembered as gone, so that their programs stop."""
BODY_LIMIT_BYTES = 60_000
PATH = "/api/webhook/{}"


@dataclass(slots=True)
class _Live:
    """A registration that is served."""

    app: MobileApp
    entities: AppEntities
    unserve: Callable[[], Any]
    unphone: Callable[[], Any] | None = None


class MobileApps:
    """All registrations.

    Args:
        host: Registers routes, methods and entities.
    """

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._storage = host.storage("registrations")
        self._live: dict[str, _Live] = {}
        self._gone: list[str] = []
        self._changing = asyncio.Lock()
        self.push = AppPush(host)

    async def open(self, *, relays: bool = False) -> None:
        """Read what is registered, and serve it.

        Args:
            relays: Whether notifications may go through the push service of the app's maker.

        Raises:
            HubError: It cannot be read.
        """
        kept = await self._storage.load({"apps": [], "gone": []})
        for each in kept["apps"]:
            self._serve(msgspec.convert(each, MobileApp))
        for webhook_id in kept["gone"]:
            self._serve_gone(webhook_id)
        host = self._host
        host.nodes.carry(self.push)
        if relays:
            host.nodes.carry(Relay(host, self.find))
        for route in (*AppSignIn(host).routes(), *api_routes(host), AppSocket(host, self).route()):
            host.routes.add(route)
        register = "/api/mobile_app/registrations"
        host.routes.add(Route("POST", register, self._register, host.domain, scope=WRITE, body=REGISTER))
        remove = Schema({Required("id"): All(str, Length(min=1, max=64))})
        host.methods.add(Method("mobile_app.list", self._list, host.domain, Schema({}), READ))
        host.methods.add(Method("mobile_app.remove", self._remove, host.domain, remove, ADMIN, acts=True))

    async def change(self, app: MobileApp) -> None:
        """Keep a registration as it is now; it is on disk when this returns."""
        async with self._changing:
            live = self._live[app.id]
            before, live.app = live.app, app
            if (before.name, before.is_notified) != (app.name, app.is_notified):
                self._show_phone(live)
            await self._save()

    async def end(self, id: str) -> None:
        """Forget a registration; its address answers 410 from now on."""
        async with self._changing:
            live = self._live.pop(id, None)
            if live is None:
                return
            live.unserve()
            if live.unphone is not None:
                live.unphone()
            live.entities.remove()
            self._serve_gone(live.app.webhook_id)
            await self._save()

    def get(self, id: str) -> tuple[MobileApp, AppEntities]:
        """Return a registration as it is now, and its entities."""
        live = self._live[id]
        return live.app, live.entities

    def find(self, id: str) -> MobileApp | None:
        """Return a registration, or None."""
        live = self._live.get(id)
        return live.app if live is not None else None

    def by_webhook(self, webhook_id: str) -> MobileApp | None:
        """Return the registration with an address, or None."""
        apps = (live.app for live in self._live.values())
        return next((app for app in apps if secrets.compare_digest(app.webhook_id.encode(), webhook_id.encode())), None)

    def _show_phone(self, live: _Live) -> None:
        """Offer an app's phone under its present name, if it can be notified."""
        if live.unphone is not None:
            live.unphone()
            live.unphone = None
        app = live.app
        if app.is_notified:
            phone = Phone(app.id, app.name, self._host.domain, device_of(app), app.person, app.principal)
            live.unphone = self._host.nodes.add_phone(phone)

    async def _register(self, call: HttpCall) -> web.StreamResponse:
        """`POST /api/mobile_app/registrations`."""
        caller = call.known_caller
        if caller.authority.tool_policies:
            raise Forbidden("a credential that is limited to some tools cannot register a device")
        if len(self._live) >= APPS_LIMIT:
            raise LimitExceeded(f"{APPS_LIMIT} devices are registered; `homarus call mobile_app.list` shows them")
        said = {key: value for key, value in call.body.items() if value is not None}
        app = MobileApp(
            id=new_id().lower(),
            webhook_id=secrets.token_hex(32),
            said=said,
            principal=caller.authority.principal,
            person=caller.authority.person,
            scopes=tuple(sorted(caller.authority.scopes)),
            links=tuple(sorted(self._host.methods.links(caller))),
            secret=(new_key() or "") if said["supports_encryption"] else "",
        )
        async with self._changing:
            self._serve(app)
            await self._save()
        answer = {"webhook_id": app.webhook_id, "secret": app.secret or None, "cloudhook_url": None}
        return json_response({**answer, "remote_ui_url": None}, status=201)

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        shown = ("device_name", "app_name", "manufacturer", "model", "os_version")
        return {
            "apps": [
                {"id": live.app.id, **{key: live.app.said.get(key) for key in shown}, "scopes": list(live.app.scopes)}
                for live in self._live.values()
            ]
        }

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        id = call.params["id"]
        if id not in self._live:
            raise NotFound(f"there is no registered device {id[:64]!r}; mobile_app.list names them")
        await self.end(id)
        return {"id": id}

    def _serve(self, app: MobileApp) -> None:
        host = self._host
        path = PATH.format(app.webhook_id)
        webhook = AppWebhook(host, self, app.id)
        route = Route("POST", path, webhook.receive, host.domain, scope=Open.SELF, body_limit=BODY_LIMIT_BYTES)
        live = self._live[app.id] = _Live(app, AppEntities(host, app), host.routes.add(route))
        self._show_phone(live)

    def _serve_gone(self, webhook_id: str) -> None:
        async def gone(call: HttpCall) -> web.StreamResponse:
            return web.Response(status=410)

        if len(self._gone) < GONE_LIMIT:
            self._gone.append(webhook_id)
            path, owner = PATH.format(webhook_id), self._host.domain
            self._host.routes.add(Route("POST", path, gone, owner, scope=Open.SELF, body_limit=BODY_LIMIT_BYTES))

    async def _save(self) -> None:
        apps = [msgspec.to_builtins(live.app) for live in self._live.values()]
        await self._storage.save({"apps": apps, "gone": self._gone})
