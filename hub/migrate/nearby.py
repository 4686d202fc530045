"""Folders of this machine that one can move in from, where other assistants keep theirs by default."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

PLACES = (
    (
        "home-assistant",
        ".HA_VERSION",
        ("/config", "/srv/homeassistant", "/opt/homeassistant", "/var/lib/homeassistant"),
    ),
    ("home-assistant", ".HA_VERSION", ("~/.homeassistant", "~/homeassistant", "~/homeassistant/config", "~/hass")),
    ("home-assistant", ".HA_VERSION", ("/usr/share/hassio/homeassistant", "/opt/homeassistant/config")),
    ("openclaw", "openclaw.json", ("~/.openclaw",)),
)
"""What is moved from, the file in it that gives it away, and where it usually is."""


def folders_nearby(user_home: Path) -> Iterator[dict[str, Any]]:
    """Yield the folders that are there, each as `{source, path}`; what may not be read is not there.

    Args:
        user_home: What `~` stands for.
    """
    for source, sign, places in PLACES:
        for place in places:
            folder = user_home / place.removeprefix("~/")
            try:
                is_there = (folder / sign).is_file()
            except OSError:
                continue
            if is_there:
                yield {"source": source, "path": str(folder)}
