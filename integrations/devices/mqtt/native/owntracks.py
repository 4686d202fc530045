"""OwnTracks: a phone that reports where it is. Source: https://owntracks.org/booklet/tech/json/"""

from __future__ import annotations

from typing import Any

from integrations.devices.mqtt.discovery.announcement import Announced, check_component
from integrations.devices.mqtt.topics import SEGMENT

_PLACE = "{{ (value_json.inregions | default([], true) | first | default('None')) if value_json.lat is defined }}"
_ATTRIBUTES = (
    "{{ {'latitude': value_json.lat, 'longitude': value_json.lon, 'gps_accuracy': value_json.acc | default(0),"
    " 'battery_level': value_json.batt | default(none), 'last_seen': value_json.tst} | to_json"
    " if value_json._type == 'location' }}"
)


def tracker(user: str, device: str, topic: str, said: Any) -> list[Announced]:
    """Return the tracker of a phone, once it has said where it is."""
    named = SEGMENT.fullmatch(user) and SEGMENT.fullmatch(device)
    if not named or not isinstance(said, dict) or said.get("_type") != "location":
        return []
    config = {
        "unique_id": f"owntracks_{user}_{device}",
        "name": None,
        "device": {
            "identifiers": [f"owntracks_{user}_{device}"],
            "name": f"{user} {device}",
            "manufacturer": "OwnTracks",
        },
        "origin": {"name": "OwnTracks"},
        "state_topic": topic,
        "value_template": _PLACE,
        "json_attributes_topic": topic,
        "json_attributes_template": _ATTRIBUTES,
        "source_type": "gps",
    }
    return [check_component("device_tracker", config)]
