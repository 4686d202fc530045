"""Routes of the pages of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.surfaces import ADMIN, WRITE, Route
from web.core.lazy_pages import LazyPages
from web.core.page_routes import TEXT_LIMIT_BYTES, form, page

if TYPE_CHECKING:
    from web.memory.page_set import MemoryPages


def routes(pages: LazyPages[MemoryPages]) -> list[Route]:
    """Return the routes."""
    on = pages.handler
    return [
        page("/memory", on(lambda each: each.facts.show)),
        page("/memory/files", on(lambda each: each.files.show)),
        page("/memory/file", on(lambda each: each.files.file)),
        page("/memory/search", on(lambda each: each.search.show)),
        page("/memory/diary", on(lambda each: each.diary.show)),
        page("/memory/lists", on(lambda each: each.lists.show)),
        page("/memory/history", on(lambda each: each.history.show)),
        page("/memory/index", on(lambda each: each.index.show)),
        page("/memory/intents", on(lambda each: each.intents.show)),
        page("/memory/edit", on(lambda each: each.edit.edit), WRITE),
        page("/memory/new", on(lambda each: each.edit.new), WRITE),
        page("/memory/forget", on(lambda each: each.edit.forget_form), WRITE),
        form("/memory/save", on(lambda each: each.edit.save), WRITE, TEXT_LIMIT_BYTES),
        form("/memory/delete", on(lambda each: each.edit.delete)),
        form("/memory/remember", on(lambda each: each.edit.remember)),
        form("/memory/forget", on(lambda each: each.edit.forget)),
        form("/memory/lists/add", on(lambda each: each.lists.add)),
        form("/memory/lists/tick", on(lambda each: each.lists.tick)),
        form("/memory/undo", on(lambda each: each.history.undo)),
        form("/memory/intents/add", on(lambda each: each.intents.add)),
        form("/memory/intents/remove", on(lambda each: each.intents.remove)),
        form("/memory/index", on(lambda each: each.index.act), ADMIN),
    ]
