"""A sign-in server: PKCE, codes for other devices, rotating refresh tokens, API keys; its faults are scripted."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

REFUSED = {"error": "invalid_grant", "error_description": "the grant is no longer good"}


class OAuthServer:
    """The state of the server; requests of the token endpoint are in `asked`."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.life_s: Any = 3_600
        self.rotates = True
        self.fault: tuple[int, Any] | None = None
        self.base_url = ""
        self._codes: dict[str, dict[str, str]] = {}
        self.refresh = ""
        self.access_of: Callable[[int], str] = "access-{}-not-a-secret".format
        self.given = 0
        self.code_life_s = 900
        self.page = ""
        """Where the code is typed, if that is another page."""
        self.typed = False
        """Whether the person has typed the code of another device."""
        self.pauses: list[str] = []
        """What is answered before that, one for each request."""

    @property
    def endpoint(self) -> dict[str, str]:
        """The keys of `models.providers.NAME.oauth`, but the way back."""
        return {
            "authorize_url": f"{self.base_url}/authorize",
            "token_url": f"{self.base_url}/token",
            "client_id": "homarus-test",
        }

    async def authorize(self, request: web.Request) -> web.Response:
        """Let the person in, and lead the browser back with a code."""
        query = dict(request.query)
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        raise web.HTTPFound(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")

    async def device(self, request: web.Request) -> web.Response:
        """Give a code for another device."""
        form = await request.post()
        if form["client_id"] != "homarus-test":
            return web.json_response({"error": "invalid_client"}, status=401)
        page = self.page or f"{self.base_url}/type-it"
        codes = {"device_code": "device-not-a-secret", "user_code": "WDJB-MJHT", "verification_uri": page}
        return web.json_response({**codes, "expires_in": self.code_life_s, "interval": 0.02})

    async def token(self, request: web.Request) -> web.Response:
        """Exchange a code, a refresh token or an identity."""
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        if self.fault is not None:
            return web.json_response(self.fault[1], status=self.fault[0])
        match form["grant_type"]:
            case "authorization_code":
                began = self._codes.pop(form["code"], None)
                proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
                if began is None or began["code_challenge"] != proof.rstrip(b"=").decode():
                    return web.json_response(REFUSED, status=400)
                claims = base64.urlsafe_b64encode(b'{"email":"me@example.org"}').rstrip(b"=").decode()
                return self._tokens(id_token=f"head.{claims}.sign")
            case grant if grant.endswith(":device_code"):
                if self.typed:
                    return self._tokens()
                waits = self.pauses.pop(0) if self.pauses else "authorization_pending"
                return web.json_response({"error": waits}, status=400)
            case "refresh_token" if form["refresh_token"] == self.refresh:
                return self._tokens()
            case grant if grant.endswith(":token-exchange"):
                return web.json_response({"access_token": "sk-exchanged-not-a-secret"})
            case _:
                return web.json_response(REFUSED, status=400)

    def _tokens(self, **more: str) -> web.Response:
        self.given += 1
        answer = {"access_token": self.access_of(self.given), "expires_in": self.life_s, **more}
        if self.rotates or self.given == 1:
            self.refresh = f"refresh-{self.given}-not-a-secret"
            answer["refresh_token"] = self.refresh
        return web.json_response(answer)


@asynccontextmanager
async def oauth_server() -> AsyncIterator[OAuthServer]:
    """Run one."""
    server = OAuthServer()
    app = web.Application()
    app.router.add_get("/authorize", server.authorize)
    app.router.add_post("/token", server.token)
    app.router.add_post("/device", server.device)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.base_url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()
