"""From an event on the bus to an automation's first action, in a whole hub: how that grows with those that wait.

Everything stands in this process, so that both moments are of one clock; a figure of the bus alone stands beside them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hub.core.context import system_context
from hub.core.services import ServiceCall
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.benchmarks.automations import write_home
from tests.benchmarks.table import Row, row

COUNTS = (1, 1_000, 5_000)
WARM = 200
FIRINGS = 2_000
TURNS = 30
"""After so many turns of the event loop a run of one action has ended."""
EVENT = """\
- id: rule_{n}
  mode: parallel
  max: 100
  triggers:
    - trigger: event
      event_type: bench_{n}
  actions:
    - action: bench.act
"""
MESSAGE = """\
- id: rule_{n}
  mode: parallel
  max: 100
  triggers:
    - {{trigger: message, channel: telegram, peer: p{n}}}
  actions:
    - action: bench.act
"""
SHARED = """\
- id: rule_{n}
  triggers:
    - trigger: event
      event_type: bench_shared
  actions:
    - action: bench.act
"""
SHARED_FIRINGS = 10
Event = tuple[str, dict[str, Any]]


def measure() -> list[Row]:
    """Fire at one, at a thousand and at five thousand automations: of distinct event types, then all of one."""
    rows: list[Row] = []
    for what, form, event, goal in (
        ("distinct event types", EVENT, _named, "< 0.20, flat"),
        ("one event type, told apart by data", MESSAGE, _message, "< 0.25, flat"),
    ):
        for count in COUNTS:
            taken = asyncio.run(_measure(form, count, event))
            rows.append(row(f"trigger → first action, {what}, {count:,} automations", "ms", taken, goal))
    for count, firings, goal in ((1, FIRINGS, ""), (1_000, SHARED_FIRINGS, "< 10 × one")):
        taken = asyncio.run(_measure_shared(count, firings))
        rows.append(row(f"one event that sets off {count:,} automations → first action", "ms", taken, goal))
    return rows


def _named(number: int) -> Event:
    return f"bench_{number}", {"number": number}


def _message(number: int) -> Event:
    peer = f"p{number}"
    data = {
        "channel": "telegram",
        "account": "default",
        "peer": peer,
        "chat_type": "direct",
        "sender": f"telegram:user:{peer}",
        "sender_name": "Somebody",
        "text": "hello",
        "from_owner": True,
        "session_key": "agent:main:main",
        "inbox_id": f"in-{number}",
    }
    return "message_received", data


async def _measure(form: str, count: int, event: Callable[[int], Event]) -> list[float]:
    with TemporaryDirectory(prefix="homarus-bench-") as folder:
        home = Path(folder) / "home"
        write_home(home, form, count)
        hub = Hub(Home(home), host="127.0.0.1", port=0)
        await hub.start()
        try:
            return await _fire(hub, count, event)
        finally:
            await hub.stop()


async def _fire(hub: Hub, count: int, event: Callable[[int], Event]) -> list[float]:
    acted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def act(call: ServiceCall) -> None:
        if not acted.done():
            acted.set_result(time.perf_counter_ns())

    hub.services.register("bench", "act", act)
    taken = []
    for firing in range(WARM + FIRINGS):
        acted = asyncio.get_running_loop().create_future()
        type, data = event(firing * 7 % count)
        begun = time.perf_counter_ns()
        hub.bus.fire(type, data, system_context())
        ended = await acted
        if firing >= WARM:
            taken.append((ended - begun) / 1e6)
        # What comes behind an action belongs to no firing: the next one begins when it is done.
        await _done(hub, f"rule_{firing * 7 % count}")
    return taken


async def _measure_shared(count: int, firings: int) -> list[float]:
    """Return how long the first of all automations took to act, each time all of them had ended."""
    with TemporaryDirectory(prefix="homarus-bench-") as folder:
        home = Path(folder) / "home"
        write_home(home, SHARED, count)
        hub = Hub(Home(home), host="127.0.0.1", port=0)
        await hub.start()
        acted: list[int] = []

        all_acted = asyncio.Event()

        async def act(call: ServiceCall) -> None:
            acted.append(time.perf_counter_ns())
            if len(acted) == count:
                all_acted.set()

        hub.services.register("bench", "act", act)
        taken = []
        try:
            for _ in range(firings):
                acted.clear()
                all_acted.clear()
                begun = time.perf_counter_ns()
                hub.bus.fire("bench_shared", {}, system_context())
                await all_acted.wait()
                taken.append((acted[0] - begun) / 1e6)
                await _done(hub, f"rule_{count - 1}")
            return taken
        finally:
            await hub.stop()


async def _done(hub: Hub, id: str) -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert not hub.automation.automations.get(id).current
