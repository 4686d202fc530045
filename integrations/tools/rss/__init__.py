"""Feeds: a tool and a service that read one, and a trigger that watches one.

Their items are read in a separate process, which imports this package: what it does not need is imported by `setup`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool and the service."""
    from integrations.tools.rss.tool import add_feed_tool

    add_feed_tool(host)
