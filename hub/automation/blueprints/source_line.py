"""Writes a blueprint's source URL into its text, and leaves everything else unchanged."""

from __future__ import annotations

import json

from hub.automation.blueprints.document import BLUEPRINT, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.config.marks import ConfigMapping, place

KEY = "source_url"


def with_source(text: str, url: str) -> str:
    """Return the text of a valid blueprint with its `source_url`; unchanged where no line can be set for it."""
    root = read_blueprint(text, "blueprint").root
    about = root[BLUEPRINT]
    if not isinstance(about, ConfigMapping) or about.get(KEY) == url:
        return text
    _, first_line, column = place(about.mark)
    if first_line == place(root.key_marks[BLUEPRINT])[1]:
        return text  # written in one line, with braces
    lines = text.split("\n")
    written = f"{' ' * (column - 1)}{KEY}: {json.dumps(url)}"
    if KEY in about:
        lines[place(about.key_marks[KEY])[1] - 1] = written
    else:
        lines.insert(first_line - 1, written)
    changed = "\n".join(lines)
    return changed if _is_source(changed, url) else text


def _is_source(text: str, url: str) -> bool:
    try:
        return read_blueprint(text, "blueprint").metadata.source_url == url
    except BlueprintInvalid:
        return False
