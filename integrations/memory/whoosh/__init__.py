"""Whoosh: an engine for the words of the memory's index, where SQLite has no full-text index.

The index worker opens `engine.py`, which the manifest names; nothing of it runs in the hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Do nothing: the index worker opens the engine, by the module that the manifest names."""
