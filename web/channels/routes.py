"""Routes of the page of channels, and its live topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import EventBus, Unsubscribe
from hub.core.repairs import EVENT_REPAIRS_CHANGED
from hub.core.surfaces import ADMIN, Route
from hub.messaging.access.pairing import EVENT_PAIRING_DECIDED
from hub.messaging.channels import EVENT_CHANNEL_ADDED, EVENT_CHANNEL_REMOVED, EVENT_CHANNEL_STATUS
from hub.messaging.outbox.sending import MESSAGE_ENDS
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.page_routes import form, page

if TYPE_CHECKING:
    from web.channels.channels_page import ChannelsPage

TOPIC = "channels"
CHANGES = (
    *(EVENT_CHANNEL_ADDED, EVENT_CHANNEL_REMOVED, EVENT_CHANNEL_STATUS, EVENT_PAIRING_DECIDED),
    *(*MESSAGE_ENDS, EVENT_REPAIRS_CHANGED),
)


def routes(pages: LazyPages[ChannelsPage]) -> list[Route]:
    """Return the routes."""
    return [
        page("/channels", pages.handler(lambda each: each.show), ADMIN),
        page("/channels/people", pages.handler(lambda each: each.people), ADMIN),
        page("/channels/unsent", pages.handler(lambda each: each.unsent), ADMIN),
        page("/channels/account", pages.handler(lambda each: each.account), ADMIN),
        page("/channels/add", pages.handler(lambda each: each.choose), ADMIN),
        page("/channels/link", pages.handler(lambda each: each.link), ADMIN),
        form("/channels/link", pages.handler(lambda each: each.begin_link), ADMIN),
        form("/channels/probe", pages.handler(lambda each: each.probe), ADMIN),
        form("/channels/add", pages.handler(lambda each: each.add), ADMIN),
        form("/channels/send", pages.handler(lambda each: each.send), ADMIN),
        form("/channels/remove", pages.handler(lambda each: each.remove), ADMIN),
        form("/channels/pairing", pages.handler(lambda each: each.pair), ADMIN),
        form("/channels/revoke", pages.handler(lambda each: each.revoke), ADMIN),
        form("/channels/message", pages.handler(lambda each: each.message), ADMIN),
    ]


def serve_topic(bus: EventBus, live: LiveUpdates, pages: LazyPages[ChannelsPage]) -> list[Unsubscribe]:
    """Serve the live topic and keep it up to date.

    Returns:
        Functions that stop listening.
    """
    live.add_topic(TOPIC, pages.state(lambda each: each.state), ADMIN)
    return [bus.listen(name, lambda _: live.changed(TOPIC)) for name in CHANGES]
