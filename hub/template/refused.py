"""Names of Home Assistant's templates that are not available here, with the reason, and suggestions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

_REASONS: Mapping[str, str] = {
    "there is no registry of config entries here: use area_entities": "config_entry_id config_entry_attr entity_name",
    "there are no issues here: look at the repairs of the hub": "issue issues",
    "templates make no HTML": "urlize xmlattr",
    "it makes only placeholder text": "lipsum",
    "there is no voice assistant with exposed entities here": "exposed_entities is_exposed",
}
REFUSED: Mapping[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""By name, why it is not there."""
REFUSED_TAGS: Mapping[str, str] = {
    "Include": "`include` is not available: import a macro from custom_templates/ and call it",
    "Extends": "`extends` is not available: import macros from custom_templates/",
    "Block": "`block` is for templates that extend each other: use `macro`",
    "ScopedEvalContextModifier": "`autoescape` is for HTML, which templates do not make",
    "EvalContextModifier": "`autoescape` is for HTML, which templates do not make",
}


def unknown_message(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence that a filter, test or function does not exist, with the reason and a suggestion."""
    if reason := REFUSED.get(name):
        return f"the {kind} {name} of Home Assistant is not available: {reason}"
    close = get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"there is no {kind} {name}{hint}"
