"""The pages of the timeline, made from the hub's parts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from web.automations.entity_names import EntityNames
from web.automations.trace_view import TraceView
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import Renderer
from web.timeline.happening_view import HappeningView
from web.timeline.list_page import TimelinePage
from web.timeline.one_page import HappeningPage

if TYPE_CHECKING:
    from hub.hub import Hub


class TimelinePages(Struct, frozen=True):
    """The list, and one happening."""

    list: TimelinePage
    one: HappeningPage


def make_timeline_pages(
    hub: Hub, renderer: Renderer, client: MethodClient, pulse: PagePulse, zone: Callable[[], dt.tzinfo]
) -> TimelinePages:
    """Return the pages for a hub that is not in recovery mode."""

    def device_name(entity_id: str) -> str | None:
        state = hub.states.get(entity_id)
        return state.name if state is not None else None

    def automation_name(id: str) -> str:
        return next((each.alias for each in hub.automation.automations.all() if each.id == id), id)

    view = HappeningView(zone, hub.clock.time, device_name)
    return TimelinePages(
        TimelinePage(renderer, client, view, pulse, people=lambda: hub.people, automation_name=automation_name),
        HappeningPage(
            renderer, client, view, pulse, TraceView(renderer, EntityNames(hub.states.get), hub.automation.parts.kinds)
        ),
    )
