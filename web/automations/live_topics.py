"""Live topics of the pages of automations and scripts, and the events that change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hub.automation.engine.automation import EVENT_NOT_RUN
from hub.automation.engine.automation_runs import EVENT_FINISHED, EVENT_TRIGGERED
from hub.automation.engine.automations import EVENT_RELOADED
from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.states import EVENT_STATE_CHANGED
from web.core.lazy_pages import LazyPages
from web.core.live import Frame, LiveUpdates
from web.core.urls import AUTOMATION_READ_TOPIC

if TYPE_CHECKING:
    from web.automations.page_set import AutomationPages

STATES_TOPIC = "automation-states"
"""Watched by editors, whose cards tell whether conditions hold: they ask again when a state changed."""


async def _no_state(topic: str, language: str) -> Sequence[Frame]:
    """Return the frame that says that something changed; what it means depends on what is being edited."""
    return ({"t": "cards"},)


def serve_topics(bus: EventBus, live: LiveUpdates, pages: LazyPages[AutomationPages]) -> list[Unsubscribe]:
    """Serve the topics and keep them up to date.

    Returns:
        Functions that stop listening.
    """
    live.add_topic("scripts", pages.state(lambda each: each.scripts.state))
    live.add_topic("automations", pages.state(lambda each: each.list.state))
    live.add_topic("automation", pages.state(lambda each: each.detail.state))
    live.add_topic(AUTOMATION_READ_TOPIC, pages.state(lambda each: each.detail.state))
    live.add_topic("automation-runs", pages.state(lambda each: each.detail.runs_state))

    live.add_topic(STATES_TOPIC, _no_state)

    def state_changed(event: Event) -> None:
        if live.is_watched(STATES_TOPIC):
            live.changed(STATES_TOPIC)
        if str(event.data["entity_id"]).startswith("script."):
            live.changed("scripts")

    def automation_changed(event: Event) -> None:
        if event.type == EVENT_FINISHED and pages.made is not None:
            pages.made.list.ended(event.data["automation_id"], event.data["outcome"])
        live.changed_all("automations")
        for id in event.data.get("changed") or [event.data.get("automation_id")]:
            for kind in ("automation", AUTOMATION_READ_TOPIC, "automation-runs"):
                live.changed(f"{kind}:{id}")

    automations = (EVENT_TRIGGERED, EVENT_FINISHED, EVENT_NOT_RUN, EVENT_RELOADED)
    return [
        bus.listen(EVENT_STATE_CHANGED, state_changed),
        *(bus.listen(name, automation_changed) for name in automations),
    ]
