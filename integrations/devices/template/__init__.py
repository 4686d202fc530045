"""Template entities: the states of a home that are worked out from others, and what their services do.

The section `template:` of Home Assistant. A template is rendered again only when something changed that it had read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, _config: Sequence[Mapping[str, Any]]) -> None:
    """Make the entities, and let them follow."""
    from integrations.devices.template.making import make

    await make(host)
