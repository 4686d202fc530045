"""Sensors of what servers answer: the section `rest:` of Home Assistant, and its platform of that name.

Not here: how an entity is read from an answer (`integrations/devices/read_entity.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, _config: Sequence[Any] | None) -> None:
    """Make the entities, and begin to ask."""
    from integrations.devices.rest.resource import make

    make(host)
