"""Configuration of entities by commands, with the keys of Home Assistant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.automation.definition.fields import dynamic_text
from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Length, Optional, Range, Required, Schema, as_list, duration, slug, string
from integrations.devices.read_schema import BINARY_SENSOR, SENSOR, entity_ids

EACH_ITEM = True
ITEMS_LIMIT = 500
TIMEOUT_S = 15.0
_COMMAND = All(dynamic_text, Length(min=1, max=8_000))
_TIMED = {
    Optional("command_timeout", default=TIMEOUT_S, description="Seconds until the command is ended."): All(
        duration, Range(min=1, max=600)
    ),
}


def _every(seconds: float) -> dict[Any, Any]:
    return {
        **_TIMED,
        Optional("scan_interval", default=seconds, description="How often its state is read."): All(
            duration, Range(min=1, max=31_536_000)
        ),
    }


_READ = {Required("command", description="What writes its state; may be a template."): _COMMAND, **_every(60)}
_SHOWN = {
    key: check
    for key, check in BINARY_SENSOR.items()
    if str(key) in ("name", "unique_id", "icon", "availability", "device_class", "value_template")
}
_STATE = {Optional("command_state", description="What tells its state; without it the last command does."): _COMMAND}
KINDS: Mapping[str, Schema] = {
    "sensor": Schema({**SENSOR, **_READ}),
    "binary_sensor": Schema(
        {
            **BINARY_SENSOR,
            **_READ,
            Optional("payload_on", default="ON", description="What the command writes when it is on."): string,
            Optional("payload_off", default="OFF", description="What it writes when it is off."): string,
        }
    ),
    "switch": Schema(
        {
            **_SHOWN,
            Optional("command_on", default="true", description="Turns it on."): _COMMAND,
            Optional("command_off", default="true", description="Turns it off."): _COMMAND,
            **_STATE,
            **_every(30),
        }
    ),
    "cover": Schema(
        {
            **_SHOWN,
            Optional("command_open", default="true", description="Opens it."): _COMMAND,
            Optional("command_close", default="true", description="Closes it."): _COMMAND,
            Optional("command_stop", default="true", description="Stops it."): _COMMAND,
            **_STATE,
            **_every(15),
        }
    ),
    "notify": Schema(
        {
            Required("command", description="Gets the message as its input."): _COMMAND,
            Optional("name", default="command_line", description="Of the service notify.<name>."): slug,
            **_TIMED,
        }
    ),
}
NAMES = {
    "sensor": "Command Sensor",
    "binary_sensor": "Binary Command Sensor",
    "switch": "Command Switch",
    "cover": "Command Cover",
}


_TOLD = {
    "sensor": "A sensor by what a command writes.",
    "binary_sensor": "A binary sensor by what a command writes.",
    "switch": "A switch that runs commands.",
    "cover": "A cover that runs commands.",
    "notify": "A service that gives messages to a command.",
}


def _one(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) != 1:
        raise Invalid(phrase("expected one of {keys}", keys=list(KINDS)))
    return value


CONFIG_SCHEMA = All(
    as_list,
    Schema([All({Optional(domain, description=_TOLD[domain]): each for domain, each in KINDS.items()}, _one)]),
    Length(max=ITEMS_LIMIT),
)


def items(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the items of a checked configuration with their domains."""
    for each in config.get("command_line") or ():
        yield from each.items()


def ENTITIES(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entity ids that a checked configuration has."""
    return entity_ids(((domain, each) for domain, each in items(config) if domain in NAMES), NAMES)
