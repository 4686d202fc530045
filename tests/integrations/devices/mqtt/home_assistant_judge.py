"""Says of each announcement on standard input what Home Assistant's own schemas make of it: `""`, or its refusal.

Run by the Python of an environment with Home Assistant in it; of this project nothing is imported.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from typing import Any

NEWER = ("default_entity_id",)
"""Keys that this version of Home Assistant does not know yet."""


def judged(topic: str, payload: str) -> str | None:
    """Return the refusal of an announcement, an empty text for none, None for a component that is not known here."""
    component = topic.split("/")[1]
    try:
        module = importlib.import_module(f"homeassistant.components.mqtt.{component}")
    except ImportError:
        return None
    said: dict[str, Any] = {key: value for key, value in json.loads(payload).items() if key not in NEWER}
    written_out = importlib.import_module("homeassistant.components.mqtt.abbreviations").ORIGIN_ABBREVIATIONS
    said["origin"] = {written_out.get(key, key): value for key, value in said["origin"].items()}
    said["device"].pop("model_id", None)
    if "supported_color_modes" in said:
        said.setdefault("color_mode", True)
    schema = getattr(module, "DISCOVERY_SCHEMA", None) or module.TRIGGER_DISCOVERY_SCHEMA
    try:
        schema(said)
    except Exception as error:  # whatever its validators raise is a refusal
        return str(error) or type(error).__name__
    return ""


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        print(json.dumps(judged(*json.loads(line))))
