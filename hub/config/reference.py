"""The reference of the configuration as Markdown, from the schemas that check it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.sections import SchemaProblem, Section, Sections
from hub.core.json_schema import JsonSchema, to_json_schema

DEPTH_LIMIT = 8
_ITEM = "[]"
_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
    "array": "list",
    "null": "nothing",
}


def reference(sections: Sections) -> str:
    """Return the reference: each section with a table of its keys, in their usual order.

    Args:
        sections: The sections of the configuration.

    Returns:
        Markdown, with headings of the second level. Pure: the same sections give the same text.
    """
    core = {section.name for section in sections.core()}
    parts = [_section(sections, name) for name in sections.names() if name in core]
    others = [_section(sections, name) for name in sections.names() if name not in core]
    if others:
        parts.append("## Integrations\n\nEach is configured under its domain.\n")
        parts += others
    return "\n".join(parts)


def _section(sections: Sections, name: str) -> str:
    core = sections.is_core(name)
    title = f"{'##' if core else '###'} {name}\n"
    try:
        section = sections.get(name)
    except SchemaProblem as problem:
        return f"{title}\n{problem.message}\n"
    if section is None:
        return title
    if section.described_with:
        return f"{title}\nAs [{section.described_with}](#{section.described_with}).\n"
    told = [title]
    if section.description:
        told.append(f"{section.description.rstrip('.')}.\n")
    if section.critical:
        told.append("While it has an error, the hub runs in recovery mode.\n")
    if section.restart:
        told.append("A change takes effect when the hub is started again.\n")
    elif section.restart_keys:
        keys = ", ".join(f"`{key}`" for key in sorted(section.restart_keys))
        told.append(f"A change of {keys} takes effect when the hub is started again.\n")
    told.append(_table(section))
    return "\n".join(told)


def _table(section: Section) -> str:
    schema = to_json_schema(section.schema)
    rows = list(_rows(schema, section.name, 0))
    if not rows:
        takes_any = schema == {} or bool(schema.get("additionalProperties"))
        return "It takes any settings.\n" if takes_any else "It takes no settings; the key may be left empty.\n"
    lines = ["| key | what it takes | default | |", "|---|---|---|---|"]
    lines += [f"| `{path}` | {_cell(kind)} | {_cell(default)} | {_text(text)} |" for path, kind, default, text in rows]
    return "\n".join(lines) + "\n"


def _rows(schema: JsonSchema, path: str, depth: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield path, type, default and description of every key below a schema."""
    if depth > DEPTH_LIMIT:
        return
    if "items" in schema:
        yield from _rows(schema["items"], f"{path}{_ITEM}", depth + 1)
        return
    # Where a single item may be written instead of a list of one, the list is shown.
    lists = [each for each in schema.get("anyOf", ()) if each.get("items") in schema["anyOf"]]
    if lists:
        yield from _rows(lists[0], path, depth)
        return
    # Each of several kinds of mappings gets its own table; one whose keys need no description is shown by its type.
    options = [list(_rows(option, path, depth + 1)) for option in (*schema.get("anyOf", ()), *schema.get("allOf", ()))]
    described = [rows for rows in options if any(text for *_, text in rows)]
    if described:
        yield from described[0] if len(described) == 1 or "anyOf" not in schema else ()
        return
    required = set(schema.get("required", ()))
    for name, inner in schema.get("properties", {}).items():
        inner_path = f"{path}.{name}"
        default = "required" if name in required else _default(inner)
        yield inner_path, _kind(inner) or _kind_of(inner.get("default")), default, _description(inner)
        yield from _rows(inner, inner_path, depth + 1)
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and others:
        inner_path = f"{path}.NAME"
        rows = list(_rows(others, inner_path, depth + 1))
        if rows:
            yield inner_path, _kind(others), "", _description(others)
            yield from rows


def _description(schema: JsonSchema) -> str:
    return str(schema.get("description", "")).rstrip(".")


def _default(schema: JsonSchema) -> str:
    if "default" not in schema:
        return ""
    default = schema["default"]
    if default in ({}, []):
        return ""
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    return f"`{default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)}`"


def _kind(schema: JsonSchema) -> str:
    """Return the type of a value in words."""
    if schema.get("writeOnly"):
        return "secret"
    if schema.get("format") == "uri":
        return "address (http or https)"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        kinds = list(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
        return " or ".join(kind for kind in kinds if kind)
    if "allOf" in schema:
        kinds = list(dict.fromkeys(_kind(each) for each in schema["allOf"]))
        return next((kind for kind in kinds if kind), "")
    kind = schema.get("type")
    if isinstance(kind, list):
        return "seconds, or a duration such as 10m" if set(kind) == {"number", "string"} else " or ".join(_plain(kind))
    if kind == "array":
        inner = _kind(schema["items"]) if isinstance(schema.get("items"), dict) else ""
        return f"list of {_plural(inner)}" if inner else "list"
    if kind is None:
        return ""
    return _WORDS.get(str(kind), str(kind)) + _bounds(schema)


def _kind_of(default: Any) -> str:
    """Return the type of a default in words, where the schema does not describe the value."""
    return "text" if isinstance(default, str) else ""


def _plural(kind: str) -> str:
    return {"mapping": "mappings", "text": "texts", "whole number": "whole numbers", "list": "lists"}.get(kind, kind)


def _plain(kinds: list[str]) -> list[str]:
    return [_WORDS.get(kind, kind) for kind in kinds]


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", at least {low}"
    return f", at most {high}" if high is not None else ""


def _text(text: str) -> str:
    """Return escaped text for a cell, so that HTML tags stay visible."""
    return _cell(text).replace("<", "&lt;")


def _cell(text: str) -> str:
    """Return text that is safe inside a table cell."""
    return text.replace("|", "\\|").replace("\n", " ").strip()
