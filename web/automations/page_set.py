"""The pages of automations, made from the hub's parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from web.automations.detail_page import AutomationPage
from web.automations.edit_page import AutomationEditPage
from web.automations.list_page import AutomationsPage
from web.core.render import Renderer

if TYPE_CHECKING:
    from hub.hub import Hub

SUGGESTED_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class AutomationPages:
    """The pages of automations."""

    list: AutomationsPage
    one: AutomationPage
    edit: AutomationEditPage


def make_automation_pages(hub: Hub, renderer: Renderer) -> AutomationPages:
    """Return the pages for a hub that is not in recovery mode."""
    house = hub.automation

    async def duplicate(id: str) -> str:
        return (await house.editor.duplicate(id)).written.id

    shown = AutomationsPage(
        renderer, house.automations, house.traces, house.spending, hub.redactor.redact, hub.clock.time
    )
    one = AutomationPage(
        renderer,
        shown,
        house.automations,
        house.traces,
        house.parts,
        hub.redactor.redact_data,
        duplicate,
        house.editor.delete,
    )
    edit = AutomationEditPage(
        renderer,
        shown,
        house.automations,
        house.editor,
        lambda: [state.entity_id for state in hub.states.all()[:SUGGESTED_LIMIT]],
        lambda: [service.id for service in hub.services.all()[:SUGGESTED_LIMIT]],
    )
    return AutomationPages(shown, one, edit)
