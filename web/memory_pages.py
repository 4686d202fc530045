"""The pages of memory, made from the hub's parts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hub.core.tasks import TaskOwner
from web.door import Door
from web.markdown import Markdown
from web.memory_names import MemoryNames
from web.memory_pulse import MemoryPulse
from web.memory_status import IndexStatus
from web.memory_view import MemoryView
from web.pages.memory import MemoryPage, MemoryTools
from web.pages.memory_edit import MemoryEditPage
from web.pages.memory_history import MemoryHistoryPage
from web.pages.memory_index import MemoryIndexPage
from web.pages.memory_intents import MemoryIntentsPage
from web.pages.memory_search import MemorySearchPage
from web.render import Renderer

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


def make_memory_pages(
    hub: Hub, renderer: Renderer, door: Door, pulse: MemoryPulse, tasks: TaskOwner, zone: Callable[[], ZoneInfo]
) -> MemoryPages:
    """Return the pages for a hub that is not in recovery mode."""
    names = MemoryNames(lambda: hub.people, hub.sessions, hub.agents)
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
    )
