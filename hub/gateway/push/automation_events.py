"""Pushes the events of automations to clients."""

from __future__ import annotations

from hub.core.clock import Clock
from hub.core.events import Event, EventBus
from hub.core.surfaces import READ, Push
from hub.gateway.push.broadcast import Broadcast

PHASES = {
    "automation_triggered": "triggered",
    "automation_finished": "finished",
    "automation_not_run": "not_run",
    "automation_reloaded": "reloaded",
}
AUTOMATION = "automation"


class AutomationEvents:
    """Pushes `automation` events: the `phase` and the data of the event on the bus.

    A client that reads slowly may miss one; it asks for the list then.

    Args:
        bus: Fires its events.
        broadcast: The clients.
    """

    def __init__(self, bus: EventBus, broadcast: Broadcast, clock: Clock) -> None:
        self._broadcast = broadcast
        self._clock = clock
        self._listening = [bus.listen(type, self._automation) for type in PHASES]

    def close(self) -> None:
        """Stop pushing events."""
        for unsubscribe in self._listening:
            unsubscribe()
        self._listening.clear()

    def _automation(self, event: Event) -> None:
        if not self._broadcast.readers:
            return
        payload = {"phase": PHASES[event.type], **event.data, "ts": self._now_ms()}
        payload.pop("told", None)  # for the history alone
        self._broadcast.push(Push(AUTOMATION, payload, scope=READ, droppable=True))

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)
