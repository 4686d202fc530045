"""The pages of memory, made from the hub's parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hub.core.tasks import TaskOwner
from web.chat.markdown import Markdown
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import Renderer
from web.memory.diary_page import MemoryDiaryPage
from web.memory.edit_page import MemoryEditPage
from web.memory.facts import FactShelf
from web.memory.facts_page import MemoryFactsPage
from web.memory.files_page import MemoryPage, MemoryPageTools
from web.memory.history_page import MemoryHistoryPage
from web.memory.index_page import MemoryIndexPage
from web.memory.intents_page import MemoryIntentsPage
from web.memory.lists_page import MemoryListsPage
from web.memory.names import MemoryNames
from web.memory.search_page import MemorySearchPage
from web.memory.status import IndexStatus
from web.memory.view import MemoryView

if TYPE_CHECKING:
    from hub.hub import Hub


class MemoryPages(Struct, frozen=True):
    """The pages of memory."""

    facts: MemoryFactsPage
    files: MemoryPage
    edit: MemoryEditPage
    search: MemorySearchPage
    history: MemoryHistoryPage
    index: MemoryIndexPage
    intents: MemoryIntentsPage
    lists: MemoryListsPage
    diary: MemoryDiaryPage


def make_memory_pages(
    hub: Hub,
    renderer: Renderer,
    client: MethodClient,
    pulse: PagePulse,
    tasks: TaskOwner,
) -> MemoryPages:
    """Return the pages for a hub that is not in recovery mode."""
    names = MemoryNames(lambda: hub.people, hub.sessions, hub.agents)
    tools = MemoryPageTools(
        renderer=renderer,
        client=client,
        names=names,
        view=MemoryView(Markdown(), names),
        pulse=pulse,
    )
    shelf = FactShelf()
    facts = MemoryFactsPage(tools, shelf)
    return MemoryPages(
        facts=facts,
        files=MemoryPage(tools),
        edit=MemoryEditPage(tools, facts),
        search=MemorySearchPage(tools),
        history=MemoryHistoryPage(tools),
        index=MemoryIndexPage(tools, IndexStatus(tools.view, tools.moment), tasks),
        intents=MemoryIntentsPage(tools),
        lists=MemoryListsPage(tools, shelf),
        diary=MemoryDiaryPage(tools, shelf),
    )
