"""The live topic of memory, and the events that change it."""

from __future__ import annotations

from hub.agent.intents.intents import EVENT_CHANGED as INTENTS_CHANGED, EVENT_FIRED as INTENT_FIRED
from hub.core.events import Event, EventBus, Unsubscribe
from hub.memory.contract import EVENT_CHANGED as MEMORY_CHANGED
from web.core.live import LiveUpdates
from web.core.pulse import PagePulse
from web.core.texts import RUN_END


def serve_topics(bus: EventBus, live: LiveUpdates, pulse: PagePulse) -> list[Unsubscribe]:
    """Serve the topic and keep it up to date.

    Returns:
        Functions that stop listening.
    """
    live.add_topic(pulse.topic, pulse.state)

    def memory_changed(event: Event) -> None:
        pulse.beat()

    return [bus.listen(name, memory_changed) for name in (MEMORY_CHANGED, INTENTS_CHANGED, INTENT_FIRED, RUN_END)]
