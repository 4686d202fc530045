"""An integration's description of an entity and its device, with its words made safe to show."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

NAME_LIMIT = 128


class DeviceInfo(Struct, frozen=True):
    """A device as its integration describes it; the words are the device's own.

    Attributes:
        identifiers: Identify it among the devices of its source.
        connections: Identify it among all devices, such as `("mac", "02:00:00:00:00:01")`.
        via_device: An identifier of the device that it is reached through.
        suggested_area: Its area when it is first seen.
    """

    identifiers: frozenset[str] = frozenset()
    connections: frozenset[tuple[str, str]] = frozenset()
    name: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    sw_version: str | None = None
    hw_version: str | None = None
    serial: str | None = None
    via_device: str | None = None
    configuration_url: str | None = None
    suggested_area: str | None = None


class EntityDescription(Struct, frozen=True):
    """An entity as its integration describes it.

    Attributes:
        domain: Its kind: `switch`, `sensor`, …
        unique_id: Distinguishes it from the others of its source; it never changes.
        name: Its own name beside that of its device (`Power`); None when it is the device's main entity.
        object_id: The second half of its entity id when it is first seen; made from the names by default.
        entity_category: `config` or `diagnostic` for what is not its device's purpose: such entities are not
            shown to agents, and not included in an area or a device.
        attributes: What it can do, such as `options` or `max`; part of its state even when it is unavailable.
        enabled_by_default: Whether it has a state from the beginning.
        is_full_name: Whether `name` has that of the device in it already.
        is_new: Whether it appeared by itself: if its device is new too, agents use it once a person has accepted it.
    """

    domain: str
    unique_id: str
    name: str | None = None
    object_id: str | None = None
    device: DeviceInfo | None = None
    device_class: str | None = None
    unit: str | None = None
    icon: str | None = None
    entity_category: str | None = None
    attributes: Mapping[str, Any] = {}
    enabled_by_default: bool = True
    is_full_name: bool = False
    is_new: bool = False


def clean(text: str | None, limit: int = NAME_LIMIT) -> str | None:
    """Return a name in one line, without control and direction characters; None for an empty one."""
    if text is None:
        return None
    kept = "".join(each if unicodedata.category(each)[0] != "C" else " " for each in text[: 4 * limit])
    return " ".join(kept.split())[:limit].strip() or None
