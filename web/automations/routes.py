"""Routes of the pages of automations, scripts and blueprints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.surfaces import ADMIN, Route
from web.core.lazy_pages import LazyPages
from web.core.page_routes import TEXT_LIMIT_BYTES, form, page

if TYPE_CHECKING:
    from web.automations.page_set import AutomationPages


def routes(pages: LazyPages[AutomationPages]) -> list[Route]:
    """Return the routes."""
    on = pages.handler
    return [
        page("/automations", on(lambda each: each.list.show)),
        form("/automations/turn", on(lambda each: each.list.turn)),
        page("/automations/new", on(lambda each: each.edit.new), ADMIN),
        page("/automations/trace-file", on(lambda each: each.detail.trace_file)),
        page("/automations/reminders", on(lambda each: each.reminders.show)),
        form("/automations/reminders/add", on(lambda each: each.reminders.add), ADMIN),
        form("/automations/reminders/done", on(lambda each: each.reminders.done), ADMIN),
        form("/automations/reminders/snooze", on(lambda each: each.reminders.snooze), ADMIN),
        page("/automations/{id}", on(lambda each: each.detail.show)),
        page("/automations/{id}/traces", on(lambda each: each.detail.traces)),
        page("/automations/{id}/edit", on(lambda each: each.edit.show), ADMIN),
        form("/automations/run", on(lambda each: each.detail.run)),
        form("/automations/import-trace", on(lambda each: each.detail.import_trace)),
        form("/automations/duplicate", on(lambda each: each.detail.duplicate), ADMIN),
        form("/automations/delete", on(lambda each: each.detail.delete), ADMIN),
        form("/automations/check", on(lambda each: each.edit.check), ADMIN, TEXT_LIMIT_BYTES),
        form("/automations/edit", on(lambda each: each.edit.edit), ADMIN, TEXT_LIMIT_BYTES),
        form("/automations/describe", on(lambda each: each.edit.describe), ADMIN),
        page("/blueprints", on(lambda each: each.blueprints.show)),
        page("/blueprints/use", on(lambda each: each.blueprints.use), ADMIN),
        form("/blueprints/use", on(lambda each: each.blueprints.make), ADMIN, TEXT_LIMIT_BYTES),
        form("/blueprints/import", on(lambda each: each.blueprints.import_), ADMIN, TEXT_LIMIT_BYTES),
        form("/blueprints/update", on(lambda each: each.blueprints.update), ADMIN),
        form("/blueprints/remove", on(lambda each: each.blueprints.remove), ADMIN),
        page("/scripts", on(lambda each: each.scripts.show)),
        page("/scripts/show", on(lambda each: each.scripts.one)),
        page("/scripts/edit", on(lambda each: each.script_edit.show), ADMIN),
        page("/scripts/new", on(lambda each: each.script_edit.new), ADMIN),
        form("/scripts/run", on(lambda each: each.scripts.run)),
        form("/scripts/check", on(lambda each: each.script_edit.check), ADMIN, TEXT_LIMIT_BYTES),
        form("/scripts/edit", on(lambda each: each.script_edit.edit), ADMIN, TEXT_LIMIT_BYTES),
        form("/scripts/delete", on(lambda each: each.scripts.delete), ADMIN),
    ]
