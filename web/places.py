"""Where things are in the dashboard: the paths that pages of one kind link to on pages of another."""

from __future__ import annotations

from urllib.parse import quote


def blueprint_place(page: str, path: str, domain: str, automation: str = "") -> str:
    """Return the path of a page about a blueprint: `use`, `update`."""
    more = f"&automation={quote(automation, safe='')}" if automation else ""
    return f"/blueprints/{page}?domain={domain}&path={quote(path, safe='')}{more}"


def script_place(key: str) -> str:
    """Return the path of a script's page."""
    return f"/scripts/show?id={quote(key, safe='')}"
