"""The route by which a person hands over what runs elsewhere: a Chrome, or one tab of it.

A Chrome comes by `homarus browser attach`, a tab by the browser extension.
"""

from __future__ import annotations

import logging

import msgspec
from aiohttp import web

from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from hub.core.surfaces import ADMIN, BROWSER, HttpCall, Route
from integrations.tools.browser.attached import AttachedChrome
from integrations.tools.browser.cdp_socket import MESSAGE_LIMIT_BYTES
from integrations.tools.browser.handed_tab import HandedTab, read_hello
from integrations.tools.browser.schema import TAB
from integrations.tools.browser.service import BrowserService

_log = logging.getLogger(__name__)

PATH = "/browser/attach/{name}"
EXTENSION_PROTOCOL = "homarus.browser"
"""The subprotocol of the extension."""
REFUSED = 4000
"""The close code of a refusal, whose reason says why: a browser hides the answer to a handshake."""
HEARTBEAT_S = 20.0
HELLO_LIMIT_S = 30.0


def attach_route(service: BrowserService, owner: str) -> Route:
    """Return the route by which a Chrome, or a tab, is attached."""

    async def attach(call: HttpCall) -> web.StreamResponse:
        if EXTENSION_PROTOCOL in call.request.headers.get("Sec-WebSocket-Protocol", ""):
            return await _attach_tab(service, call)
        if ADMIN not in call.known_caller.authority.scopes:
            raise Forbidden(f"a whole Chrome needs a token with the scope {ADMIN}; yours may hand over a tab")
        profile = service.profile(call.params["name"])
        if not profile.waits or profile.settings["mode"] == TAB:
            raise InvalidRequest(f"the profile {profile.name} is not one with mode: attach and without cdp_url")
        if profile.attached is not None:
            raise Conflict(f"a Chrome is attached to the profile {profile.name} already")
        socket = web.WebSocketResponse(compress=False, max_msg_size=MESSAGE_LIMIT_BYTES, heartbeat=HEARTBEAT_S)
        profile.attached = chrome = AttachedChrome(socket)
        try:
            await socket.prepare(call.request)
            await chrome.read()
        finally:
            if profile.attached is chrome:
                profile.attached = None
        return socket

    return Route("GET", PATH, attach, owner, scope=BROWSER, websocket=True, extension=True)


async def _attach_tab(service: BrowserService, call: HttpCall) -> web.StreamResponse:
    """Serve the extension, which has one connection for the tab that is handed over."""
    caller = call.known_caller
    socket = web.WebSocketResponse(
        compress=False, max_msg_size=MESSAGE_LIMIT_BYTES, heartbeat=HEARTBEAT_S, protocols=(EXTENSION_PROTOCOL,)
    )
    await socket.prepare(call.request)
    try:
        profile = service.profile(call.params["name"])
    except NotFound:
        profile = None
    why = ""
    if profile is None or profile.settings["mode"] != TAB:
        why = "profile"
    elif caller.authority.scopes != {BROWSER}:
        why = "rights"
    elif profile.handed is not None and profile.handed.credential_id != caller.credential_id:
        why = "taken"
    hello = None if why else await read_hello(socket, HELLO_LIMIT_S)
    if profile is None or hello is None:
        await socket.close(code=REFUSED, message=(why or "hello").encode())
        return socket
    tab = HandedTab(socket, hello, caller.credential_id)
    before, profile.handed = profile.handed, tab
    try:
        if before is not None:  # another tab, or this one after a break that the hub has not noticed yet
            await before.close()
            await before.released.wait()
        if profile.handed is tab:
            profile.attached = tab
            await socket.send_str('{"ready":true}')
            await tab.read()
    except msgspec.DecodeError as error:
        _log.warning("the browser extension says what is not of its protocol: %s", error)
    finally:
        if profile.attached is tab:
            profile.attached = None
        service.release(profile, tab)
    return socket
