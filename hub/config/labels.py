"""Sections as Home Assistant writes them: with a label, `automation kitchen:`, and single items without a dash."""

from __future__ import annotations

import re
from typing import Any

from hub.config.errors import ConfigError
from hub.config.join import merge_values
from hub.config.marks import ConfigList, ConfigMapping
from hub.config.paths import KeyPath

PLATFORM_SECTIONS = (
    *("alarm_control_panel", "binary_sensor", "button", "camera", "climate", "cover", "date", "datetime"),
    *("device_tracker", "event", "fan", "humidifier", "image", "lawn_mower", "light", "lock", "media_player"),
    *("notify", "number", "remote", "select", "sensor", "siren", "switch", "text", "time", "todo", "update"),
    *("vacuum", "valve", "water_heater", "weather"),
)
"""Sections that are lists of entities, each made by the platform that it names; `calendar` is an integration's own."""
LISTS = ("automation", "template", "rest", *PLATFORM_SECTIONS)
"""Sections that are lists, of which a single item may be written without a dash."""
_LABELLED = re.compile(r"^([a-z][a-z0-9_]*) +\S.*$")


def join_labelled(data: ConfigMapping, keys: KeyPath, errors: list[ConfigError]) -> ConfigMapping:
    """Return sections with those of the same name joined, ignoring labels, and single items made lists.

    The given data is not changed.

    Args:
        keys: The path to them: none, or that of a package.
    """
    labelled = [name for name in data if _LABELLED.match(name)]
    if not labelled and not any(isinstance(data.get(name), ConfigMapping) for name in LISTS):
        return data
    found = ConfigMapping(data.mark)
    found.size = data.size
    for name in (*(name for name in data if name not in labelled), *labelled):
        match = _LABELLED.match(name)
        section = match[1] if match else name
        value, at = _with_lone_items(section, data[name]), data.key_marks[name]
        if section in found:
            value = merge_values(found[section], value, found.key_marks[section], at, (*keys, name), errors)
            found[section] = value
            continue
        found.put(section, value, at, data.value_marks[name])
    return found


def _with_lone_items(section: str, value: Any) -> Any:
    if section not in LISTS or not isinstance(value, ConfigMapping):
        return value
    alone = ConfigList(value.mark)
    alone.put(value, value.mark)
    alone.size = value.size
    return alone
