"""The data of a service in the card of an action: a field for each of its keys, those used most first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.automation.definition.values import is_template
from web.automations.selector_fields import InputControl, input_control
from web.automations.service_form import field_data
from web.core.form_fields import MISSING, Control, control_of
from web.core.suggestions import Suggestions

AnyControl = Control | InputControl

TARGETS = ("entity_id", "area_id", "device_id", "floor_id", "label_id")
"""Keys of a target, which has fields of its own."""
FIRST = frozenset(
    {
        "agent", "announce", "brightness_pct", "channel", "duration", "hvac_mode", "media_content_id", "message",
        "option", "position", "prompt", "query", "temperature", "text", "title", "to", "url", "value", "volume_level",
    }
)  # fmt: skip
"""Keys of which one wants to see the field at once; those that are required are seen too."""
_MAIN = frozenset({"message", "prompt", "text"})
"""Keys without which there would be nothing to do, even where the schema has another word for them."""
_ALIASES: Mapping[str, frozenset[str]] = {
    "notify": frozenset({"text", "data"}),
    "message.send": frozenset({"message"}),
}
"""Other words for the same, by service or domain; they have a field where they are written."""
_CHOICES = {"announce": ("last", "none")}
"""What is usual for keys that may be more than a text."""
_PLAIN = {"boolean": {"type": "boolean"}, "constant": {"type": "boolean"}}
_BARE = frozenset({"yaml", "colour"})
"""Kinds of fields that say nothing, or something else, while there is no value."""
_EVERYTHING = frozenset({"homeassistant", "notify"})
"""Domains whose services are not about entities of their own domain."""


class DataFields(Struct, frozen=True):
    """The fields for the data of a service.

    Attributes:
        first: Those that are visible at once.
        more: The others.
        targeted: Whether the service is about entities.
        domain: The domain of these entities; empty for any.
    """

    first: list[AnyControl]
    more: list[AnyControl]
    targeted: bool
    domain: str


class ServiceFields:
    """Makes them.

    Args:
        find: Returns a service by its name as `service.list` has it; None when there is none.
        suggestions: The names of things of this home.
    """

    def __init__(self, find: Callable[[str], Mapping[str, Any] | None], suggestions: Suggestions) -> None:
        self._find = find
        self._suggestions = suggestions

    def of(self, name: str, prefix: str, data: Any) -> DataFields | None:
        """Return the fields for the data of a service; None when only YAML can show it, or the service is not known.

        Args:
            name: The name of the service.
            prefix: Put in front of the keys.
            data: The data as written; MISSING for none.
        """
        service = self._find(name)
        values = {} if data in (MISSING, None) else data
        if service is None or not isinstance(values, Mapping):
            return None
        fields = service["fields"]
        domain = name.partition(".")[0]
        found = DataFields([], [], "entity_id" in fields, "" if domain in _EVERYTHING else domain)
        aliases = _ALIASES.get(name, _ALIASES.get(domain, frozenset()))
        for key in fields:
            value = values.get(key, MISSING)
            if value is MISSING and (key in TARGETS or key in aliases):
                continue
            control = self._field(service, prefix, key, value)
            if control.kind in _BARE and value is MISSING:
                continue
            if control.description.lower().rstrip(".").removeprefix("the ") == key:
                control = replace(control, description="")  # it says no more than the label
            if key in _MAIN:
                control = replace(control, required=True)
            first = value is not MISSING or control.required or key in FIRST
            (found.first if first else found.more).append(control)
        found.first.extend(
            control_of(f"{prefix}{key}", key, {}, each) for key, each in values.items() if key not in fields
        )
        return found

    def _field(self, service: Mapping[str, Any], prefix: str, key: str, value: Any) -> AnyControl:
        field = field_data(service, key)
        if value in _CHOICES.get(key, ()) or (value is MISSING and key in _CHOICES):
            described = {"enum": list(_CHOICES[key]), "description": field["description"]}
            return control_of(f"{prefix}{key}", key, described, value, required=value is not MISSING)
        plain = _PLAIN.get(field["selector"]["type"])
        if plain is None and not is_template(value):
            return input_control(prefix, field, self._suggestions, value)
        schema = {"type": "string"} if plain is None or is_template(value) else plain
        described = {**schema, "description": field["description"]}
        return control_of(f"{prefix}{key}", key, described, value, required=field["required"])
