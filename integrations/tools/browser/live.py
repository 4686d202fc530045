"""The live view of the dashboard: a browser's picture, and the mouse and keyboard of a person who takes it over."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest, Unavailable
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, integer, string
from hub.core.surfaces import ADMIN, HttpCall, Route
from hub.gateway.connection.server import json_response
from hub.gateway.pages import Page
from integrations.tools.browser.acting import first_line
from integrations.tools.browser.chromium import VIEWPORT
from integrations.tools.browser.profile import BrowserProfile
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import ScreencastFrame

ROUTES, PATH = "/browser", "/tools/browser"
WAIT_LIMIT_S = 10.0
"""How long a request for the next picture waits for one."""
UNWATCHED_S = 20.0
"""After how long without such a request the pictures end."""
QUALITY = 60
KINDS = ("take", "give", "open", "back", "down", "up", "move", "wheel", "key", "text")

_NAME = All(string, Length(min=1, max=40))
_SHARE = All(AnyOf(integer, float), Range(min=0, max=1))
_WHEEL = All(AnyOf(integer, float), Range(min=-10_000, max=10_000))
INPUT = Schema(
    {
        Required("profile"): _NAME,
        Required("kind"): In(KINDS),
        Optional("x", default=0, description="Of the picture's width."): _SHARE,
        Optional("y", default=0): _SHARE,
        Optional("dx", default=0): _WHEEL,
        Optional("dy", default=0): _WHEEL,
        Optional("button", default="left"): In(("left", "right", "middle")),
        Optional("text", default=""): All(string, Length(max=8_192)),
    }
)
TEXTS = {
    "Browser": "浏览器",
    "Profile": "配置",
    "Take over": "接管",
    "Give back": "交还",
    "Address": "地址",
    "Open": "打开",
    "Back": "后退",
    "The browser is not running. It starts when an agent uses it, or when you open an address.": (
        "浏览器未运行。助理使用它或您打开一个地址时，它就会启动。"
    ),
    "{who} has taken over; agents wait.": "{who} 已接管；助理在等待。",
    "You see what the agent does. Take over to use the mouse and the keyboard.": (
        "您看到的是助理正在做的事。接管后即可使用鼠标和键盘。"
    ),
    "The page that the browser shows": "浏览器显示的页面",
}


class LiveView:
    """Shows profiles to people and passes on their input.

    Args:
        service: The profiles.
        clock: Measures how long nobody has watched.
    """

    def __init__(self, service: BrowserService, clock: Clock) -> None:
        self._service, self._clock = service, clock
        self._watched: dict[str, _Watched] = {}

    @property
    def page(self) -> Page:
        """The page of the dashboard."""
        template = Path(__file__).with_name("page.html")
        return Page(PATH, "Browser", template, self._data, scope=ADMIN, under="/tools", texts={"zh-CN": TEXTS})

    @property
    def routes(self) -> list[Route]:
        """The routes of the page."""
        return [
            Route("GET", f"{ROUTES}/live.js", self._script, "browser", cookie=True),
            Route("GET", f"{ROUTES}/frame", self._frame, "browser", cookie=True),
            Route("POST", f"{ROUTES}/input", self._input, "browser", body=INPUT, body_limit=16_384, cookie=True),
        ]

    async def _data(self, call: HttpCall) -> Mapping[str, Any]:
        profiles = self._service.profiles
        running = next((name for name, each in profiles.items() if each.running), None)
        chosen = self._service.profile(call.request.query.get("profile", running))
        return {"profile": chosen.name, "profiles": list(profiles)}

    async def _script(self, call: HttpCall) -> web.StreamResponse:
        return web.FileResponse(Path(__file__).with_name("live.js"), headers={"Cache-Control": "no-cache"})

    async def _frame(self, call: HttpCall) -> web.StreamResponse:
        """Answer with the picture after a given one; without a new one, with the state after a while."""
        profile = self._service.profile(call.request.query.get("profile"))
        after = call.request.query.get("after", "0")
        if not after.isdecimal() or len(after) > 9:
            raise InvalidRequest("after: expected a number")
        tab = profile.visible_tab
        if tab is None:
            await self._clock.sleep(1.0)
            return json_response({"running": profile.running, "person": profile.person, "number": 0})
        watched = self._watched.get(profile.name)
        if watched is None or watched.tab is not tab or not watched.on:
            first = watched.number if watched is not None else 0
            watched = self._watched[profile.name] = _Watched(tab, self._clock, first)
            await watched.start()
        await watched.after(int(after))
        return json_response(
            {
                "running": True,
                "person": profile.person,
                "number": watched.number,
                "url": tab.url[:2_000],
                "image": base64.b64encode(watched.image).decode() if watched.number > int(after) else None,
            }
        )

    async def _input(self, call: HttpCall) -> web.StreamResponse:
        """Pass on a person's input; they must have taken over before."""
        given: Mapping[str, Any] = call.body
        authority = call.known_caller.authority
        who = authority.person or authority.principal
        profile = self._service.profile(given["profile"])
        if given["kind"] == "take":
            await self._service.start(profile.name)
            if profile.visible_tab is None:
                await profile.open(PATH)
            profile.take_over(who)
        elif profile.person is None:
            raise Conflict("take over the browser first")
        elif given["kind"] == "give":
            profile.give_back()
        else:
            profile.take_over(who)
            await _do(profile, given)
        if (watched := self._watched.get(profile.name)) is not None:
            watched.wake()
        return json_response({"person": profile.person})


class _Watched:
    """The pictures of one tab while it is watched; the last one is stored."""

    def __init__(self, tab: Tab, clock: Clock, number: int) -> None:
        self.tab, self.image, self.number, self.on = tab, b"", number, True
        self._clock, self._asked_s = clock, clock.monotonic()
        self._news = asyncio.Event()

    async def start(self) -> None:
        size = self.tab.page.viewport_size
        await self.tab.page.screencast.start(
            on_frame=self._drawn,
            quality=QUALITY,
            size={"width": size["width"], "height": size["height"]} if size else None,
        )

    async def after(self, number: int) -> None:
        """Wait for a later picture, or news of another kind."""
        self._asked_s = self._clock.monotonic()
        if self.number > number:
            return
        try:
            async with asyncio.timeout(WAIT_LIMIT_S):
                await self._news.wait()
        except TimeoutError:
            return

    def wake(self) -> None:
        """Let everybody who waits look again."""
        self._news.set()
        self._news = asyncio.Event()

    async def _drawn(self, frame: ScreencastFrame) -> None:
        self.image = frame["data"]
        self.number += 1
        self.wake()
        if self.on and self._clock.monotonic() - self._asked_s > UNWATCHED_S:
            self.on = False
            await self.tab.page.screencast.stop()


async def _do(profile: BrowserProfile, given: Mapping[str, Any]) -> None:
    from playwright.async_api import Error

    tab = profile.visible_tab
    if tab is None:
        raise Conflict("no tab is open")
    page, size = tab.page, tab.page.viewport_size or VIEWPORT
    try:
        match given["kind"]:
            case "open":
                await profile.go(tab, given["text"])
            case "back":
                await page.go_back(wait_until="commit")
            case "move" | "down" | "up":
                await page.mouse.move(given["x"] * size["width"], given["y"] * size["height"])
                if given["kind"] == "down":
                    await page.mouse.down(button=given["button"])
                elif given["kind"] == "up":
                    await page.mouse.up(button=given["button"])
            case "wheel":
                await page.mouse.wheel(given["dx"], given["dy"])
            case "text":
                await page.keyboard.type(given["text"])
            case "key":
                await page.keyboard.press(given["text"])
    except Error as error:
        raise Unavailable(first_line(error)) from error
