"""An integration's description of an entity and its device, with its words made safe to show."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from hub.entities.pictures import Film, TakePicture

NAME_LIMIT = 128
_FEATURES: Mapping[str, Mapping[str, int]] = {
    "camera": {"turn_on": 1},
    "media_player": {
        "media_pause": 1,
        "media_seek": 2,
        "volume_set": 4,
        "volume_mute": 8,
        "media_previous_track": 16,
        "media_next_track": 32,
        "turn_on": 128,
        "turn_off": 256,
        "play_media": 512,
        "volume_up": 1_024,
        "select_source": 2_048,
        "media_stop": 4_096,
        "clear_playlist": 8_192,
        "media_play": 16_384,
        "shuffle_set": 32_768,
        "select_sound_mode": 65_536,
        "browse_media": 131_072,
        "repeat_set": 262_144,
        "join": 524_288,
        "announce": 1_048_576,
        "enqueue": 2_097_152,
        "search_media": 4_194_304,
    },
}
"""By domain, the bit of each command in `supported_features`; `announce` and `enqueue` are of `play_media`."""


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
        force_update: Whether each report of its state counts as a change.
        picture: Takes its picture, for cameras, images and players.
        film: Makes a film of it.
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
    force_update: bool = False
    picture: TakePicture | None = None
    film: Film | None = None
    is_new: bool = False


def clean(text: str | None, limit: int = NAME_LIMIT) -> str | None:
    """Return a name in one line, without control and direction characters; None for an empty one."""
    if text is None:
        return None
    kept = "".join(each if unicodedata.category(each)[0] != "C" else " " for each in text[: 4 * limit])
    return " ".join(kept.split())[:limit].strip() or None


def features_of(domain: str, commands: Iterable[str], further: Iterable[str] = ()) -> int | None:
    """Return the features of an entity by its commands; None for a domain that is not told of here."""
    bits = _FEATURES.get(domain)
    return None if bits is None else sum({bits.get(each, 0) for each in (*commands, *further)})
