"""The paths of dashboard pages, for links between pages."""

from __future__ import annotations

from urllib.parse import quote, urlencode

AUTOMATION_READ_TOPIC = "automation-read"
"""The live topic of an automation's page for those who may not run it."""


def blueprint_place(page: str, path: str, domain: str, automation: str = "") -> str:
    """Return the path of a page about a blueprint: `use`, `update`."""
    more = f"&automation={quote(automation, safe='')}" if automation else ""
    return f"/blueprints/{page}?domain={domain}&path={quote(path, safe='')}{more}"


def script_place(key: str) -> str:
    """Return the path of a script's page."""
    return f"/scripts/show?id={quote(key, safe='')}"


def memory_place(page: str = "", agent: str | None = None, /, **query: object) -> str:
    """Return the path of a page about memory: `file`, `search`, …; the default agent is left out."""
    asked = {"agent": agent, **query}
    text = urlencode({name: str(value) for name, value in asked.items() if value not in (None, "")}, quote_via=quote)
    return "/memory" + (f"/{page}" if page else "") + (f"?{text}" if text else "")
