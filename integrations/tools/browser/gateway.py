"""The browser over the gateway, for the command line and other clients of operators."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.core.surfaces import Method, MethodCall, MethodHandler
from hub.tools.contract import ToolCall
from integrations.tools.browser.acting import ActFailed, first_line
from integrations.tools.browser.labels import show_labels
from integrations.tools.browser.parameters import PARAMETERS
from integrations.tools.browser.profile import BrowserProfile
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.snapshot import CHARACTERS_LIMIT, SnapshotForm, cut
from integrations.tools.browser.tab import Tab
from integrations.tools.browser.tool import BrowserTool

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
        with profile.opening(SESSION):
            tab = await profile.open(SESSION)
            await profile.go(tab, call.params["url"])
        return await _tab(tab)

    async def snapshot(call: MethodCall) -> Mapping[str, Any]:
        tab, params = await _chosen(service, call), call.params
        form = SnapshotForm(params["refs"] == "role", params["interactive"], params["compact"])
        text = await tab.snapshot(form, depth=params.get("depth"))
        return {**await _tab(tab), "snapshot": cut(text, CHARACTERS_LIMIT)}

    async def screenshot(call: MethodCall) -> Mapping[str, Any]:
        tab, labels = await _chosen(service, call), call.params["labels"]
        if labels:
            await tab.snapshot(SnapshotForm(), boxes=True)
        async with show_labels(tab, on=labels):
            data = await tab.page.screenshot(type="jpeg", full_page=call.params["full_page"])
        return {**await _tab(tab), "type": "image/jpeg", "data": base64.b64encode(data).decode()}

    async def pdf(call: MethodCall) -> Mapping[str, Any]:
        tab = await _chosen(service, call)
        data = base64.b64encode(await tab.page.pdf()).decode()
        return {**await _tab(tab), "type": "application/pdf", "data": data}

    async def use(call: MethodCall) -> Mapping[str, Any]:
        if (action := call.params["action"]) in ("status", "stop"):
            raise InvalidRequest(f"action: call browser.{action}")
        profile, arguments = await service.start(call.params.get("profile")), dict(call.params)
        if "tab" not in arguments and profile.visible_tab is not None:
            arguments["tab"] = profile.visible_tab.id
        agent = profile.settings["agent"]
        request = ToolCall("operator", "browser", arguments, call.context, agent, SESSION, "operator")
        result = await BrowserTool(service).on_profile(request, profile)
        return {"output": result.output, **result.details}

    flags = {name: Optional(name, default=False) for name in ("interactive", "compact", "full_page", "labels")}
    depth = {Optional("depth"): All(integer, Range(min=1, max=100))}
    refs = {Optional("refs", default="ai"): In(("ai", "role"))}
    form = {**_TAB, **refs, flags["interactive"]: boolean, flags["compact"]: boolean, **depth}
    return [
        _method("status", status, {}),
        _method("start", start, _PROFILE, acts=True),
        _method("stop", stop, _PROFILE, acts=True),
        _method("tabs", tabs, _PROFILE),
        _method("open", open_, {**_PROFILE, Required("url"): All(string, Length(min=1, max=8_192))}, acts=True),
        _method("snapshot", snapshot, form),
        _method("screenshot", screenshot, {**_TAB, flags["full_page"]: boolean, flags["labels"]: boolean}),
        _method("pdf", pdf, _TAB),
        _method("use", use, PARAMETERS, acts=True),
    ]


def _method(name: str, handler: MethodHandler, fields: Schema | Mapping[Any, Any], *, acts: bool = False) -> Method:
    schema = fields if isinstance(fields, Schema) else Schema(dict(fields))

    async def handle(call: MethodCall) -> Any:
        from playwright.async_api import Error

        try:
            return await handler(call)
        except (Error, ActFailed) as error:
            raise Unavailable(first_line(error), outside=True) from error

    return Method(f"browser.{name}", handle, "browser", schema, acts=acts)


async def _chosen(service: BrowserService, call: MethodCall) -> Tab:
    """Return the named tab, or the one that was used last; one that was handed over is there without being opened."""
    profile = service.profile(call.params.get("profile"))
    if profile.is_tab:
        await service.start(profile.name)
    return (None if "tab" in call.params else profile.visible_tab) or profile.tab(SESSION, call.params.get("tab"))


def _shown(profile: BrowserProfile) -> Mapping[str, Any]:
    return {
        "profile": profile.name,
        "mode": profile.settings["mode"],
        "network": profile.settings["network"],
        "attached": profile.is_attached if profile.waits else None,
        "running": profile.running,
        "tabs": len(profile.tabs),
        "person": profile.person,
    }


async def _tab(tab: Tab) -> Mapping[str, Any]:
    return {"tab": tab.id, "title": (await tab.page.title())[:500], "url": tab.url[:2_000]}
