"""Web pages: the tool `web_fetch`, with which an agent reads a page, a PDF or data of the web.

Which addresses may be called is decided in `hub/security`; fetched content is read in a separate process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.known_urls import KnownUrls
from integrations.tools.recent_answers import RecentAnswers
from integrations.tools.web_fetch.schema import CONFIG_SCHEMA
from integrations.tools.web_fetch.tool import WebFetch

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool."""
    settings = config or CONFIG_SCHEMA({})
    known = KnownUrls(host.sessions)
    recent: RecentAnswers[Any] = RecentAnswers(host.clock, settings["keep"])
    host.tools.add(WebFetch(host.egress, recent, known, host.agent_secrets.for_call, settings).tool())
