"""Pushes `cron`, `heartbeat`, and messages of automations to clients."""

from __future__ import annotations

from collections.abc import Callable

from hub.automation.editing.schedule_editor import EVENT_SCHEDULED
from hub.automation.engine.automation_runs import EVENT_FINISHED, EVENT_TRIGGERED
from hub.automation.heartbeat.heartbeat_shape import heartbeat_payload
from hub.automation.heartbeat.heartbeats import EVENT_HEARTBEAT
from hub.automation.services.delivery import EVENT_SESSION_SAID
from hub.core.clock import Clock
from hub.core.events import Event, EventBus
from hub.core.surfaces import READ, Push
from hub.gateway.push.broadcast import Broadcast

_FINE = frozenset({"finished", "stopped"})


class ScheduleEvents:
    """Pushes the events of schedules to clients.

    Args:
        bus: Fires its events.
        broadcast: The clients.
        said: Shows words in a conversation, given an id, the session's key and the words.
    """

    def __init__(
        self, bus: EventBus, broadcast: Broadcast, clock: Clock, said: Callable[[str, str, str], None]
    ) -> None:
        self._broadcast = broadcast
        self._clock = clock
        self._say = said
        self._listening = [
            bus.listen(EVENT_SCHEDULED, self._scheduled),
            bus.listen(EVENT_TRIGGERED, self._triggered),
            bus.listen(EVENT_FINISHED, self._finished),
            bus.listen(EVENT_HEARTBEAT, self._heartbeat),
            bus.listen(EVENT_SESSION_SAID, self._said),
        ]

    def close(self) -> None:
        """Stop pushing events."""
        for unsubscribe in self._listening:
            unsubscribe()
        self._listening.clear()

    def _scheduled(self, event: Event) -> None:
        self._cron(event.data["id"], event.data["action"])

    def _triggered(self, event: Event) -> None:
        self._cron(
            event.data["automation_id"], "started", runId=event.data.get("run_id"), jobName=event.data.get("name")
        )

    def _finished(self, event: Event) -> None:
        data = event.data
        told = {"runId": data.get("run_id"), "status": "ok" if data.get("outcome") in _FINE else "error"}
        if data.get("error"):
            told["error"] = str(data["error"])
        self._cron(data["automation_id"], "finished", **told)

    def _cron(self, job_id: str, action: str, **more: object) -> None:
        if not self._broadcast.readers:
            return
        payload = {"jobId": job_id, "action": action, "ts": int(self._clock.time() * 1000), **more}
        self._broadcast.push(Push("cron", payload, scope=READ, droppable=True))

    def _heartbeat(self, event: Event) -> None:
        # Everybody sees that it beat; what it said is for those who ask with `last-heartbeat`.
        self._broadcast.push(
            Push("heartbeat", heartbeat_payload(event.data, preview=False), scope=None, droppable=True)
        )

    def _said(self, event: Event) -> None:
        data = event.data
        self._say(f"inject-{data['entry_id']}", data["session_key"], data["text"])
