"""The tool `rss`, with which an agent reads an RSS or Atom feed, and the service `rss.items`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.errors import Unavailable
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.core.services import ResponseMode, ServiceCall
from hub.security.egress import URL_LENGTH_LIMIT, Egress, parse_url
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.known_urls import KnownUrls, why_ask
from integrations.tools.rss.feeds import Feed, FeedState, look

if TYPE_CHECKING:
    from hub.host import IntegrationHost

READS_FEEDS = Annotations(read_only=True, destructive=False, idempotent=True, owner_only=False, egress=True)
SUMMARY_CHARS = 500
SCHEMA = Schema(
    {
        Required("url", description="Of the feed."): All(string, Length(min=1, max=URL_LENGTH_LIMIT)),
        Optional("limit", default=10, description="Items, the newest first."): All(integer, Range(min=1, max=100)),
    }
)


def add_feed_tool(host: IntegrationHost) -> None:
    """Register the tool and the service."""
    known = KnownUrls(host.sessions)

    async def run(call: ToolCall) -> ToolResult:
        feed, items = await newest(host.egress, call.arguments)
        known.add(call.session_key, str(parse_url(call.arguments["url"])))
        lines = [
            f"{item['published'] or ''} {item['title']}\n{item['link']}\n{item['summary'][:SUMMARY_CHARS]}".strip()
            for item in items
        ]
        return ToolResult("\n\n".join([feed.title, *lines]), {"title": feed.title, "items": items}, trusted=False)

    async def serve(call: ServiceCall) -> Mapping[str, Any]:
        feed, items = await newest(host.egress, call.data)
        return {"title": feed.title, "link": feed.link, "items": items}

    host.tools.add(
        Tool(
            "rss",
            "Read the newest items of an RSS or Atom feed.",
            from_schema(SCHEMA),
            run,
            "web",
            READS_FEEDS,
            approval=why_ask,
            unasked=known.covers,
        )
    )
    host.services.register(
        "items", serve, SCHEMA, ResponseMode.ONLY, description="Read the newest items of a feed", open_world=True
    )


async def newest(egress: Egress, data: Mapping[str, Any]) -> tuple[Feed, list[Mapping[str, Any]]]:
    """Return a feed and its newest items, the newest first.

    Raises:
        HubError: It cannot be fetched, or is not a feed.
    """
    feed = await look(data["url"], egress, FeedState())
    if feed is None:
        raise Unavailable(f"{data['url']} answered that nothing changed to an unconditional request")
    return feed, list(reversed(feed.items))[: data["limit"]]
