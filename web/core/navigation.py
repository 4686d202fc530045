"""The navigation: ten entries in groups, their tabs, the pages of integrations, and where old addresses lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from hub.gateway.pages import Page


class Tab(Struct, frozen=True):
    """A page of an entry; its title is a message id.

    Attributes:
        tabs: Pages that belong to this one, shown below the tabs of the entry.
        count: How many things on it wait for a person.
    """

    path: str
    title: str
    tabs: tuple[Tab, ...] = ()
    count: int = 0

    def holds(self, path: str) -> bool:
        """Whether a page is this one, or belongs to it."""
        return path == self.path or any(tab.holds(path) for tab in self.tabs)


class Entry(Tab, frozen=True):
    """An entry of the side bar.

    Attributes:
        icon: One of `web/frontend/icons.json`.
        letter: `g` and this letter lead there.
    """

    icon: str = "puzzle"
    letter: str = ""


class Group(Struct, frozen=True):
    """Entries below a heading, which may be empty."""

    title: str
    entries: tuple[Entry, ...] = field(default_factory=tuple)


DEVELOPER = (
    Tab("/settings/developer", "States"),
    Tab("/settings/developer/events", "Events"),
    Tab("/settings/developer/services", "Services"),
    Tab("/settings/developer/templates", "Templates"),
    Tab("/settings/advanced/ui", "Components"),
)
GROUPS = (
    Group(
        "",
        (
            Entry("/", "Home", icon="house", letter="h"),
            Entry("/chat", "Chat", icon="message-circle", letter="c"),
            Entry("/timeline", "Timeline", icon="activity", letter="t"),
        ),
    ),
    Group(
        "Your home",
        (
            Entry(
                "/automations",
                "Automations",
                (
                    Tab("/automations", "Automations"),
                    Tab("/automations/reminders", "Reminders"),
                    Tab("/scripts", "Scripts"),
                    Tab("/blueprints", "Blueprints"),
                ),
                icon="zap",
                letter="a",
            ),
            Entry(
                "/devices",
                "Devices",
                (
                    Tab("/devices/rooms", "Rooms"),
                    Tab("/devices/all", "All"),
                    Tab("/devices/phones", "Phones and computers"),
                    Tab("/devices/voice", "Voice"),
                    Tab("/devices/connected", "Connected"),
                ),
                icon="lightbulb",
                letter="d",
            ),
            Entry(
                "/memory",
                "Memory",
                (
                    Tab("/memory", "Facts"),
                    Tab("/memory/diary", "Diary"),
                    Tab("/memory/lists", "Lists"),
                    Tab("/memory/intents", "Standing reminders"),
                    Tab("/memory/history", "Changes"),
                    Tab("/memory/files", "Advanced", (Tab("/memory/files", "Files"), Tab("/memory/index", "Index"))),
                ),
                icon="brain",
                letter="m",
            ),
        ),
    ),
    Group(
        "Assistant",
        (
            Entry(
                "/agents",
                "Agents and models",
                (Tab("/agents", "Agents"), Tab("/agents/models", "Models"), Tab("/agents/usage", "Usage")),
                icon="bot",
                letter="b",
            ),
            Entry(
                "/channels",
                "Channels",
                (
                    Tab("/channels", "Accounts"),
                    Tab("/channels/people", "People who may write"),
                    Tab("/channels/unsent", "Unsent"),
                ),
                icon="send",
                letter="l",
            ),
            Entry(
                "/tools",
                "Skills and tools",
                (
                    Tab("/tools/skills", "Skills"),
                    Tab("/tools/all", "Tools"),
                    Tab("/tools/integrations", "Integrations"),
                ),
                icon="puzzle",
                letter="k",
            ),
        ),
    ),
    Group(
        "",
        (
            Entry(
                "/settings",
                "Settings",
                (
                    Tab("/settings", "General"),
                    Tab("/settings/people", "People and sign-in"),
                    Tab("/settings/network", "Network"),
                    Tab("/settings/privacy", "Privacy and approvals"),
                    Tab("/settings/security", "Security"),
                    Tab("/settings/status", "Status"),
                    Tab("/settings/backup", "Backup"),
                    Tab("/settings/update", "Update"),
                    Tab("/settings/move", "Moving in"),
                    Tab("/settings/files", "Files"),
                    Tab("/settings/logs", "Logs"),
                    Tab("/settings/developer", "Developer tools", DEVELOPER),
                ),
                icon="settings",
                letter="s",
            ),
        ),
    ),
)
IN_RECOVERY = (
    Group(
        "",
        (
            Entry("/", "Home", icon="house", letter="h"),
            Entry("/settings/files", "Files", icon="settings", letter="s"),
        ),
    ),
)
ADDED = "Added"
"""Heading of the pages that integrations add as entries of their own."""
ON_A_PHONE = ("/", "/chat", "/timeline", "/devices")
"""Entries in the bar of a phone; the others are behind More."""

FIRST_TABS = {
    "/devices": "/devices/rooms",
    "/tools": "/tools/skills",
}
"""Entries without a page of their own: where they lead."""
MOVED = {
    "/overview": "/",
    "/runs": "/timeline",
    "/runs/show": "/timeline/run",
    "/automations/history": "/timeline?kind=automation",
    "/usage": "/agents/usage",
    "/usage.csv": "/agents/usage.csv",
    "/entities": "/devices/all",
    "/entities.csv": "/devices/all.csv",
    "/areas": "/devices/rooms",
    "/skills": "/tools/skills",
    "/mcp-servers": "/tools/mcp",
    "/browser": "/tools/browser",
    "/canvas": "/tools/canvas",
    "/pair-phone": "/devices/phones?add=phone",
    "/discovered": "/devices/found",
    "/config": "/settings/files",
    "/config/history": "/settings/files/history",
    "/developer": "/settings/developer",
    "/developer/events": "/settings/developer/events",
    "/developer/services": "/settings/developer/services",
    "/developer/templates": "/settings/developer/templates",
    "/mqtt": "/settings/mqtt",
}
"""Where pages are that had another address: bookmarks and links in old messages still work."""


def navigation(pages: Sequence[Page], *, recovery: bool = False) -> list[Group]:
    """Return the groups with the pages of integrations, each below its entry or on its own.

    Args:
        recovery: Whether only the first pages are there.
    """
    if recovery:
        return list(IN_RECOVERY)
    below: dict[str, list[Tab]] = {}
    own: list[Entry] = []
    paths = {entry.path for group in GROUPS for entry in group.entries}
    for page in pages:
        count = page.badge() if page.badge is not None else 0
        if page.under in paths:
            below.setdefault(page.under, []).append(Tab(page.path, page.title, count=count))
        else:
            own.append(Entry(page.path, page.title, count=count, icon=page.icon))
    groups = [replace(group, entries=tuple(_joined(entry, below) for entry in group.entries)) for group in GROUPS]
    return [*groups, Group(ADDED, tuple(own))] if own else groups


def _joined(entry: Entry, below: Mapping[str, list[Tab]]) -> Entry:
    """Return an entry with the tabs of integrations, and the sum of what waits on them."""
    more = below.get(entry.path, [])
    if not more:
        return entry
    tabs = (*(entry.tabs or (Tab(entry.path, entry.title),)), *more)
    return replace(entry, tabs=tabs, count=sum(tab.count for tab in tabs))
