"""The browser over the gateway, for the command line and other clients of operators."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from hub.core.errors import Unavailable
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.gateway.calls.contract import Method, MethodCall, MethodHandler
from integrations.tools.browser.acting import first_line
from integrations.tools.browser.profile import BrowserProfile
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.snapshot import CHARACTERS_LIMIT, SnapshotForm, cut
from integrations.tools.browser.tab import Tab

SESSION = "operator"
"""Whose tabs these are, in place of a conversation."""
_SHORT = All(string, Length(min=1, max=40))
_PROFILE = {Optional("profile"): _SHORT}
_TAB = {**_PROFILE, Optional("tab"): _SHORT}


def browser_methods(service: BrowserService) -> list[Method]:
    """Return the methods; all are for administrators."""

    async def status(call: MethodCall) -> list[Mapping[str, Any]]:
        return [_shown(each) for each in service.profiles.values()]

    async def start(call: MethodCall) -> Mapping[str, Any]:
        return _shown(await service.start(call.params.get("profile")))

    async def stop(call: MethodCall) -> Mapping[str, Any]:
        return _shown(await service.stop(call.params.get("profile")))

    async def tabs(call: MethodCall) -> list[Mapping[str, Any]]:
        return [await _tab(tab) for tab in service.profile(call.params.get("profile")).tabs.values()]

    async def open_(call: MethodCall) -> Mapping[str, Any]:
        profile = await service.start(call.params.get("profile"))
        tab = await profile.open(SESSION)
        await profile.go(tab, call.params["url"])
        return await _tab(tab)

    async def snapshot(call: MethodCall) -> Mapping[str, Any]:
        tab = _chosen(service, call)
        form = SnapshotForm(interactive=call.params["interactive"])
        return {**await _tab(tab), "snapshot": cut(await tab.snapshot(form), CHARACTERS_LIMIT)}

    async def screenshot(call: MethodCall) -> Mapping[str, Any]:
        tab = _chosen(service, call)
        data = await tab.page.screenshot(type="jpeg", full_page=call.params["full_page"])
        return {**await _tab(tab), "type": "image/jpeg", "data": base64.b64encode(data).decode()}

    return [
        _method("status", status, {}),
        _method("start", start, _PROFILE, acts=True),
        _method("stop", stop, _PROFILE, acts=True),
        _method("tabs", tabs, _PROFILE),
        _method("open", open_, {**_PROFILE, Required("url"): All(string, Length(min=1, max=8_192))}, acts=True),
        _method("snapshot", snapshot, {**_TAB, Optional("interactive", default=False): boolean}),
        _method("screenshot", screenshot, {**_TAB, Optional("full_page", default=False): boolean}),
    ]


def _method(name: str, handler: MethodHandler, fields: Mapping[Any, Any], *, acts: bool = False) -> Method:
    async def handle(call: MethodCall) -> Any:
        from playwright.async_api import Error

        try:
            return await handler(call)
        except Error as error:
            raise Unavailable(first_line(error)) from error

    return Method(f"browser.{name}", handle, "browser", Schema(dict(fields)), acts=acts)


def _chosen(service: BrowserService, call: MethodCall) -> Tab:
    """Return the named tab, or the one that was used last."""
    profile = service.profile(call.params.get("profile"))
    return (None if "tab" in call.params else profile.shown) or profile.tab(SESSION, call.params.get("tab"))


def _shown(profile: BrowserProfile) -> Mapping[str, Any]:
    return {
        "profile": profile.name,
        "mode": profile.settings["mode"],
        "network": profile.settings["network"],
        "running": profile.running,
        "tabs": len(profile.tabs),
        "person": profile.person,
    }


async def _tab(tab: Tab) -> Mapping[str, Any]:
    return {"tab": tab.id, "title": (await tab.page.title())[:500], "url": tab.url[:2_000]}
