"""The page *Pair phone*: a QR code with the address of the phone's page, and a setup code behind its `#`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import web

from hub.core.errors import HubError, InvalidRequest
from hub.core.surfaces import ADMIN, HttpCall, Route
from hub.gateway.access.hosts import is_loopback_host
from hub.gateway.access.local_ca import CA_FILE
from hub.gateway.pages import Page

if TYPE_CHECKING:
    from hub.host import IntegrationHost

ROUTES, PATH = "/pair-phone", "/devices/pair-phone"
KEPT_LIMIT = 20
_HERE = Path(__file__).parent


class PairPhonePage:
    """The page, and the form that makes a code; a code is shown to whoever made it.

    Args:
        host: Where it is added.
    """

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._made: dict[str, dict[str, Any]] = {}

    def add(self) -> None:
        """Add the page and its form."""
        host, template = self._host, _HERE / "pairing.html"
        chinese = json.loads((_HERE / "pairing.zh-CN.json").read_text(encoding="utf-8"))
        host.pages.add(
            Page(PATH, "Pair phone", template, self._show, scope=ADMIN, under="/devices", texts={"zh-CN": chinese})
        )
        host.routes.add(Route("POST", f"{ROUTES}/code", self._make, host.domain, scope=ADMIN, cookie=True))

    async def _show(self, call: HttpCall) -> Mapping[str, Any]:
        made = self._made.get(call.known_caller.credential_id)
        if made is not None and made["expires_ms"] < self._host.clock.time() * 1000:
            made = None
        return {"made": made, "has_authority": (self._host.home.path / "tls" / CA_FILE).is_file()}

    async def _make(self, call: HttpCall) -> web.StreamResponse:
        """`POST /pair-phone/code`."""
        import segno

        code = await self._code(call)
        parts = urlsplit(code["gatewayUrl"])
        scheme = "https" if parts.scheme == "wss" else "http"
        url = f"{scheme}://{parts.netloc}/p#{code['setupCode']}"
        self._made[call.known_caller.credential_id] = {
            "url": url,
            "qr": segno.make(url, error="l").svg_data_uri(scale=4, border=3, light="#fff"),
            "expires_ms": code["expiresAtMs"],
            "only_here": is_loopback_host(parts.netloc),
            "open": scheme == "http" and not is_loopback_host(parts.netloc),
        }
        while len(self._made) > KEPT_LIMIT:
            del self._made[next(iter(self._made))]
        return web.Response(status=303, headers={"Location": PATH, "Cache-Control": "no-store"})

    async def _code(self, call: HttpCall) -> Mapping[str, Any]:
        host = call.request.host
        params: dict[str, Any] = {"bootstrapProfile": "limited", "includeQr": False}
        here = f"{'wss' if call.request.secure else 'ws'}://{host}"
        asked = {} if is_loopback_host(host) else {"publicUrl": here}
        ask = self._host.methods.call
        try:
            found = await ask(call.known_caller, "device.pair.setupCode", {**params, **asked})
        except InvalidRequest:
            found = await ask(call.known_caller, "device.pair.setupCode", {**params, "publicUrl": here})
        if not isinstance(found, Mapping):
            raise HubError("device.pair.setupCode answered with no code")
        return found
