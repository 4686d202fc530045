"""The pages of memory, made from the hub's parts, and told when memory changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hub.agent.intents.intents import EVENT_CHANGED as INTENTS_CHANGED, EVENT_FIRED as INTENT_FIRED
from hub.core.events import Event, Unsubscribe
from hub.core.tasks import TaskOwner
from hub.memory.contract import EVENT_CHANGED
from web.door import Door
from web.live import Live
from web.markdown import Markdown
from web.memory_names import MemoryNames
from web.memory_pulse import TOPIC, MemoryPulse
from web.memory_status import IndexStatus
from web.memory_view import MemoryView
from web.pages.memory import MemoryPage, MemoryTools
from web.pages.memory_edit import MemoryEditPage
from web.pages.memory_history import MemoryHistoryPage
from web.pages.memory_index import MemoryIndexPage
from web.pages.memory_intents import MemoryIntentsPage
from web.pages.memory_search import MemorySearchPage
from web.render import Renderer
from web.texts import RUN_END

if TYPE_CHECKING:
    from collections.abc import Callable

    from hub.hub import Hub


@dataclass(frozen=True, slots=True)
class MemoryPages:
    """The pages of memory."""

    list: MemoryPage
    edit: MemoryEditPage
    search: MemorySearchPage
    history: MemoryHistoryPage
    index: MemoryIndexPage
    intents: MemoryIntentsPage
    pulse: MemoryPulse


def make_memory_pages(
    hub: Hub, renderer: Renderer, door: Door, live: Live, tasks: TaskOwner, zone: Callable[[], ZoneInfo]
) -> MemoryPages:
    """Return the pages for a hub that is not in recovery mode."""
    names = MemoryNames(lambda: hub.people, hub.sessions, hub.agents)
    pulse = MemoryPulse(live.changed)
    tools = MemoryTools(
        renderer=renderer,
        door=door,
        names=names,
        view=MemoryView(Markdown(), names),
        pulse=pulse,
        today=lambda: datetime.fromtimestamp(hub.clock.time(), zone()).date(),
    )
    return MemoryPages(
        list=MemoryPage(tools),
        edit=MemoryEditPage(tools),
        search=MemorySearchPage(tools),
        history=MemoryHistoryPage(tools),
        index=MemoryIndexPage(tools, IndexStatus(tools.view, tools.moment), tasks),
        intents=MemoryIntentsPage(tools),
        pulse=pulse,
    )


def keep_memory_live(hub: Hub, live: Live, pages: MemoryPages) -> list[Unsubscribe]:
    """Serve the live topic of memory, and tell it what happens.

    Returns:
        Functions that end it.
    """
    live.add_topic(TOPIC, pages.pulse.state)

    def happened(event: Event) -> None:
        pages.pulse.beat()

    return [hub.bus.listen(name, happened) for name in (EVENT_CHANGED, INTENTS_CHANGED, INTENT_FIRED, RUN_END)]
