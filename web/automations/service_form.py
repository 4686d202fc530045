"""The data of a service as a form, made from its fields and its schema; or as YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from web.automations.blueprint_form import BlueprintForm, FormSection
from web.automations.form_texts import SERVICE_FIELD_LABELS
from web.automations.script_fields import field_of
from web.automations.selector_fields import input_control
from web.core.form_fields import CHOICE_LIMIT, ENTITY_KEYS, MISSING, TEMPLATE_KEYS
from web.core.i18n import Catalogue
from web.core.suggestions import Suggestions
from web.settings.yaml_data import data_of
from web.settings.yaml_view import to_yaml

PREFIX = "data."
YAML = "data"
NAMED = ("agent", "model", "session", "tool")
"""Keys whose text names a thing of this home, for which the form suggests what there is."""


class ServiceForm(Struct):
    """The form of a service.

    Attributes:
        service: The service as `service.list` returns it.
        form: Its fields; None when its data is shown as YAML, which `text` is.
    """

    service: Mapping[str, Any]
    form: BlueprintForm | None
    text: str = ""

    @property
    def has_errors(self) -> bool:
        """Whether anything is wrong at a field."""
        return self.form is not None and self.form.has_errors

    def take(self, fields: Mapping[str, Sequence[str]], words: Catalogue) -> dict[str, Any]:
        """Return the data that was filled in.

        Raises:
            InvalidRequest: The YAML is none.
        """
        if self.form is not None:
            return self.form.take(fields, words)
        self.text = (fields.get(YAML) or [""])[-1]
        return data_of(self.text)

    def as_dict(self) -> dict[str, Any]:
        """The form as templates and JSON see it."""
        sections = [] if self.form is None else self.form.as_list()
        return {
            "service": self.service["service"],
            "description": self.service["description"],
            "response": self.service["response"],
            "as": "yaml" if self.form is None else "form",
            "text": self.text,
            "fields": [field for section in sections for field in section["fields"]],
        }


def service_form(
    service: Mapping[str, Any] | None,
    suggestions: Suggestions,
    data: Mapping[str, Any] | None = None,
    *,
    as_yaml: bool = False,
) -> ServiceForm | None:
    """Return the form of a service; None when there is no service."""
    if service is None:
        return None
    values = data or {}
    if as_yaml:
        return ServiceForm(service, None, to_yaml(dict(values)) if values else "")
    controls = [
        input_control(PREFIX, field_data(service, key), suggestions, values.get(key, MISSING))
        for key in service["fields"]
    ]
    return ServiceForm(service, BlueprintForm([FormSection("", "", False, controls)]))


def field_data(service: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a field of a service as `InputField.as_dict` has an input: with its selector, or one from its schema.

    Args:
        service: The service as `service.list` returns it.
        key: One of its `fields`.
    """
    properties = service["schema"].get("properties") or {}
    return _field(key, service["fields"][key], properties.get(key) or {})


def _field(key: str, field: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    described = field if field.get("selector") else {**field, "selector": _selector(key, schema)}
    if "default" not in described and schema.get("default") is not None:
        described = {**described, "default": schema["default"]}
    return field_of(key, {"name": SERVICE_FIELD_LABELS.get(key, key), **described})


def _selector(key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the selector for a JSON Schema; schemas too free for one are YAML."""
    branches = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"] or [schema]
    if key in ENTITY_KEYS:
        return {"entity": {"multiple": True}}
    if key in ("device_id", "area_id", "floor_id", "label_id"):
        return {key.removesuffix("_id"): {"multiple": True}}
    if len(branches) > 1:
        return {"object": {}}
    only = branches[0]
    if only.get("type") == "array" and isinstance(only.get("items"), Mapping):
        inner = _of_one(key, only["items"])
        kind = next(iter(inner), "object")
        return {kind: {**inner[kind], "multiple": True}} if kind in {"text", "select"} else {"object": {}}
    return _of_one(key, only)


def _of_one(key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    values = schema.get("enum")
    if values and len(values) <= CHOICE_LIMIT and all(isinstance(each, str) for each in values):
        return {"select": {"options": list(values)}}
    match schema.get("type"):
        case "boolean":
            return {"boolean": {}}
        case "integer" | "number":
            bounds = {"min": schema.get("minimum"), "max": schema.get("maximum")}
            return {"number": {name: each for name, each in bounds.items() if each is not None} | {"mode": "box"}}
        case "string" if key in NAMED:
            return {key: {}}
        case "string":
            return {"text": {"multiline": True} if key in TEMPLATE_KEYS else {}}
        case _:
            return {"object": {}}
