"""The routes of the phone's page: the page, its scripts, what makes it an app, and the certificate that it may need."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from aiohttp import web

from hub.core.errors import NotFound
from hub.core.surfaces import HttpCall, Open, Route
from hub.gateway.access.local_ca import CA_FILE
from hub.gateway.standalone_page import StandalonePage

if TYPE_CHECKING:
    from hub.host import IntegrationHost

PATH = "/p"
CERTIFICATE_LIMIT_BYTES = 16_384
_FILES = {
    "phone.js": "text/javascript",
    "node.js": "text/javascript",
    "canvas.js": "text/javascript",
    "wire.js": "text/javascript",
    "notice.js": "text/javascript",
    "notices.js": "text/javascript",
    "report.js": "text/javascript",
    "tags.js": "text/javascript",
    "sw.js": "text/javascript",
    "wake.js": "text/javascript",
    "phone.css": "text/css",
    "icon.svg": "image/svg+xml",
    "phone.webmanifest": "application/manifest+json",
}
_PAGE = StandalonePage(Path(__file__).parent, "phone.html", _FILES)
_HEADERS = {
    "Permissions-Policy": "camera=(self), display-capture=(self), geolocation=(self), microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FILE_HEADERS = {"Service-Worker-Allowed": PATH, "X-Content-Type-Options": "nosniff"}
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "media-src": "'self' blob:",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def phone_routes(host: IntegrationHost) -> list[Route]:
    """Return the routes; they show nothing of the home, and anybody may open them."""
    folder = host.home.path / "tls"

    async def show(call: HttpCall) -> web.StreamResponse:
        """`GET /p`: the page."""
        canvas = host.pages.frame_origin(call.request)
        more = {"frame-src": canvas, "img-src": f"{_POLICY['img-src']} {canvas}"} if canvas else {}
        return _PAGE.show(call, host.language, _HEADERS, {**_POLICY, **more}, canvas=canvas)

    async def serve_file(call: HttpCall) -> web.StreamResponse:
        """`GET /p/<file>`: its scripts and style."""
        return _PAGE.serve(call, _FILE_HEADERS)

    async def scanned(call: HttpCall) -> web.StreamResponse:
        """`GET /tag/<id>`: what a tag with an address opens; the page asks before it tells the hub."""
        return web.Response(status=303, headers={"Location": f"{PATH}?tag={quote(call.params['id'], safe='')}"})

    async def certificate(call: HttpCall) -> web.StreamResponse:
        """`GET /p/ca.crt`: the certificate of this home's own authority."""
        data = await asyncio.to_thread(_certificate, folder)
        headers = {"Content-Disposition": 'attachment; filename="homarus-ca.crt"'}
        return web.Response(body=data, content_type="application/x-x509-ca-cert", headers=headers)

    async def profile(call: HttpCall) -> web.StreamResponse:
        """`GET /p/ca.mobileconfig`: the same for iPhones and iPads."""
        data = apple_profile(await asyncio.to_thread(_certificate, folder))
        headers = {"Content-Disposition": 'attachment; filename="homarus-ca.mobileconfig"'}
        return web.Response(body=data, content_type="application/x-apple-aspen-config", headers=headers)

    owner = host.domain
    return [
        Route("GET", PATH, show, owner, Open.PUBLIC),
        Route("GET", "/tag/{id:*}", scanned, owner, Open.PUBLIC),
        Route("GET", f"{PATH}/ca.crt", certificate, owner, Open.PUBLIC),
        Route("GET", f"{PATH}/ca.mobileconfig", profile, owner, Open.PUBLIC),
        Route("GET", f"{PATH}/{{file}}", serve_file, owner, Open.PUBLIC),
    ]


def apple_profile(certificate: bytes) -> bytes:
    """Return a configuration profile that offers a certificate, in PEM, to an Apple device."""
    ids = [str(uuid.uuid5(uuid.NAMESPACE_OID, f"{part}{certificate.hex()}")).upper() for part in ("root", "profile")]
    shared = {"PayloadVersion": 1, "PayloadOrganization": "Homarus"}
    root = {
        **shared,
        "PayloadType": "com.apple.security.root",
        "PayloadIdentifier": "org.homarus.ca.root",
        "PayloadUUID": ids[0],
        "PayloadDisplayName": "Homarus home authority",
        "PayloadCertificateFileName": "homarus-ca.crt",
        "PayloadContent": certificate,
    }
    profile = {
        **shared,
        "PayloadType": "Configuration",
        "PayloadIdentifier": "org.homarus.ca",
        "PayloadUUID": ids[1],
        "PayloadDisplayName": "Homarus",
        "PayloadDescription": "Lets this device trust the hub at home, and no other server.",
        "PayloadContent": [root],
    }
    import plistlib  # with an XML parser, for the few phones that ask

    return plistlib.dumps(profile)


def _certificate(folder: Path) -> bytes:
    try:
        with (folder / CA_FILE).open("rb") as file:
            return file.read(CERTIFICATE_LIMIT_BYTES)
    except OSError as error:
        raise NotFound("this hub has no authority of its own; `homarus tls` makes one") from error
