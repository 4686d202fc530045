"""The pages of automations, made from the hub's parts, and kept live by what happens to automations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hub.automation.automation import EVENT_FINISHED, EVENT_NOT_RUN, EVENT_TRIGGERED
from hub.automation.automations import EVENT_RELOADED
from hub.core.events import Event, Unsubscribe
from web.live import Live
from web.pages.automation_detail import READ_TOPIC, AutomationPage
from web.pages.automation_edit import AutomationEditPage
from web.pages.automations import AutomationsPage
from web.render import Renderer

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


def keep_live(hub: Hub, live: Live, pages: AutomationPages) -> list[Unsubscribe]:
    """Serve the live topics of automations, and tell them what happens.

    Returns:
        Functions that end it.
    """
    live.add_topic("automations", pages.list.state)
    live.add_topic("automation", pages.one.state)
    live.add_topic(READ_TOPIC, pages.one.state)
    live.add_topic("automation-runs", pages.one.runs_state)

    def happened(event: Event) -> None:
        if event.type == EVENT_FINISHED:
            pages.list.ended(event.data["automation_id"], event.data["outcome"])
        live.changed_all("automations")
        for id in event.data.get("changed") or [event.data.get("automation_id")]:
            for kind in ("automation", READ_TOPIC, "automation-runs"):
                live.changed(f"{kind}:{id}")

    names = (EVENT_TRIGGERED, EVENT_FINISHED, EVENT_NOT_RUN, EVENT_RELOADED)
    return [hub.bus.listen(name, happened) for name in names]
