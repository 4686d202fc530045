"""The templates of `docs/integrations.md`, copied out of the page."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import DOCS

PAGE = DOCS / "integrations.md"
_FILE = re.compile(r"^`custom_integrations/(\w+)/([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)


def templates() -> dict[str, dict[str, str]]:
    """Return the text of every file that the page shows, by domain and name."""
    found: dict[str, dict[str, str]] = {}
    for domain, name, text in _FILE.findall(PAGE.read_text(encoding="utf-8")):
        found.setdefault(domain, {})[name] = text
    return found


def write_templates(home: Path, *domains: str) -> None:
    """Write templates into the `custom_integrations` of a home, as somebody would who copies them."""
    for domain in domains:
        folder = home / "custom_integrations" / domain
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in templates()[domain].items():
            (folder / name).write_text(text, encoding="utf-8")
