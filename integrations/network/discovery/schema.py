"""Configuration of discovery: `discovery: {mdns: off | minimal | full}`."""

from __future__ import annotations

from hub.core.schema import In, Optional, Schema

MODES = ("off", "minimal", "full")

CONFIG_SCHEMA = Schema(
    {
        Optional(
            "mdns",
            default="minimal",
            description=(
                "minimal: announce the hub by the name of its machine, and find others; full: also by the home's name; "
                "off: neither. A hub that serves its network does so without this section"
            ),
        ): In(MODES)
    }
)
