"""Routes of the page of devices, and its live topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import EventBus, Unsubscribe
from hub.core.surfaces import ADMIN, Route
from hub.gateway.access.devices import EVENT_PAIR_REQUESTED, EVENT_PAIR_RESOLVED, EVENT_PAIR_SETUP
from hub.gateway.connection.presence import Presence
from hub.nodes.registry import EVENT_NODE_CONNECTED, EVENT_NODE_DISCONNECTED
from hub.nodes.surfaces import EVENT_SURFACE_REQUESTED, EVENT_SURFACE_RESOLVED
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.page_routes import form, page

if TYPE_CHECKING:
    from web.devices.connected_page import ConnectedPage
    from web.devices.devices_page import DevicesPage
    from web.devices.voice_page import VoicePage

TOPIC, CONNECTED, VOICE = "devices", "connected", "voice"
RECORDING_BYTES = 524_288
"""Of what is recorded to be tried: 16 seconds."""
CHANGES = (
    *(EVENT_PAIR_REQUESTED, EVENT_PAIR_RESOLVED, EVENT_PAIR_SETUP, EVENT_NODE_CONNECTED, EVENT_NODE_DISCONNECTED),
    *(EVENT_SURFACE_REQUESTED, EVENT_SURFACE_RESOLVED),
)


def routes(
    pages: LazyPages[DevicesPage], connected: LazyPages[ConnectedPage], voice: LazyPages[VoicePage]
) -> list[Route]:
    """Return the routes."""
    return [
        page("/devices/phones", pages.handler(lambda each: each.show), ADMIN),
        form("/devices/pair", pages.handler(lambda each: each.pair), ADMIN),
        form("/devices/reach", pages.handler(lambda each: each.open), ADMIN),
        form("/devices/answer", pages.handler(lambda each: each.answer), ADMIN),
        form("/devices/rename", pages.handler(lambda each: each.rename), ADMIN),
        form("/devices/remove", pages.handler(lambda each: each.remove), ADMIN),
        page("/devices/connected", connected.handler(lambda each: each.show), ADMIN),
        page("/devices/voice", voice.handler(lambda each: each.show), ADMIN),
        form("/devices/voice/say", voice.handler(lambda each: each.say), ADMIN),
        form("/devices/voice/timer", voice.handler(lambda each: each.timer), ADMIN),
        form("/devices/voice/speak", voice.handler(lambda each: each.speak), ADMIN),
        form("/devices/voice/hear", voice.handler(lambda each: each.hear), ADMIN, body_limit=RECORDING_BYTES),
        page("/devices/voice/settings", voice.handler(lambda each: each.settings.show), ADMIN),
        form("/devices/voice/settings", voice.handler(lambda each: each.settings.save), ADMIN),
    ]


def serve_topics(
    bus: EventBus,
    presence: Presence,
    live: LiveUpdates,
    pages: LazyPages[DevicesPage],
    connected: LazyPages[ConnectedPage],
    voice: LazyPages[VoicePage],
) -> list[Unsubscribe]:
    """Serve the live topics and keep them up to date.

    Returns:
        Functions that stop listening.
    """
    live.add_topic(TOPIC, pages.state(lambda each: each.state), ADMIN)
    live.add_topic(CONNECTED, connected.state(lambda each: each.state), ADMIN)
    live.add_topic(VOICE, voice.state(lambda each: each.state), ADMIN)
    return [
        *(bus.listen(name, lambda _: live.changed(TOPIC)) for name in CHANGES),
        presence.listen(lambda: live.changed(CONNECTED)),
    ]
