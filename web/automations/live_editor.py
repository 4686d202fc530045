"""What keeps the workshop's open pages live: their topics, and what of the hub's events is told to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.agent.intents.intents import EVENT_CHANGED as INTENTS_CHANGED, EVENT_FIRED as INTENT_FIRED
from hub.automation.engine.automation import EVENT_FINISHED, EVENT_NOT_RUN, EVENT_TRIGGERED
from hub.automation.engine.automations import EVENT_RELOADED
from hub.core.events import Event, Unsubscribe
from hub.core.states import EVENT_STATE_CHANGED
from hub.gateway.calls.contract import ADMIN
from hub.memory.contract import EVENT_CHANGED as MEMORY_CHANGED
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.texts import RUN_END
from web.core.urls import AUTOMATION_READ_TOPIC
from web.memory.pulse import TOPIC as MEMORY_TOPIC, MemoryPulse

if TYPE_CHECKING:
    from hub.hub import Hub
    from web.automations.editor_pages import EditorPages


def keep_workshop_live(
    hub: Hub, live: LiveUpdates, pages: LazyPages[EditorPages], pulse: MemoryPulse
) -> list[Unsubscribe]:
    """Serve the live topics of the workshop, and tell them what happens.

    Returns:
        Functions that end it.
    """
    live.add_topic("scripts", pages.state(lambda each: each.scripts.state))
    live.add_topic("states", pages.state(lambda each: each.developer.state_rows), ADMIN)
    live.add_topic("events", pages.state(lambda each: each.developer.event_rows), ADMIN)
    live.add_topic("automations", pages.state(lambda each: each.automations.list.state))
    live.add_topic("automation", pages.state(lambda each: each.automations.one.state))
    live.add_topic(AUTOMATION_READ_TOPIC, pages.state(lambda each: each.automations.one.state))
    live.add_topic("automation-runs", pages.state(lambda each: each.automations.one.runs_state))
    live.add_topic(MEMORY_TOPIC, pulse.state)

    def state_changed(event: Event) -> None:
        if str(event.data["entity_id"]).startswith("script."):
            live.changed("scripts")
        live.changed_all("states")

    def automation_changed(event: Event) -> None:
        if event.type == EVENT_FINISHED and pages.made is not None:
            pages.made.automations.list.ended(event.data["automation_id"], event.data["outcome"])
        live.changed_all("automations")
        for id in event.data.get("changed") or [event.data.get("automation_id")]:
            for kind in ("automation", AUTOMATION_READ_TOPIC, "automation-runs"):
                live.changed(f"{kind}:{id}")

    def memory_changed(event: Event) -> None:
        pulse.beat()

    automations = (EVENT_TRIGGERED, EVENT_FINISHED, EVENT_NOT_RUN, EVENT_RELOADED)
    memory = (MEMORY_CHANGED, INTENTS_CHANGED, INTENT_FIRED, RUN_END)
    return [
        hub.bus.listen(EVENT_STATE_CHANGED, state_changed),
        *(hub.bus.listen(name, automation_changed) for name in automations),
        *(hub.bus.listen(name, memory_changed) for name in memory),
    ]
