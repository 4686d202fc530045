"""Signing in and out: the link's code is posted by the page itself, or typed; in password mode the password is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest, LimitExceeded
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import HttpCall, HttpHandler
from web.core.form import read_fields
from web.core.i18n import catalogue
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

FORM = Schema({Optional("code"): All(string, Length(max=200)), Optional("password"): All(string, Length(max=512))})


class LoginPage:
    """The sign-in form before the gateway's own endpoints.

    Args:
        sign_in: The gateway's handler that trades a code or the password for a cookie.
        sign_out: The gateway's handler that ends a signed-in session.
        with_password: Returns whether the password opens too.
        lands: Returns the page after signing in.
    """

    def __init__(
        self,
        renderer: Renderer,
        sign_in: HttpHandler,
        sign_out: HttpHandler,
        with_password: Callable[[], bool],
        lands: Callable[[], Awaitable[str]],
    ) -> None:
        self._renderer = renderer
        self._sign_in = sign_in
        self._sign_out = sign_out
        self._with_password = with_password
        self._lands = lands

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /login`: the form; a person who is signed in already is redirected."""
        if call.caller is not None and not wants_json(call.request):
            return see_other("/")
        return await self._form(call)

    async def sign_in(self, call: HttpCall) -> web.StreamResponse:
        """`POST /login`: trade a code or the password for a cookie; what is wrong shows the form again."""
        try:
            signed = await self._sign_in(replace(call, body=_credential(read_fields(call, FORM))))
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._form(call, error)
        there = json_response({"ok": True}) if wants_json(call.request) else see_other(await self._lands())
        return _with_cookies(signed, there)

    async def sign_out(self, call: HttpCall) -> web.StreamResponse:
        """`POST /logout`: end this browser's session everywhere it is open."""
        signed = await self._sign_out(replace(call, body={}))
        return _with_cookies(signed, json_response({"ok": True}) if wants_json(call.request) else see_other("/login"))

    async def _form(self, call: HttpCall, error: HubError | None = None) -> web.Response:
        data = {"error": self._told(call, error), "with_password": self._with_password()}
        return await self._renderer.respond(
            call, RenderedPage("login", "Sign in", data, status=error.http_status if error else 200)
        )

    def _told(self, call: HttpCall, error: HubError | None) -> str | None:
        texts = catalogue(self._renderer.preferences(call).language)
        if error is None:
            return None
        if isinstance(error, LimitExceeded):
            return texts.gettext("Too many attempts. Wait five minutes and try again.")
        if error.details.get("code") == "AUTH_PASSWORD_MISMATCH":
            return texts.gettext("The password is wrong.")
        return texts.gettext("This code is invalid, has been used, or is older than ten minutes.")


def _credential(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the one credential of a form, in the gateway's form."""
    code = fields.get("code", "").strip()
    if code and len(code) <= 64:
        return {"code": code}
    if fields.get("password"):
        return {"password": fields["password"]}
    raise InvalidRequest("code: expected a sign-in code")


def _with_cookies(source: web.StreamResponse, target: web.Response) -> web.Response:
    target.cookies.update(source.cookies)
    return target
