"""Folders bundled with the hub: examples, blueprints, the starter configuration."""

from __future__ import annotations

from pathlib import Path


def find_bundled(name: str, marker: str) -> Path | None:
    """Return such a folder: next to `hub` in a checkout, inside it in an installed package.

    Args:
        name: The name of the folder.
        marker: A path inside it without which it is not whole; None is returned then.
    """
    hub = Path(__file__).resolve().parents[1]
    return next((each for each in (hub.parent / name, hub / "_data" / name) if (each / marker).exists()), None)
