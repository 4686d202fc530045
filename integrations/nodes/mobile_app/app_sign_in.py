"""Signing in from Home Assistant's companion apps: OAuth 2 as their hub speaks it, over credentials of this one.

An owner who is signed in allows an app on `/auth/authorize`; the app trades the code for a token of the hub, which is
listed and revoked with the others, and asks again and again for a short secret that stands for it.

Source: https://developers.home-assistant.io/docs/auth_api
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from aiohttp import web
from msgspec import Struct

from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import ADMIN, READ, WRITE, Caller, HttpCall, Open, Route
from hub.gateway.calls.settings import AuthMode
from hub.gateway.standalone_page import StandalonePage

if TYPE_CHECKING:
    from hub.host import IntegrationHost

CODE_LIFE_S = 600.0
CODES_LIMIT = 32
ACCESS_LIFE_S = 1_800.0
FORM_LIMIT_BYTES = 8_192
ATTEMPTS = "app:"
KNOWN_APPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "https://home-assistant.io/android": ("Home Assistant (Android)", ("homeassistant://auth-callback",)),
    "https://home-assistant.io/iOS": ("Home Assistant (iPhone, Mac)", ("homeassistant://auth-callback",)),
}
"""Apps whose code goes back to the app itself: by their client id, their names and addresses."""
_URL = All(str, Length(min=1, max=1_024))
_ALLOW = Schema(
    {
        Required("client_id"): _URL,
        Required("redirect_uri"): _URL,
        Optional("state", default=""): All(str, Length(max=1_024)),
        Optional("admin", default=False): boolean,
    }
)
_PAGE = StandalonePage(
    Path(__file__).parent / "page",
    "authorize.html",
    {"authorize.js": "text/javascript", "authorize.css": "text/css"},
)
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


class _Code(Struct, frozen=True):
    """A code that was given to an app, and who let it in with which rights."""

    client_id: str
    name: str
    scopes: tuple[str, ...]
    caller: Caller
    until_s: float


class AppSignIn:
    """The routes of `/auth`.

    Args:
        host: Checks and makes credentials.
    """

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._codes: dict[str, _Code] = {}

    def routes(self) -> list[Route]:
        """Return the routes."""
        owner = self._host.domain
        return [
            Route("GET", "/auth/providers", self._providers, owner, scope=Open.PUBLIC),
            Route("GET", "/auth/authorize", self._page, owner, scope=Open.PUBLIC, cookie=True),
            Route("GET", "/auth/page/{file}", self._file, owner, scope=Open.PUBLIC),
            Route("POST", "/auth/authorize", self._allow, owner, scope=ADMIN, body=_ALLOW, cookie=True),
            Route("POST", "/auth/token", self._token, owner, scope=Open.SELF, body_limit=FORM_LIMIT_BYTES),
            Route("POST", "/auth/revoke", self._revoke, owner, scope=Open.SELF, body_limit=FORM_LIMIT_BYTES),
        ]

    async def _providers(self, call: HttpCall) -> web.StreamResponse:
        providers = [{"name": "Homarus", "id": None, "type": "homarus"}]
        return web.json_response({"providers": providers, "preselect_remember_me": True})

    async def _page(self, call: HttpCall) -> web.StreamResponse:
        """`GET /auth/authorize`: ask the owner, or say why an app cannot be let in."""
        query = call.request.query
        name = why = ""
        try:
            name = self.app_name(query.get("client_id", ""), query.get("redirect_uri", ""))
        except InvalidRequest as error:
            why = error.message
        if query.get("response_type", "code") != "code":
            why = phrase("expected response_type=code")
        is_owner = call.caller is not None and call.caller.authority.has(ADMIN)
        fields = {"app": name, "why": why, "state_of": "refused" if why else "ask" if is_owner else "signin"}
        with_password = "1" if self._host.http.mode is AuthMode.PASSWORD else ""
        return _PAGE.show(
            call,
            self._host.language,
            {"Referrer-Policy": "no-referrer"},
            _POLICY,
            **fields,
            with_password=with_password,
        )

    async def _file(self, call: HttpCall) -> web.StreamResponse:
        return _PAGE.serve(call)

    async def _allow(self, call: HttpCall) -> web.StreamResponse:
        """`POST /auth/authorize`: the owner lets an app in."""
        said, caller = call.body, call.known_caller
        name = self.app_name(said["client_id"], said["redirect_uri"])
        if call.caller is None or not caller.authority.owner:
            raise Forbidden(phrase("an owner lets an app in"))
        scopes = (READ, WRITE, *([ADMIN] if said["admin"] else []))
        self._forget_ended()
        while len(self._codes) >= CODES_LIMIT:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(32)
        until_s = self._host.clock.monotonic() + CODE_LIFE_S
        self._codes[code] = _Code(said["client_id"], name, scopes, caller, until_s)
        answer = {"code": code, **({"state": said["state"]} if said["state"] else {})}
        join = "&" if "?" in said["redirect_uri"] else "?"
        return web.json_response({"url": f"{said['redirect_uri']}{join}{urlencode(answer)}"})

    async def _token(self, call: HttpCall) -> web.StreamResponse:
        """`POST /auth/token`: trade a code for a token, or a token for a short secret."""
        said = _form(call)
        kind = said.get("grant_type")
        if said.get("action") == "revoke":
            return await self._end(call, said)
        try:
            if kind == "authorization_code":
                return await self._from_code(call, said)
            if kind == "refresh_token":
                return await self._refresh(call, said)
        except HubError as error:
            if error.http_status != 401:
                raise
            return _refused("invalid_grant", error.message)
        return _refused("unsupported_grant_type")

    async def _from_code(self, call: HttpCall, said: Mapping[str, str]) -> web.StreamResponse:
        if urlsplit(said.get("client_id", "")).scheme not in ("http", "https"):
            return _refused("invalid_request", "Invalid client id")
        with self._host.credentials.counted(call, ATTEMPTS) as good:
            self._forget_ended()
            code = self._codes.pop(said.get("code", ""), None)
            if code is None or code.client_id != said["client_id"]:
                return _refused("invalid_request", "Invalid code")
            good()
        params = {"name": code.name, "scopes": list(code.scopes)}
        made = await self._host.methods.call(code.caller, "token.create", params)
        return await self._answer(call, made["token"], refresh=made["token"])

    async def _refresh(self, call: HttpCall, said: Mapping[str, str]) -> web.StreamResponse:
        if not said.get("refresh_token"):
            return _refused("invalid_request")
        return await self._answer(call, said["refresh_token"])

    async def _answer(self, call: HttpCall, token: str, refresh: str = "") -> web.StreamResponse:
        brief = await self._host.credentials.brief(call, token, ACCESS_LIFE_S)
        answer = {"access_token": brief, "token_type": "Bearer", "expires_in": int(ACCESS_LIFE_S)}
        more = {"refresh_token": refresh, "ha_auth_provider": "homarus"} if refresh else {}
        return web.json_response({**answer, **more}, headers={"Cache-Control": "no-store", "Pragma": "no-cache"})

    async def _revoke(self, call: HttpCall) -> web.StreamResponse:
        """`POST /auth/revoke`: end a token; an unknown one is no error, as OAuth has it."""
        return await self._end(call, _form(call))

    async def _end(self, call: HttpCall, said: Mapping[str, str]) -> web.StreamResponse:
        try:
            await self._host.credentials.end(call, said.get("token", ""))
        except HubError as error:
            if error.http_status != 401:
                raise
        return web.Response(status=200)

    def app_name(self, client_id: str, redirect_uri: str) -> str:
        """Return people's name for an app, if the address for its code is its own.

        Raises:
            InvalidRequest: The client id is no address, or the code would go to somebody else.
        """
        client, back = urlsplit(client_id), urlsplit(redirect_uri)
        if client.scheme not in ("http", "https") or not client.hostname or client.username or client.fragment:
            raise InvalidRequest(phrase("client_id: expected the web address of the app"))
        name, addresses = KNOWN_APPS.get(client_id, (client.netloc, ()))
        if redirect_uri in addresses or (client.scheme, client.netloc) == (back.scheme, back.netloc):
            return name[:100]
        raise InvalidRequest(phrase("redirect_uri: it is not an address of {app}", app=client.netloc[:100]))

    def _forget_ended(self) -> None:
        now = self._host.clock.monotonic()
        self._codes = {code: each for code, each in self._codes.items() if each.until_s > now}


def _form(call: HttpCall) -> dict[str, str]:
    try:
        text = bytes(call.body or b"").decode()
        return {key: values[-1] for key, values in parse_qs(text, max_num_fields=16).items()}
    except ValueError as error:
        raise InvalidRequest(phrase("expected a form")) from error


def _refused(error: str, description: str = "") -> web.Response:
    told: dict[str, Any] = {"error": error, **({"error_description": description} if description else {})}
    return web.json_response(told, status=400)
