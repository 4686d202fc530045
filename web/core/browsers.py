"""What presence tells about a tab of the dashboard: its browser, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.ids import new_id
from hub.core.surfaces import HttpCall

NAMES = (
    *(("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser", "Samsung Internet"), ("Firefox/", "Firefox")),
    *(("FxiOS", "Firefox"), ("CriOS", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari")),
)
SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("CrOS", "ChromeOS")),
    *(("Mac OS", "Mac"), ("Linux", "Linux")),
)
"""By a part of what a browser says of itself; the first that fits counts, since each claims to be others too."""


def seen_tab(call: HttpCall) -> tuple[str, str, Mapping[str, Any]]:
    """Return the key of a tab's browser, an id of the tab, and what is shown of it."""
    agent = call.request.headers.get("User-Agent", "")
    browser, system = (next((name for mark, name in known if mark in agent), "") for known in (NAMES, SYSTEMS))
    caller = call.known_caller
    facts = {
        "host": " · ".join(filter(None, (browser, system))) or "Browser",
        "ip": caller.address or None,
        "platform": system.lower() or None,
        "mode": "webchat",
        "reason": "connect",
        "lastInputSeconds": 0,
        "text": f"Dashboard ({browser or 'browser'})",
    }
    return f"dashboard {caller.credential_id} {caller.address} {agent}".casefold(), f"tab-{new_id()}", facts
