"""OpenClaw's names of commands and options, each with ours: whoever types one out of habit is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

OURS = {
    "onboard": "homarus init",
    "setup": "homarus init",
    "configure": "homarus init",
    "reset": "homarus uninstall --remove-home",
    "gateway": "homarus start",
    "gateway run": "homarus start",
    "gateway call": "homarus call",
    "gateway health": "homarus health",
    "gateway probe": "homarus status --deep",
    "gateway status": "homarus service status",
    "gateway discover": "homarus discover",
    **{f"gateway {name}": f"homarus service {name}" for name in ("install", "uninstall", "start", "stop", "restart")},
    "gateway usage-cost": "homarus models usage",
    "gateway stability": "homarus doctor",
    "daemon": "homarus service",
    "security": "homarus doctor --security",
    "security audit": "homarus doctor --security",
    "plugins": "homarus integration list",
    **{f"plugins {name}": f"homarus integration {name}" for name in ("list", "enable", "disable", "reload")},
    "plugins install": "homarus integration install",
    "webhooks": "homarus automation list",
    "qr": "homarus devices pair",
    "clawbot": "homarus devices pair",
    "terminal": "homarus tui",
    "infer": "homarus agent run",
    "capability": "homarus agent run",
    "tasks": "homarus trace list",
    "flows": "homarus automation list",
    "exec-policy": "homarus exec rules list",
    "docs": "homarus --help",
    "agent --message": "homarus agent run TEXT",
    "agent -m": "homarus agent run TEXT",
    "agents delete": "homarus agents remove",
    "agents set-identity": "homarus agents identity",
    "agents bindings": "homarus agents list",
    "agents list --bindings": "homarus agents list",
    **{f"approvals {name}": "homarus exec rules list" for name in ("get", "set", "allowlist")},
    "browser profiles": "homarus browser status",
    "browser resize": "homarus browser emulate --width",
    "channels logout": "homarus channels remove",
    "channels logs": "homarus logs",
    "channels capabilities": "homarus channels status --json",
    "channels resolve": "homarus directory",
    "channels add --channel": "homarus channels add CHANNEL",
    "channels add --token": "homarus channels add CHANNEL --set",
    "channels login --channel": "homarus channels login CHANNEL",
    "channels remove --channel": "homarus channels remove CHANNEL",
    "channels status --probe": "homarus channels probe",
    "config file": "homarus check",
    "config validate": "homarus check",
    "cron rm": "homarus cron remove",
    "cron enable": "homarus cron edit ID --enable",
    "cron disable": "homarus cron edit ID --disable",
    "cron show": "homarus cron list --json",
    "cron add --no-deliver": "homarus cron add --no-announce",
    "devices clear": "homarus devices clean",
    **{f"doctor {name}": "homarus doctor --fix" for name in ("--repair", "--force", "--yes", "--non-interactive")},
    "doctor --generate-gateway-token": "homarus token",
    "health --verbose": "homarus status --deep",
    "hooks install": "homarus hooks list",
    "memory promote": "homarus memory tidy",
    "message broadcast --targets": "homarus message broadcast --to",
    **{f"message {name} --target": f"homarus message {name} --to" for name in ("send", "poll", "react")},
    "message send --message": "homarus message send TEXT",
    "message poll --poll-question": "homarus message poll QUESTION",
    "message poll --poll-option": "homarus message poll --option",
    "message react --message-id": "homarus message react MESSAGE_ID EMOJI",
    "message react --emoji": "homarus message react MESSAGE_ID EMOJI",
    "models auth paste-token": "homarus models auth add",
    "models auth paste-api-key": "homarus models auth add",
    "models auth order": "homarus models auth list",
    **{f"nodes {name}": "homarus nodes invoke" for name in ("run", "camera", "canvas", "screen", "location")},
    **{f"nodes {name}": "homarus nodes list" for name in ("pending", "status")},
    "sessions cleanup": "homarus sessions prune",
    "sessions --active": "homarus sessions list --active",
    "status --all": "homarus status --deep",
    "status --usage": "homarus models usage",
}
"""Ours by OpenClaw's. A word after the command in ours is what takes the place of an option."""
_WITHOUT = {
    "config unset": "Take the key out of configuration.yaml in an editor: it is checked, and in force, once saved.",
    "dns": "Names in the home network need nothing; elsewhere, docs/clients.md shows ways to reach the hub.",
    "voicecall": "Homarus makes no phone calls.",
    "wiki": "Notes are Markdown files in the workspace: homarus memory list",
    "models set-image": "A model that reads images is taken by itself: homarus models list shows which.",
    "models image-fallbacks": "A model that reads images is taken by itself: homarus models list shows which.",
    "message read": "What a chat said is in its conversation: homarus sessions show",
    "message search": "What chats said is found with: homarus sessions search",
}
"""Names that stand for nothing here, each with a sentence."""


def hint_of(words: Sequence[str]) -> str | None:
    """Return what to type instead of a command line of OpenClaw's; None when it is not known as one.

    Args:
        words: The commands as typed, without `homarus`, perhaps with an option at the end.
    """
    for name in _beginnings(words):
        if ours := OURS.get(name):
            return f"OpenClaw's `{name}` is here: {ours}"
        if told := _WITHOUT.get(name):
            return told
    return None


def _beginnings(words: Sequence[str]) -> Iterator[str]:
    """Yield the words and their beginnings, the longest first."""
    for count in range(len(words), 0, -1):
        yield " ".join(words[:count])
