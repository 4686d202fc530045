"""Signing a browser in and out: a one-time code, or the password, becomes a cookie that script cannot read."""

from __future__ import annotations

from aiohttp import web

from hub.core.context import SCOPES
from hub.core.errors import InvalidRequest, Unauthorized
from hub.core.schema import All, Length, Optional, Schema
from hub.gateway.auth import Authenticator
from hub.gateway.contract import HttpCall, Open, Route
from hub.gateway.ingress import Ingress
from hub.gateway.settings import AuthMode
from hub.security.login_codes import LoginCodes
from hub.security.web_sessions import EXPIRES_S, WebSessions

LOGIN_SCHEMA = Schema(
    {
        Optional("code"): All(str, Length(min=1, max=64)),
        Optional("password"): All(str, Length(min=1, max=512)),
    }
)
LOGOUT_SCHEMA = Schema({})


def sign_in_routes(
    ingress: Ingress, authenticator: Authenticator, codes: LoginCodes, sessions: WebSessions
) -> list[Route]:
    """Return `POST /api/login {code | password}` and `POST /api/logout {}`."""

    async def login(call: HttpCall) -> web.StreamResponse:
        client = ingress.client_of(call.request)
        body = call.body
        authenticator.reserve(client)
        if "code" in body:
            scopes = await codes.redeem(body["code"])
            if scopes is None:
                raise Unauthorized(
                    "this code is not valid, or no longer; get a new one with `homarus dashboard`",
                    details={"code": "LOGIN_CODE_INVALID"},
                )
            authenticator.succeed(client)
        elif "password" in body and authenticator.mode is AuthMode.PASSWORD:
            await authenticator.check_password(body["password"], client)
            scopes = SCOPES
        else:
            authenticator.succeed(client)
            raise InvalidRequest("send the sign-in code as `code`")
        _, cookie = await sessions.create("owner", scopes)
        response = web.Response(
            body=b'{"ok":true}', content_type="application/json", headers={"Cache-Control": "no-store"}
        )
        response.set_cookie(
            authenticator.cookie_name,
            cookie.reveal(),
            max_age=int(EXPIRES_S),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=client.scheme == "https",
        )
        return response

    async def logout(call: HttpCall) -> web.StreamResponse:
        kind, _, id = call.known_caller.credential_id.partition(":")
        if kind == "cookie":
            await sessions.revoke(id)
        response = web.Response(
            body=b'{"ok":true}', content_type="application/json", headers={"Cache-Control": "no-store"}
        )
        response.del_cookie(authenticator.cookie_name, path="/", httponly=True, samesite="Strict")
        return response

    return [
        Route("POST", "/api/login", login, "gateway", scope=Open.PUBLIC, body=LOGIN_SCHEMA, body_limit=4096),
        Route(
            "POST",
            "/api/logout",
            logout,
            "gateway",
            scope=Open.SIGNED_IN,
            body=LOGOUT_SCHEMA,
            body_limit=4096,
            cookie=True,
        ),
    ]
