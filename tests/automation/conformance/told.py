"""What the check of a home says of the mistakes in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hub.config.check import check
from hub.config.errors import ConfigError
from hub.config.sections import Sections
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections

ROOT = "automation: !include automations.yaml\nscript: !include scripts.yaml\n"


@cache
def sections() -> Sections:
    """Return the sections with those of the integrations that come with the hub."""
    return all_sections(IntegrationSchemas(find(None)))


def errors_of(home: Path, case: Mapping[str, Any]) -> list[ConfigError]:
    """Write the files of a case and return the errors.

    Args:
        case: `text` is one automation; `file` the whole of automations.yaml, `script` of scripts.yaml.
    """
    files = {
        "configuration.yaml": ROOT,
        "automations.yaml": case.get("file") or as_item(case.get("text", "actions: []\n")),
        "scripts.yaml": case.get("script", "{}"),
    }
    if "blueprint" in case:
        files["blueprints/automation/test.yaml"] = case["blueprint"]
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    return list(check(home, sections(), environment={}).errors)


def as_item(text: str) -> str:
    """Return a mapping as the only item of a list: a dash before its first line."""
    first, *rest = text.splitlines()
    return "\n".join([f"- {first}", *(f"  {line}" if line else line for line in rest)]) + "\n"
