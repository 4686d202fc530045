"""Web search: the tool `web_search` and the service `web_search.search`, with one of several providers.

Providers are asked through the hub's egress client; their answers are words from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.services import ResponseMode
from integrations.tools.web_search.schema import CONFIG_SCHEMA
from integrations.tools.web_search.searching import Searching
from integrations.tools.web_search.tool import WebSearch

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool and the service."""
    settings = config or CONFIG_SCHEMA({})
    search = WebSearch(Searching(host.egress, host.clock, settings), settings["count"], host.clock.now)
    host.tools.add(search.tool())
    host.services.register(
        "search",
        search.serve,
        search.schema,
        ResponseMode.ONLY,
        description="Search the web",
        open_world=True,
    )
