"""The tool `browser`: web pages for an agent, through snapshots and refs."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from hub.config.suggest import did_you_mean
from hub.core.errors import Forbidden, InvalidRequest
from hub.models.contract import Image
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.browser.acting import ActFailed, BrowserActing, first_line
from integrations.tools.browser.asking import BrowserQuestions
from integrations.tools.browser.labels import show_labels
from integrations.tools.browser.parameters import PARAMETERS
from integrations.tools.browser.profile import BrowserProfile
from integrations.tools.browser.schema import MANAGED, SANDBOX
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.snapshot import SnapshotForm, cut
from integrations.tools.browser.tab import Tab
from integrations.tools.known_urls import KnownUrls

NAME = "browser"
GROUP = "web"
CALL_LIMIT_S = 180.0
SCREENSHOT_LIMIT_BYTES = 4_000_000
COOKIES_SHOWN = 200
USES = Annotations()
"""The least safe: pages are outside words, cookies are the owner's, and forms carry data out."""


def browser_tool(service: BrowserService, known: KnownUrls) -> Tool:
    """Return the tool; `known` are the addresses that a conversation knows."""
    questions = BrowserQuestions(service, known)
    return Tool(
        NAME,
        "Use web pages. open or navigate to a url, take a snapshot, act on its refs in steps, take another snapshot. "
        "Refs end with their page. Put the steps that belong together in one act. Downloads go to your workspace.",
        from_schema(PARAMETERS),
        BrowserTool(service, questions.note).run,
        GROUP,
        USES,
        approval=questions.why_ask,
        preview=questions.preview,
        unasked=questions.unasked,
        timeout_s=CALL_LIMIT_S,
    )


class BrowserTool:
    """Carries out the tool's actions.

    Args:
        service: Has the profiles.
        note: Records an approved call before it runs.
    """

    def __init__(self, service: BrowserService, note: Callable[[ToolCall], None] = lambda call: None) -> None:
        self.service, self._note = service, note
        self._acting = BrowserActing(service)

    async def run(self, call: ToolCall) -> ToolResult:
        """Run an action; a page's words in an error are untrusted like all others."""
        arguments = call.arguments
        name, action = arguments.get("profile"), arguments["action"]
        if action == "status":
            return ToolResult("\n".join(_status(each) for each in self.service.profiles.values()))
        profile = self.service.profile(name)
        self.service.refuse_outside(call, profile)
        profile.refuse_while_taken()
        if action == "stop":
            await self.service.stop(name)
            return ToolResult(f"the browser profile {profile.name} is stopped")
        await self.service.start(name)
        from playwright.async_api import Error

        try:
            return await self.on_profile(call, profile)
        except ActFailed as error:
            return ToolResult(f"error: {error}", is_error=True, trusted=False)
        except Error as error:
            return ToolResult(
                f"error: {profile.refusal(str(error)) or first_line(error)}", is_error=True, trusted=False
            )

    async def on_profile(self, call: ToolCall, profile: BrowserProfile) -> ToolResult:
        """Run an action in a running profile."""
        arguments, session = call.arguments, call.session_key
        self._note(call)
        match arguments["action"]:
            case "start":
                return ToolResult(_status(profile))
            case "tabs":
                return ToolResult("\n".join([await _line(tab) for tab in profile.tabs.values()]) or "no tab is open")
            case "open" if "url" not in arguments:
                return ToolResult(await _line(await profile.open(session)))
            case "open" | "navigate" if _needs_tab(arguments, profile, session):
                with profile.opening(session):
                    return await self._go(call, profile, await profile.open(session))
            case "emulate":
                await _emulate(profile, profile.tab(session, arguments.get("tab")), arguments)
                return ToolResult("done")
            case "cookies":
                return ToolResult(await _cookies(profile, clear=arguments["clear"]))
        tab = profile.tab(session, arguments.get("tab"))
        if arguments["action"] == "close":
            if profile.is_tab:
                raise Forbidden("close: whoever handed the tab over closes it, or takes it back")
            await tab.page.close()
            return ToolResult(f"tab {tab.id} is closed")
        profile.choose(session, tab)
        if arguments["action"] == "navigate":
            return await self._go(call, profile, tab)
        tab.refuse_foreign()
        async with tab.lock:
            tab.call, tab.downloads = call, 0
            return await self._on_tab(call, profile, tab)

    async def _on_tab(self, call: ToolCall, profile: BrowserProfile, tab: Tab) -> ToolResult:
        arguments = call.arguments
        match arguments["action"]:
            case "focus":
                await tab.page.bring_to_front()
                return await _told(tab, [])
            case "snapshot":
                form = SnapshotForm(arguments["refs"] == "role", arguments["interactive"], arguments["compact"])
                text = await tab.snapshot(form, depth=arguments.get("depth"))
                return await _told(tab, [cut(text, arguments["max_chars"]) or "[the page is empty]"])
            case "act":
                if not arguments.get("steps"):
                    raise InvalidRequest("act: steps is missing; give at least one")
                before = set(profile.tabs)
                gave = await self._acting.run(call, profile, tab, list(arguments["steps"]))
                if opened := sorted(set(profile.tabs) - before):
                    gave.append(f"it opened {', '.join(opened)}")
                return await _told(tab, [*gave, "done"])
            case "screenshot":
                return await _screenshot(tab, labels=arguments["labels"], full_page=arguments["full_page"])
            case "pdf":
                path = await self.service.keep(call, await tab.page.pdf(), ".pdf")
                return await _told(tab, [f"the page is in {path}"])
            case "dialog":
                tab.accept_dialog = (arguments["accept"], arguments.get("text"))
                return await _told(tab, [f"the next dialog is {'accepted' if arguments['accept'] else 'dismissed'}"])
        lines = tab.console if arguments["action"] == "console" else tab.requests
        shown = "\n".join(line for line in lines if arguments.get("text", "") in line)
        return ToolResult(shown[-arguments["max_chars"] :] or "[nothing]", trusted=False)

    async def _go(self, call: ToolCall, profile: BrowserProfile, tab: Tab) -> ToolResult:
        url = call.arguments.get("url")
        if url is None:
            raise InvalidRequest("navigate: give url")
        async with tab.lock:
            tab.call, tab.downloads = call, 0
            tab.notes.clear()
            status = await profile.go(tab, url)
            tab.refuse_foreign()
            return await _told(tab, [f"status {status}"] if status is not None else [])


def _needs_tab(arguments: Mapping[str, Any], profile: BrowserProfile, session: str) -> bool:
    return arguments["action"] == "open" or ("tab" not in arguments and not profile.has_tab(session))


def _status(profile: BrowserProfile) -> str:
    state = f"running, {len(profile.tabs)} tabs" if profile.running else "not running"
    if profile.is_tab and not profile.running:
        state = "no tab is handed over" if profile.handed is None else "a tab is handed over"
    taken = f", {profile.person} has taken over" if profile.person else ""
    return f"{profile.name}: {profile.settings['mode']}, {profile.settings['network']} network, {state}{taken}"


async def _line(tab: Tab) -> str:
    return f"{tab.id}: {(await tab.page.title())[:200]!r} {tab.url[:500]}"


async def _told(tab: Tab, lines: list[str]) -> ToolResult:
    """Return the result of a call, below the tab's address and recent events."""
    notes = [f"[{note}]" for note in tab.take_notes()]
    return ToolResult("\n".join([await _line(tab), *notes, *lines]), details={"tab": tab.id}, trusted=False)


async def _screenshot(tab: Tab, *, labels: bool, full_page: bool) -> ToolResult:
    if labels:
        await tab.snapshot(SnapshotForm(), boxes=True)
    async with show_labels(tab, on=labels):
        data = await tab.page.screenshot(type="jpeg", quality=70, full_page=full_page)
    if len(data) > SCREENSHOT_LIMIT_BYTES:
        raise InvalidRequest(f"the picture has {len(data)} bytes; take it without full_page")
    result = await _told(tab, [f"[image/jpeg, {len(data)} bytes]"])
    return ToolResult(
        result.output, result.details, (Image("image/jpeg", base64.b64encode(data).decode()),), trusted=False
    )


async def _cookies(profile: BrowserProfile, *, clear: bool) -> str:
    """Delete the cookies or list them, without their values: those are passwords."""
    if clear:
        await profile.context.clear_cookies()
        return "all cookies of this profile are deleted"
    found = await profile.context.cookies()
    lines = [f"{each.get('domain')} {each.get('name')}" for each in found[:COOKIES_SHOWN]]
    return "\n".join(lines) + (f"\n[{len(found) - COOKIES_SHOWN} more]" if len(found) > COOKIES_SHOWN else "")


async def _emulate(profile: BrowserProfile, tab: Tab, arguments: Mapping[str, Any]) -> None:
    if ("width" in arguments) is not ("height" in arguments):
        raise InvalidRequest("emulate: give width and height together")
    if profile.settings["mode"] not in (MANAGED, SANDBOX) and "offline" in arguments:
        raise Forbidden("emulate: offline would cut off all of a Chrome that is not the hub's own")
    if "width" in arguments:
        await tab.page.set_viewport_size({"width": arguments["width"], "height": arguments["height"]})
    if "color_scheme" in arguments or "media" in arguments:
        await tab.page.emulate_media(media=arguments.get("media"), color_scheme=arguments.get("color_scheme"))
    if "offline" in arguments:
        await profile.context.set_offline(arguments["offline"])
    await _emulate_elsewhere(profile, tab, arguments)


async def _emulate_elsewhere(profile: BrowserProfile, tab: Tab, arguments: Mapping[str, Any]) -> None:
    """Let the page see another language, time zone or device.

    Commands: https://chromedevtools.github.io/devtools-protocol/tot/Emulation/
    """
    from playwright.async_api import Error

    commands: list[tuple[str, dict[str, Any]]] = []
    device = None
    if "device" in arguments and (device := profile.devices.get(arguments["device"])) is None:
        near = did_you_mean(arguments["device"], profile.devices) or "such as iPhone 15, Pixel 7, iPad Mini"
        raise InvalidRequest(f"emulate: there is no device {arguments['device']!r:.80}; {near}")
    if device is not None:
        size = {**device["viewport"], "deviceScaleFactor": device["device_scale_factor"], "mobile": device["is_mobile"]}
        commands += [
            ("Emulation.setDeviceMetricsOverride", size),
            ("Emulation.setTouchEmulationEnabled", {"enabled": device["has_touch"]}),
            ("Emulation.setUserAgentOverride", {"userAgent": device["user_agent"]}),
        ]
    if "locale" in arguments:
        commands.append(("Emulation.setLocaleOverride", {"locale": arguments["locale"].replace("-", "_")}))
    if "time_zone" in arguments:
        commands.append(("Emulation.setTimezoneOverride", {"timezoneId": arguments["time_zone"]}))
    for name, values in commands:
        try:
            await (await tab.cdp()).send(name, values)
        except Error as error:
            raise InvalidRequest(f"emulate: the browser does not take {values}: {error.message[:200]}") from error
