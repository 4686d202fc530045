"""The pages of the timeline, made from the hub's parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hub.entities.media_files import MediaFiles
from web.automations.entity_names import EntityNames
from web.automations.trace_view import TraceView
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import Renderer
from web.timeline.happening_view import HappeningView
from web.timeline.list_page import TimelinePage
from web.timeline.one_page import HappeningPage
from web.timeline.pictures import KeptPictures

if TYPE_CHECKING:
    from hub.hub import Hub


class TimelinePages(Struct, frozen=True):
    """The list, and one happening."""

    list: TimelinePage
    one: HappeningPage


def make_timeline_pages(hub: Hub, renderer: Renderer, client: MethodClient, pulse: PagePulse) -> TimelinePages:
    """Return the pages for a hub that is not in recovery mode."""

    def automation_name(id: str) -> str:
        return next((each.alias for each in hub.automation.automations.all() if each.id == id), id)

    def agent_name(id: str) -> str:
        return next((each.name for each in hub.agents.all() if each.id == id and each.name), id)

    names = EntityNames(hub.states.get, renderer.local)
    view = HappeningView(renderer, names, agent_name)
    pictures = KeptPictures(hub.workspaces.root, MediaFiles(hub.home.path).root)
    return TimelinePages(
        TimelinePage(
            renderer, client, view, pulse, pictures, people=lambda: hub.people, automation_name=automation_name
        ),
        HappeningPage(renderer, client, view, pulse, pictures, TraceView(renderer, names, hub.automation.parts.kinds)),
    )
