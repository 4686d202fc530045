"""Decides which uses of the browser the owner approves, and how they are shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urldefrag, urlsplit

from hub.core.context import Authority
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.security.egress_place import parse_url
from hub.tools.contract import ToolCall
from integrations.tools.browser.profile import BrowserProfile
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.tab import Tab
from integrations.tools.known_urls import KnownUrls

SHOWN_LIMIT = 2_000
FOLLOWED_LIMIT = 1_000
"""Runs and hosts that are remembered, the latest."""
_MOVES = frozenset({"Escape", "Tab", "PageDown", "PageUp", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"})


class BrowserQuestions:
    """Decides what needs approval, and shows it.

    Which link is clicked tells a page something, and so does where the pointer goes. So in a conversation with words
    from outside the first such step on a host asks, and the yes holds for that host until the run ends.

    Args:
        service: The profiles; refs are looked up in their tabs.
        known: The addresses that a conversation knows.
    """

    def __init__(self, service: BrowserService, known: KnownUrls) -> None:
        self._service, self._known = service, known
        self._followed: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        """By run, profile and host: where the owner lets links be followed."""

    def why_ask(self, arguments: Mapping[str, Any], authority: Authority) -> str | None:
        """Return why the owner has to approve a call, or None."""
        if _runs_script(arguments):
            return phrase("it runs JavaScript in a page")
        if not authority.tainted:
            return None
        match arguments["action"]:
            case "open" | "navigate" if "url" in arguments:
                url = arguments["url"][:SHOWN_LIMIT]
                return phrase("it opens {url}, and text that others wrote is in this conversation", url=url)
            case "cookies" if arguments["clear"]:
                name = self._service.profile(arguments.get("profile")).name
                return phrase(
                    "it deletes the cookies of the profile {profile}, and text that others wrote is in this "
                    "conversation",
                    profile=name,
                )
            case "dialog" if arguments["accept"]:
                return phrase("it answers a question of the page, and text that others wrote is in this conversation")
            case "emulate":
                return phrase(
                    "it changes how the browser appears to the page, and text that others wrote is in this conversation"
                )
            case "act" if _acts(arguments):
                return phrase(
                    "it acts on a web page, and text that others wrote is in this conversation; with a yes it may "
                    "follow links within that host until it has answered"
                )
        return None

    async def unasked(self, call: ToolCall) -> bool:
        """Whether a call reveals nothing new to anybody, or was allowed for its host; see `Tool.unasked`."""
        arguments = call.arguments
        if _runs_script(arguments):
            return False
        if arguments["action"] in ("open", "navigate"):
            try:
                return await self._known.is_known(call.session_key, address(arguments["url"]), call.context.authority)
            except HubError:
                return True  # it is refused anyway
        if arguments["action"] != "act" or (found := self._where(call)) is None:
            return False
        tab, place = found
        if place not in self._followed:
            return False
        for step in arguments["steps"]:
            if not await _follows(step, tab):
                return False
        return True

    def note(self, call: ToolCall) -> None:
        """Record an approved call before it runs."""
        arguments = call.arguments
        if arguments["action"] in ("open", "navigate") and "url" in arguments:
            self._known.add(call.session_key, address(arguments["url"]))
        elif call.context.authority.tainted and _acts(arguments) and (found := self._where(call)) is not None:
            self._followed[found[1]] = None
            if len(self._followed) > FOLLOWED_LIMIT:
                self._followed.popitem(last=False)

    async def preview(self, call: ToolCall) -> str:
        """Return the preview of a call, with its place; the approval is bound to it."""
        if call.arguments["action"] not in ("act", "emulate"):
            return ""
        profile = self._service.profile(call.arguments.get("profile"))
        try:
            tab = profile.tab(call.session_key, call.arguments.get("tab"))
        except HubError:
            return f"+ in the profile {profile.name}, where no tab is open"
        lines = [f"on {tab.url[:SHOWN_LIMIT]} (tab {tab.id}, profile {profile.name})"]
        lines += [describe(step, tab) for step in call.arguments.get("steps", ())]
        return "\n".join(f"+ {line}" for line in lines)

    def _where(self, call: ToolCall) -> tuple[Tab, tuple[str, str, str]] | None:
        """Return the tab that a call works in, and its run, profile and host."""
        try:
            profile: BrowserProfile = self._service.profile(call.arguments.get("profile"))
            tab = profile.tab(call.session_key, call.arguments.get("tab"))
            return tab, (call.run_id, profile.name, _origin(tab.url))
        except (HubError, ValueError):
            return None


def address(url: str) -> str:
    """Return an address of the web as it is opened: its fragment is read by the page.

    Raises:
        InvalidRequest: It is not one.
    """
    fragment = urldefrag(url)[1]
    return f"{parse_url(url)}#{fragment}" if fragment else str(parse_url(url))


def describe(step: Mapping[str, Any], tab: Tab) -> str:
    """Return one step in words."""
    words = [step["kind"]]
    for name in ("ref", "to"):
        if name in step:
            try:
                words.append(f"{'onto ' if name == 'to' else ''}{tab.element(step[name]).label}")
            except HubError:
                words.append(f"{step[name]} (not on this page)")
    words += [f"{name}: {step[name]}" for name in step if name not in ("kind", "ref", "to")]
    return " ".join(words)


def _acts(arguments: Mapping[str, Any]) -> bool:
    """Whether a call does something that a page can notice."""
    return arguments["action"] == "act" and any(step["kind"] != "wait" for step in arguments.get("steps", ()))


def _runs_script(arguments: Mapping[str, Any]) -> bool:
    return any("fn" in step for step in arguments.get("steps", ()))


async def _follows(step: Mapping[str, Any], tab: Tab) -> bool:
    """Whether a step only looks around on a host: moves on its page, or follows a plain link within it.

    What is in a frame may be of another host, and so may what has the keys.
    """
    match step["kind"]:
        case "wait":
            return True
        case "click":
            return "ref" in step and await _stays(step["ref"], tab, is_clicked=True)
        case "press" if step.get("key") not in _MOVES:
            return False
        case "hover" | "scroll" | "press" if "ref" in step:
            return await _stays(step["ref"], tab)
        case "scroll" | "press":
            return not any(_is_foreign(frame.url, tab) for frame in tab.page.frames)
    return False


async def _stays(ref: str, tab: Tab, *, is_clicked: bool = False) -> bool:
    """Whether a ref is of the page itself; when it is clicked, whether it is a plain link to the page's host too."""
    from playwright.async_api import Error

    try:
        if is_clicked and tab.element(ref).role != "link":
            return False
        found = await (await tab.locator(ref)).element_handle()
        if await found.owner_frame() != tab.page.main_frame:
            return False
        return not is_clicked or _origin(await found.evaluate("e => e.ping ? '' : String(e.href)")) == _origin(tab.url)
    except (HubError, Error, ValueError):
        return False


def _is_foreign(url: str, tab: Tab) -> bool:
    """Whether a frame shows something that is not of the host of its page."""
    return not url.startswith("about:") and _origin(url) != _origin(tab.url)


def _origin(url: str) -> str:
    return "://".join(urlsplit(url)[:2])
