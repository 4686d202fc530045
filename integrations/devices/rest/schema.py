"""Configuration of sensors of what servers answer, with the keys of Home Assistant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.automation.definition.commands import request_fields
from hub.automation.definition.fields import dynamic_text
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, Invalid, Length, Optional, Range, Schema, as_list, duration, secret, string
from integrations.devices.read_schema import BINARY_SENSOR, SENSOR, entity_ids

EACH_ITEM = True
RESOURCES_LIMIT = 500
ENTITIES_LIMIT = 500
"""Of one answer."""
EVERY_S = 30.0
_ADDRESS = All(dynamic_text, Length(min=1, max=8_000))


def _addressed(value: dict[str, Any]) -> dict[str, Any]:
    """Return a resource whose address is `url`."""
    given = [key for key in ("resource", "resource_template") if key in value]
    if len(given) != 1:
        raise Invalid(phrase("expected one of resource and resource_template"))
    return {**value, "url": value[given[0]]}


_RESOURCE = {
    Optional("resource", description="The address."): AnyOf(_ADDRESS, secret),
    Optional("resource_template", description="The address, a template."): AnyOf(_ADDRESS, secret),
    Optional("params", default=dict, description="What is added to the address after a ?; may be templates."): {
        string: AnyOf(dynamic_text, secret)
    },
    **request_fields(("get", "post", "put", "patch")),
    Optional("scan_interval", default=EVERY_S, description="How often it is asked."): All(
        duration, Range(min=1, max=31_536_000)
    ),
    Optional("encoding", default="UTF-8", description="Of answers that do not say theirs."): string,
}
CONFIG_SCHEMA = All(
    as_list,
    Schema(
        [
            All(
                {
                    **_RESOURCE,
                    Optional("sensor", default=list, description="Sensors that are read from the answer."): All(
                        as_list, [Schema(dict(SENSOR))], Length(max=ENTITIES_LIMIT)
                    ),
                    Optional("binary_sensor", default=list, description="Binary sensors that are read from it."): All(
                        as_list, [Schema(dict(BINARY_SENSOR))], Length(max=ENTITIES_LIMIT)
                    ),
                },
                _addressed,
            )
        ]
    ),
    Length(max=RESOURCES_LIMIT),
)
PLATFORMS = {
    "sensor": Schema(All({**_RESOURCE, **SENSOR}, _addressed)),
    "binary_sensor": Schema(All({**_RESOURCE, **BINARY_SENSOR}, _addressed)),
}
SECTIONS = ("sensor", "binary_sensor")
NAMES = {"sensor": "REST Sensor", "binary_sensor": "REST Binary Sensor"}


def resources(config: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], list[tuple[str, Mapping[str, Any]]]]]:
    """Yield each resource of a checked configuration, with its entities by their domains."""
    for each in config.get("rest") or ():
        yield each, [(domain, one) for domain in SECTIONS for one in each[domain]]
    for domain in SECTIONS:
        for each in config.get(domain) or ():
            if each["platform"] == "rest":
                yield each, [(domain, each)]


def ENTITIES(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entity ids that a checked configuration has."""
    return entity_ids((each for _, found in resources(config) for each in found), NAMES)
