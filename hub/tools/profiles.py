"""Profiles: named sets of tools that an agent can be given."""

from __future__ import annotations

from collections.abc import Mapping

PROFILES: Mapping[str, frozenset[str] | None] = {
    "full": None,
    "coding": frozenset({"group:files", "group:shell", "group:web", "group:memory", "group:session", "group:skills"}),
    "home": frozenset({"group:home", "group:memory", "group:session", "group:schedule", "group:skills"}),
    "messaging": frozenset({"group:message", "group:memory", "group:session", "group:skills"}),
    "minimal": frozenset({"session_status"}),
}
"""What each profile allows: names of tools or `group:<group>`; None is every tool."""

GROUP_ALIASES: Mapping[str, str] = {
    "group:fs": "group:files",
    "group:runtime": "group:shell",
    "group:sessions": "group:session",
    "group:messaging": "group:message",
    "group:automation": "group:schedule",
}
"""OpenClaw's names of groups that are called otherwise here."""

TOOL_ALIASES: Mapping[str, str] = {"cron": "schedule"}
"""Further names of tools, in calls and in rules."""
