"""Form controls from JSON Schema: the kind of field for a value, the value as text, and the text as a value.

Values too free for a field are edited as YAML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.config.edit import parse_value
from hub.config.render import block, inline
from hub.config.spans import Tagged
from hub.core.errors import InvalidRequest

TEMPLATE_KEYS = frozenset({"value_template", "wait_template", "message", "text", "prompt", "question", "description"})
"""Keys whose text may be long: they get a field of several lines."""
ENTITY_KEYS = frozenset({"entity_id"})
SERVICE_KEYS = frozenset({"action", "service"})
PLAIN_KEYS = frozenset({"state", "expect"})
"""Keys of which the schema says nothing, and which are one text or a list of such."""
CHOICE_LIMIT = 60

MISSING: Any = object()
"""Stands for no value: the key is not there, or is to be taken out."""

JsonSchema = Mapping[str, Any]


class Control(Struct, frozen=True):
    """One field of a form.

    Attributes:
        name: Under which it is posted: the path of the value, joined by dots.
        key: Its key in YAML.
        kind: text, service, lines, long, number, choice, choices, entity or yaml.
        shown: The value as text; for `choices` one per line.
        choices: The choices.
        error: Its error message.
        many: Whether it can hold several values.
        types: JSON types that one value may have.
        default: What counts when there is no value, as text.
        signed: Whether a duration may lie before.
        domain: The domain of the entities that can be picked; empty for any.
    """

    name: str
    key: str
    kind: str
    shown: str = ""
    choices: tuple[str, ...] = ()
    description: str = ""
    required: bool = False
    error: str | None = None
    many: bool = False
    types: frozenset[str] = frozenset()
    default: str = ""
    signed: bool = False
    domain: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The control as templates and JSON see it."""
        return {
            "name": self.name,
            "id": field_id(self.name),
            "key": self.key,
            "kind": self.kind,
            "shown": self.shown,
            "choices": list(self.choices),
            "many": self.many,
            "chosen": self.shown.split("\n") if self.kind == "choices" and self.shown else [],
            "description": self.description,
            "required": self.required,
            "error": self.error,
            "default": self.default,
            "signed": self.signed,
            "domain": self.domain,
            "rows": min(max(self.shown.count("\n") + 1, 2 if self.kind in {"long", "yaml"} else 1), 16),
        }


def field_id(name: str) -> str:
    """Return the id of the element of a path."""
    return "f-" + "".join(each if each.isalnum() or each in "-_" else "-" for each in name)


def control_of(name: str, key: str, schema: JsonSchema, value: Any = MISSING, *, required: bool = False) -> Control:
    """Return the control for a value.

    Args:
        schema: JSON Schema of the value.
        value: Its present value; MISSING when the key is not there.
    """
    kind, choices, many = _kind(key, schema)
    if not _fits(kind, value, choices, many=many):
        kind, choices = "yaml", ()
    description = str(schema.get("description", ""))
    shown = field_text(kind, value)
    types = frozenset(_all_types(schema))
    return Control(name, key, kind, shown, choices, description, required, None, many, types, _default(schema))


def field_text(kind: str, value: Any) -> str:
    """Return a value as the text of a field of a kind."""
    if value is MISSING or value is None:
        return ""
    if kind == "yaml":
        return "\n".join(block(value, 0))
    if kind == "choice" and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return (", " if kind == "entity" else "\n").join(_scalar_text(each) for each in value)
    return _scalar_text(value)


def parse_text(control: Control, text: str) -> Any:
    """Return the value of a posted text; MISSING for none.

    Raises:
        InvalidRequest: It means none; the message is for people.
    """
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return MISSING
    match control.kind:
        case "yaml" if not text.lstrip().startswith(("{{", "{%")):
            try:
                return parse_value(text)
            except InvalidRequest as error:
                raise InvalidRequest("this is not valid YAML") from error
        case "number":
            return _number(text)
        case "choice":
            return {"true": True, "false": False}.get(text, text) if "true" in control.choices else text
        case "choices":
            return _one_or_many(text.split("\n"))
        case "lines":
            return _one_or_many([line.strip() for line in text.split("\n") if line.strip()])
        case "entity":
            return _one_or_many([each.strip() for each in text.split(",") if each.strip()])
        case "long" | "yaml":
            return text.rstrip("\n")
        case _:
            stripped = text.strip()
            if stripped.startswith(("{", "[")) and not stripped.startswith(("{{", "{%", "{#")):
                return _flow(stripped, control.shown)
            return _scalar(stripped, control.types)


def _kind(key: str, schema: JsonSchema) -> tuple[str, tuple[str, ...], bool]:
    branches = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"] or [schema]
    many = any(each.get("type") == "array" and "items" in each for each in branches)
    single = next((each for each in branches if each.get("type") != "array"), branches[0])
    if key in ENTITY_KEYS:
        return "entity", (), True
    if key in SERVICE_KEYS:
        return "service", (), False
    if key in PLAIN_KEYS and not schema.keys() & {"type", "enum", "anyOf"}:
        return "lines", (), True
    values = single.get("enum")
    if isinstance(values, Sequence) and values and len(values) <= CHOICE_LIMIT:
        return ("choices" if many else "choice"), tuple(_scalar_text(each) for each in values), many
    types = _types(single)
    if types == {"boolean"}:
        return "choice", ("true", "false"), False
    if types and types <= {"number", "integer"}:
        return "number", (), False
    if "object" in types and not types & {"number", "integer"}:
        return "yaml", (), many
    if "string" in types:
        if key in TEMPLATE_KEYS and not many:
            return "long", (), False
        return ("lines" if many else "text"), (), many
    return "yaml", (), many


def _all_types(schema: JsonSchema) -> set[str]:
    return _types(schema).union(*(_types(each) for each in schema.get("anyOf", ()) if isinstance(each, Mapping)))


def _scalar(text: str, types: frozenset[str]) -> Any:
    """Return a number or truth where only those are allowed, or a text that cannot be interpreted."""
    if "boolean" in types:
        return {"true": True, "false": False}.get(text, text) if "number" not in types else text
    if types & {"number", "integer"}:
        try:
            return _number(text)
        except InvalidRequest:
            return text
    return text


def _types(schema: JsonSchema) -> set[str]:
    found = schema.get("type")
    types = {found} if isinstance(found, str) else set(found or ())
    return types - {"null"}


def _fits(kind: str, value: Any, choices: tuple[str, ...], *, many: bool) -> bool:
    """Whether a field of this kind can show the value without losing anything of it."""
    if value is MISSING or value is None or kind == "yaml":
        return True
    if isinstance(value, list):
        return many and bool(value) and all(_fits(kind, each, choices, many=False) for each in value)
    if isinstance(value, (dict, Tagged)):
        return kind == "text" and isinstance(value, dict) and _is_flat(value)
    text = _scalar_text(value)
    if kind == "choice":
        return text in choices
    if kind == "choices":
        return text in choices
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in {"lines", "entity"}:
        return "\n" not in text and text == text.strip() and bool(text) and not (kind == "entity" and "," in text)
    return kind == "long" or ("\n" not in text and text == text.strip())


def _default(schema: JsonSchema) -> str:
    value = schema.get("default")
    return "" if value is None or isinstance(value, (dict, list)) else _scalar_text(value)


def _is_flat(value: dict[str, Any]) -> bool:
    return bool(value) and not any(isinstance(each, (dict, list, Tagged)) for each in value.values())


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return inline(value)
    return str(value)


def _one_or_many(values: list[str]) -> Any:
    return values[0] if len(values) == 1 else values


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text.replace(",", "."))
    except ValueError as error:
        raise InvalidRequest(f"{text.strip()[:40]!r} is not a number") from error
    if number != number or number in (float("inf"), float("-inf")):
        raise InvalidRequest(f"{text.strip()[:40]!r} is not a number")
    return number


def _flow(text: str, shown: str) -> Any:
    try:
        return parse_value(text)
    except InvalidRequest as error:
        if text == shown.strip():
            return shown  # a text that only looks like YAML, and was not changed
        raise InvalidRequest("expected valid YAML, or text that does not begin like YAML") from error
