"""Events for clients about automatic actions."""

from __future__ import annotations

from pathlib import Path

from hub.gateway.push.schedule_events import ScheduleEvents
from tests.gateway.rig import connected, running


async def test_clients_are_told_of_jobs_heartbeats_and_words(tmp_path: Path) -> None:
    said: list[tuple[str, str, str]] = []
    async with running(tmp_path) as rig:
        events = ScheduleEvents(rig.bus, rig.gateway.broadcast, rig.clock, lambda *told: said.append(told))
        async with connected(rig) as client:
            rig.bus.fire("scheduled", {"action": "added", "id": "cake", "made_by": None})
            rig.bus.fire(
                "automation_finished", {"automation_id": "cake", "run_id": "r", "outcome": "failed", "error": "no"}
            )
            beat = {"agent_id": "main", "status": "alert", "text": "secret", "duration_ms": 5, "ts_ms": 1, "to": "42"}
            rig.bus.fire("heartbeat", beat)
            rig.bus.fire("session_said", {"session_key": "agent:main:main", "text": "hello", "entry_id": "e"})

            added = (await client.event("cron"))["payload"]
            finished = (await client.event("cron"))["payload"]
            heartbeat = (await client.event("heartbeat"))["payload"]
        events.close()

    assert (added["jobId"], added["action"]) == ("cake", "added")
    assert (finished["action"], finished["status"], finished["error"]) == ("finished", "error", "no")
    assert heartbeat == {"ts": 1, "agentId": "main", "status": "sent", "durationMs": 5}
    assert said == [("inject-e", "agent:main:main", "hello")]
