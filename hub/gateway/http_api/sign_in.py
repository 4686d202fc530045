"""Signing a browser in and out: a one-time code, or the password, becomes an HttpOnly cookie."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from hub.core.context import SCOPES
from hub.core.errors import HubError, InvalidRequest, Unauthorized
from hub.core.events import EventBus
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Schema
from hub.core.surfaces import HttpCall, Open, Route
from hub.gateway.access.auth import Authenticator, CallClient
from hub.gateway.access.ingress import Ingress
from hub.gateway.calls.settings import AuthMode
from hub.security.login_codes import LoginCodes
from hub.security.web_sessions import EXPIRES_S, WebSessions

BODY_LIMIT_BYTES = 4096
CODE_ATTEMPTS = "code:"
EVENT_SIGNED_IN = "signed_in"
"""Somebody signed in, or failed to; then `outcome` says why."""
EVENT_SIGNED_OUT = "signed_out"
NOBODY = "nobody"
LOGIN_SCHEMA = Schema(
    {
        Optional("code"): All(str, Length(min=1, max=64)),
        Optional("password"): All(str, Length(min=1, max=512)),
    }
)
LOGOUT_SCHEMA = Schema({})


class SignIn:
    """`POST /api/login {code | password}` and `POST /api/logout {}`.

    Args:
        ingress: Finds where a request comes from.
        authenticator: Counts attempts and knows the password.
        codes: One-time codes.
        sessions: The sessions of cookies.
        bus: Is told who signed in and out, and who failed to.
    """

    def __init__(
        self,
        ingress: Ingress,
        authenticator: Authenticator,
        codes: LoginCodes,
        sessions: WebSessions,
        bus: EventBus,
    ) -> None:
        self._ingress = ingress
        self._authenticator = authenticator
        self._codes = codes
        self._sessions = sessions
        self._bus = bus

    def routes(self) -> list[Route]:
        """Return the routes."""
        login = Route(
            "POST",
            "/api/login",
            self.login,
            "gateway",
            scope=Open.PUBLIC,
            body=LOGIN_SCHEMA,
            body_limit=BODY_LIMIT_BYTES,
        )
        logout = Route(
            "POST",
            "/api/logout",
            self.logout,
            "gateway",
            scope=Open.SIGNED_IN,
            body=LOGOUT_SCHEMA,
            body_limit=BODY_LIMIT_BYTES,
            cookie=True,
        )
        return [login, logout]

    async def login(self, call: HttpCall) -> web.StreamResponse:
        """Trade `call.body["code"]`, or in password mode `call.body["password"]`, for a cookie.

        Raises:
            Unauthorized: It is not valid; `details.code` says which.
            LimitExceeded: Too many failures.
            InvalidRequest: Neither was sent.
        """
        client = self._ingress.client_of(call.request)
        body = call.body
        with_password = "password" in body and self._authenticator.mode is AuthMode.PASSWORD
        if "code" not in body and not with_password:
            raise InvalidRequest(phrase("send the sign-in code as `code`"))
        kind = CODE_ATTEMPTS if "code" in body else ""
        told = {"kind": "code" if "code" in body else "password", "address": client.address}
        try:
            scopes = await self._check(body, client, kind)
        except HubError as error:
            self._bus.fire(EVENT_SIGNED_IN, {**told, "who": NOBODY, "outcome": error.code})
            raise
        session, cookie = await self._sessions.create("owner", scopes)
        self._bus.fire(EVENT_SIGNED_IN, {**told, "who": "owner", "credential": f"cookie:{session.id}"})
        response = _done()
        response.set_cookie(
            self._authenticator.cookie_name,
            cookie.reveal(),
            max_age=int(EXPIRES_S),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=client.scheme == "https",
        )
        return response

    async def _check(self, body: Mapping[str, str], client: CallClient, kind: str) -> frozenset[str]:
        self._authenticator.reserve(client, kind)
        if "code" in body:
            scopes = await self._codes.redeem(body["code"])
            if scopes is None:
                raise Unauthorized(
                    "this code is invalid or has expired; get a new one with `homarus dashboard`",
                    details={"code": "LOGIN_CODE_INVALID"},
                )
            self._authenticator.succeed(client, kind)
            return scopes
        await self._authenticator.check_password(body["password"], client)
        return SCOPES

    async def logout(self, call: HttpCall) -> web.StreamResponse:
        """End the caller's dashboard session, wherever it is open."""
        kind, _, id = call.known_caller.credential_id.partition(":")
        if kind == "cookie":
            await self._sessions.revoke(id)
            caller = call.known_caller
            told = {"who": caller.authority.principal, "credential": caller.credential_id, "address": caller.address}
            self._bus.fire(EVENT_SIGNED_OUT, told)
        response = _done()
        response.del_cookie(self._authenticator.cookie_name, path="/", httponly=True, samesite="Strict")
        return response


def _done() -> web.Response:
    return web.Response(body=b'{"ok":true}', content_type="application/json", headers={"Cache-Control": "no-store"})
