"""Which uses of the browser the owner is asked about, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from hub.core.context import Authority
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.tools.contract import ToolCall
from integrations.tools.browser.profile import BrowserProfile, without_fragment
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.tab import Tab

SHOWN_LIMIT = 2_000
_WATCHES = frozenset({"hover", "scroll", "wait"})
"""Steps that neither change anything nor carry anything out."""
_MOVES = frozenset({"Escape", "Tab", "PageDown", "PageUp", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"})


class BrowserQuestions:
    """Decides what is asked, and shows it.

    Args:
        service: The profiles; refs are looked up in their tabs.
    """

    def __init__(self, service: BrowserService) -> None:
        self._service = service

    def why_ask(self, arguments: Mapping[str, Any], authority: Authority) -> str | None:
        """Return why the owner has to approve a call, or None."""
        steps = arguments.get("steps", ())
        if any("fn" in step for step in steps):
            return phrase("it runs JavaScript in a page")
        if not authority.tainted:
            return None
        profile = self._service.profile(arguments.get("profile"))
        match arguments["action"]:
            case "open" | "navigate" if "url" in arguments and not _is_known(profile, arguments["url"]):
                url = arguments["url"][:SHOWN_LIMIT]
                return phrase("it opens {url}, and words from outside are in this conversation", url=url)
            case "cookies" if arguments["clear"]:
                return phrase(
                    "it deletes the cookies of the profile {profile}, and words from outside are in this conversation",
                    profile=profile.name,
                )
            case "dialog" if arguments["accept"]:
                return phrase("it answers a question of the page, and words from outside are in this conversation")
            case "act" if any(self._can_do_harm(profile, step) for step in steps):
                return phrase("it acts on a web page, and words from outside are in this conversation")
        return None

    async def preview(self, call: ToolCall) -> str:
        """Return what a call will do and where; the owner's word is bound to it."""
        if call.arguments["action"] != "act":
            return ""
        profile = self._service.profile(call.arguments.get("profile"))
        try:
            tab = profile.tab(call.session_key, call.arguments.get("tab"))
        except HubError:
            return f"+ in the profile {profile.name}, where no tab is open"
        lines = [f"on {tab.url[:SHOWN_LIMIT]} (tab {tab.id}, profile {profile.name})"]
        lines += [describe(step, tab) for step in call.arguments.get("steps", ())]
        return "\n".join(f"+ {line}" for line in lines)

    def _can_do_harm(self, profile: BrowserProfile, step: Mapping[str, Any]) -> bool:
        if step["kind"] in _WATCHES:
            return False
        if step["kind"] == "press":
            return step.get("key") not in _MOVES
        if step["kind"] != "click" or "ref" not in step:
            return True
        return not any(_stays(tab, step["ref"]) for tab in profile.tabs.values())


def describe(step: Mapping[str, Any], tab: Tab) -> str:
    """Return one step in words."""
    words = [step["kind"]]
    for name in ("ref", "to"):
        if name in step:
            try:
                words.append(f"{'onto ' if name == 'to' else ''}{tab.element(step[name]).shown}")
            except HubError:
                words.append(f"{step[name]} (not on this page)")
    words += [f"{name}: {step[name]}" for name in step if name not in ("kind", "ref", "to")]
    return " ".join(words)


def _is_known(profile: BrowserProfile, url: str) -> bool:
    """Whether an address was opened already, so that opening it again says nothing new to anybody."""
    try:
        return without_fragment(url) in profile.seen
    except HubError:
        return True  # it is refused anyway


def _stays(tab: Tab, ref: str) -> bool:
    """Whether a ref is a plain link to the host of its page."""
    try:
        element = tab.element(ref)
        target, here = urlsplit(urljoin(tab.url, element.url)), urlsplit(tab.url)
    except (HubError, ValueError):
        return False
    return element.role == "link" and bool(element.url) and target[:2] == here[:2]
