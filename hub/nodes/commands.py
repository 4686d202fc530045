"""The commands that a node may ever be sent: lists by platform, and the configuration's allow and deny. Pure.

A command passes three gates: the node declares it, an owner approved it (`hub.nodes.surfaces`), and it is permitted
here. The names are those of OpenClaw's nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from msgspec import Struct

PLAY = "voice.play"
"""What a node with a microphone offers, whose owner turned it on there."""
ALWAYS = (
    *("system.notify", "device.info", "device.status", "device.health", "device.permissions"),
    *("location.get", "camera.list", "canvas.*", PLAY),
)
"""On every platform: what tells little, or asks its person itself."""
PHONE = (
    *("contacts.search", "calendar.events", "reminders.list", "photos.latest", "motion.activity", "motion.pedometer"),
    *("notifications.list", "notifications.actions", "device.apps", "callLog.search", "mobile.ui.observe"),
    "mobile.ui.act",
)
HOST = (
    *("system.run", "system.run.prepare", "system.which", "system.execApprovals.*", "fs.listDir"),
    *("browser.proxy", "browser.proxy.upload.v1", "mcp.tools.call.v1", "screen.snapshot", "desktop.stream"),
    *("terminal.*", "computer.act", "device.apps"),
)
MAC = (
    *("camera.ptz.status", "contacts.search", "calendar.events", "reminders.list", "photos.latest", "motion.activity"),
    "motion.pedometer",
)
BY_PLATFORM: Mapping[str, tuple[str, ...]] = {
    "ios": PHONE,
    "ipados": PHONE,
    "android": PHONE,
    "macos": (*HOST, *MAC),
    "darwin": (*HOST, *MAC),
    "windows": HOST,
    "win32": HOST,
    "linux": HOST,
}
TALK = ("talk.ptt.*",)
"""With the capability `talk`."""
ADMIN_COMMANDS = (
    *("system.run", "system.run.prepare", "system.which", "system.execApprovals.*", "browser.proxy*", "fs.*"),
    *("file.*", "dir.*", "terminal.*", "mcp.*", "computer.act", "desktop.stream", "imessage.*"),
)
"""Who approves these must be allowed to administer the hub: they control the other machine, or read its mail."""


class CommandRules(Struct, frozen=True):
    """The settings of `nodes: commands:`; `*` matches any characters and `?` any single one.

    Attributes:
        allow: Permitted beyond the list of the platform.
        deny: Never permitted, whatever else allows it.
        unasked: Commands that an agent may use without the owner's approval.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> CommandRules:
        """Read the validated section `nodes`."""
        commands = section.get("commands", {})
        return cls(*(tuple(commands.get(key, ())) for key in ("allow", "deny", "unasked")))

    def permits(self, platform: str, caps: Iterable[str], command: str) -> bool:
        """Whether nodes of a platform may be sent a command; `deny` takes precedence."""
        return _permits(self, platform.lower().partition(" ")[0], "talk" in caps, command)


@lru_cache(maxsize=4_096)
def _permits(rules: CommandRules, family: str, talks: bool, command: str) -> bool:
    if matches(rules.deny, command):
        return False
    return matches((*rules.allow, *ALWAYS, *BY_PLATFORM.get(family, ()), *(TALK if talks else ())), command)


def matches(patterns: Iterable[str], command: str) -> bool:
    """Whether a command matches one of the patterns."""
    return any(fnmatchcase(command, each) for each in patterns)


def scopes_to_approve(commands: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes needed to approve these commands."""
    found = tuple(commands)
    admin = any(matches(ADMIN_COMMANDS, each) for each in found)
    return ("operator.pairing", *(("operator.write",) if found else ()), *(("operator.admin",) if admin else ()))
