"""Keys of sensors that are read from a text, such as the answer of a server, under Home Assistant's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hub.automation.definition.fields import is_template, template
from hub.core.phrases import phrase
from hub.core.schema import Described, In, Invalid, Optional, as_list, boolean, show, string
from hub.core.slugs import slugify
from integrations.devices.json_path import checked_path

STATE_CLASSES = ("measurement", "measurement_angle", "total", "total_increasing")


def entity_ids(given: Iterable[tuple[str, Mapping[str, Any]]], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the ids that entities get, by their domains and settings, as far as no templates make their names.

    Args:
        names: By domain, what one is called that says nothing of it.
    """
    seen: set[str] = set()
    for domain, settings in given:
        name = settings.get("name", names[domain])
        id = f"{domain}.{slugify(names[domain] if is_template(name) else name)}"
        found = next(each for each in (id, *(f"{id}_{n}" for n in range(2, len(seen) + 3))) if each not in seen)
        seen.add(found)
        yield found


def _names(value: Any) -> list[str]:
    """Accept names as a list, or in one text between commas."""
    given = value.split(",") if isinstance(value, str) else as_list(value)
    if not all(isinstance(each, str) and each.strip() for each in given):
        raise Invalid(phrase("expected a list of names, got {value}", value=show(value)))
    return [each.strip() for each in given]


BINARY_SENSOR: Mapping[Any, Any] = {
    Optional("name", description="Its name; may be a template."): template,
    Optional("unique_id", description="Tells it from all others, so that its name may change."): string,
    Optional("icon", description="Its icon; may be a template over `value` and `value_json`."): template,
    Optional("picture", description="The address of its picture; may be such a template."): template,
    Optional("availability", description="Such a template, which says whether it is available."): template,
    Optional("device_class", description="What it is, such as temperature."): string,
    Optional("value_template", description="Its state, a template over `value` and `value_json`."): template,
    Optional("force_update", default=False, description="Whether each reading counts as a change."): boolean,
}
SENSOR: Mapping[Any, Any] = {
    **BINARY_SENSOR,
    Optional("unit_of_measurement", description="Its unit."): string,
    Optional("state_class", description="How its statistics are made."): In(STATE_CLASSES),
    Optional("json_attributes", description="Keys of the JSON that are its attributes."): Described(
        _names, {"type": "array", "items": {"type": "string"}}, "names"
    ),
    Optional("json_attributes_path", description="Where in the JSON they are, as $.a[0].b."): checked_path,
}
