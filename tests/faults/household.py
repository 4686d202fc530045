"""Days of a household on a clock that is moved: a hub that is written to, connected to, reloaded and backed up.

`python -m tests.faults.household` reads one line of JSON: its `home` and its `hours`. Then it writes lines: every ten
minutes of its time it asks what was said to it and waits for a line with the number of messages so far; after each hour
it says what it holds, and at the end what has fired.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from hub.bootstrap import StartOptions, run
from hub.core.clock import ManualClock
from hub.core.context import system_context
from hub.core.events import Event
from hub.hub import Hub
from hub.security.hub_token import hub_token
from tests.gateway.rig import connected
from tests.until import until

BEGINS_S = 1_792_875_600.0
"""2026-10-24, 23:00 in Berlin: an hour comes twice in the first night."""
STEP_S = 60.0
SPOKEN_TO_EVERY = 10
ROOMS = 8
WARM = 25
BRIEFING = "What does the day bring?"
AUTOMATIONS = f"""\
- id: quarter
  alias: Quarter of an hour
  triggers: [{{trigger: time_pattern, minutes: /15}}]
  actions: [{{event: quarter_passed}}]
- id: briefing
  alias: Briefing
  triggers: [{{trigger: cron, expression: 30 7 * * *}}]
  actions:
    - action: agent.run
      data: {{message: "{BRIEFING}", session: isolated, announce: {{channel: numbers, account: a, to: peer-a}}}}
- id: warm
  alias: Warm
  triggers: [{{trigger: numeric_state, entity_id: sensor.room_1, above: {WARM}}}]
  actions: [{{event: room_became_warm}}]
- id: heartbeat
  alias: Heartbeat
  triggers: [{{trigger: heartbeat, every: 30m}}]
  actions: [{{action: agent.heartbeat}}]
"""
CONFIGURATION = """\
hub: {{name: Household, time_zone: Europe/Berlin}}
people: [{{id: ada, name: Ada, owner: true, identities: ["numbers:user:peer-a"]}}]
models: {{default: test/model, providers: {{test: {{api: openai, base_url: "{model}"}}}}}}
memory: {{embeddings: {{provider: none}}}}
mqtt: {{broker: 127.0.0.1, port: {mqtt}}}
numbers: {{port: {numbers}}}
session: {{open_transcripts: 8}}
backup: {{schedule: {{every: day, at: "03:30"}}}}
automation: !include automations.yaml
"""
"""With the address of a model, and the ports of a broker and of the numbers."""
COUNTED = ("quarter_passed", "room_became_warm")
OPEN = (
    "SELECT (SELECT count(*) FROM inbox WHERE state IN ('received', 'queued'))"
    " + (SELECT count(*) FROM runs WHERE state IN ('queued', 'running'))"
    " + (SELECT count(*) FROM outbox WHERE state IN ('queued', 'pending', 'sending')), (SELECT count(*) FROM inbox)"
)
HEARTBEATS = "SELECT count(*) FROM runs WHERE session_key = 'agent:main:cron:heartbeat'"
_PAGES = ("/", "/chat", "/timeline", "/automations", "/devices", "/memory", "/settings")


class Household:
    """What is done to a hub.

    Args:
        hours: How long.
        clock: The clock of the hub.
    """

    def __init__(self, hours: int, clock: ManualClock) -> None:
        self._hours = hours
        self._clock = clock
        self._said = 0
        self._fired: Counter[str] = Counter()

    async def live(self, hub: Hub) -> None:
        """Live these hours, and let the hub stop."""
        self._hub = hub
        self.url = hub.gateway.url
        self.token = hub_token(hub.home).reveal()
        for type in COUNTED:
            hub.bus.listen(type, self._count)
        await self._announce_rooms()
        for step in range(self._hours * 60):
            if step % SPOKEN_TO_EVERY == 0:
                tell({"step": step})
                self._said = int(await asyncio.to_thread(sys.stdin.readline))
            await self._report_rooms(step)
            if step % 60 == 30:
                await self._visit(step // 60)
            await self._pass(BEGINS_S + (step + 1) * STEP_S - self._clock.time())
            if step % 60 == 59:
                tell({"holds": self._holds()})
        await self._pass(1.0)  # what is due at the end begins with it
        await until(lambda: self._fired[COUNTED[0]] >= self._hours * 4)
        while (await self._row(HEARTBEATS))[0] < self._hours * 2:
            await self._pass(1.0)
        tell({"fired": dict(self._fired), "backups": len(list((hub.home.path / "backups").glob("homarus-*.gz")))})
        os.kill(os.getpid(), signal.SIGTERM)

    def _count(self, event: Event) -> None:
        self._fired[event.type] += 1

    async def _publish(self, topic: str, payload: Any, *, retain: bool = False) -> None:
        data = {"topic": topic, "payload": json.dumps(payload), "retain": retain}
        await self._hub.services.call("mqtt", "publish", data, context=system_context())

    async def _announce_rooms(self) -> None:
        for room in range(ROOMS):
            config = {"name": f"Room {room}", "unique_id": f"room-{room}", "state_topic": f"rooms/{room}"}
            await self._publish(f"homeassistant/sensor/room_{room}/config", config, retain=True)
        await until(lambda: self._hub.states.get(f"sensor.room_{ROOMS - 1}"))

    async def _report_rooms(self, step: int) -> None:
        """Let each room have another temperature; the second is warm once a day."""
        for room in range(ROOMS):
            value = WARM + 1 if room == 1 and step % 1440 >= 900 else (step + room) % 20
            await self._publish(f"rooms/{room}", value)
            await until(lambda room=room, value=value: self._state(room) == str(value))  # type: ignore[misc]

    def _state(self, room: int) -> str:
        state = self._hub.states.get(f"sensor.room_{room}")
        return "" if state is None else state.state

    async def _visit(self, hour: int) -> None:
        """Look at the dashboard, speak in a conversation of one's own, touch the configuration, and leave."""
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {self.token}"}) as web:
            for page in _PAGES:
                async with web.get(f"{self.url}{page}") as answer:
                    assert answer.status == 200, (page, answer.status)
                    await answer.read()
        async with connected(self) as client:
            key = f"agent:main:visit-{hour}"
            sent = {"sessionKey": key, "message": f"hello {hour}", "idempotencyKey": key}
            assert (await client.call("chat.send", sent))["ok"]
            await self._pass(1.0)
            assert (await client.call("chat.history", {"sessionKey": key}))["ok"]
        if hour % 6 == 5:
            path = self._hub.home.path / "configuration.yaml"
            path.write_text(path.read_text(encoding="utf-8").replace("Household", f"Household {hour}", 1), "utf-8")

    async def _pass(self, seconds: float) -> None:
        """Let time pass, and more of it as long as something goes on."""
        await self._clock.advance(max(0.0, seconds))
        async with asyncio.timeout(60):
            while not await self._is_quiet():
                await self._clock.advance(0.5)
                await asyncio.sleep(0.002)

    async def _is_quiet(self) -> bool:
        open, heard = await self._row(OPEN)
        return bool(open == 0 and heard >= self._said)

    async def _row(self, sql: str) -> tuple[int, ...]:
        (row,) = await self._hub.db.read(lambda connection: connection.execute(sql).fetchall())
        return tuple(row)

    def _holds(self) -> dict[str, int]:
        process = psutil.Process()
        gc.collect()
        return {
            "memory": process.memory_info().rss,
            "files": process.num_fds(),
            "processes": len(process.children(recursive=True)),
            "threads": threading.active_count(),
            "tasks": len(asyncio.all_tasks()),
            "listeners": sum(self._hub.bus.listener_counts().values()),
            "timers": self._clock.sleepers,
        }


def tell(what: dict[str, Any]) -> None:
    """Write a line."""
    print(json.dumps(what), flush=True)


def main() -> int:
    """Live as the first line says."""
    told = json.loads(sys.stdin.readline())
    clock = ManualClock(BEGINS_S)
    household = Household(told["hours"], clock)
    return run(StartOptions(Path(told["home"]), port=0, clock=clock, prepare=household.live))


if __name__ == "__main__":
    sys.exit(main())
