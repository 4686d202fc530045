"""An integration that benchmarks put into a home: tells from inside how long the loop was held, what a search takes.

Nothing of the hub's own is here, and no hub but one that is measured has it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from typing import Any

from hub.core.schema import Optional, Required, Schema
from hub.core.services import ResponseMode, ServiceCall
from hub.memory.scope import MemoryScope

DOMAIN = "hub_probe"
STEP_S = 0.005
WATCHED_S = 0.02
"""Held for longer than this, the loop is asked what it does."""
PLACES_LIMIT = 20


class LoopWatch:
    """Wakes up every 5 ms and notes how late it was, and how much of that the loop's own thread had computed."""

    def __init__(self) -> None:
        self._thread_id = threading.get_ident()
        self._due = time.perf_counter()
        self._task = asyncio.get_running_loop().create_task(self._tick())
        self._ended = threading.Event()
        self.reset()
        threading.Thread(target=self._look, name="loop watch", daemon=True).start()

    def reset(self) -> None:
        """Start over."""
        self.late_s = self.computed_s = 0.0
        self.places: list[str] = []

    def stop(self) -> None:
        """End."""
        self._task.cancel()
        self._ended.set()

    async def _tick(self) -> None:
        computed = time.thread_time()
        while True:
            self._due = time.perf_counter() + STEP_S
            await asyncio.sleep(STEP_S)
            self.late_s = max(self.late_s, time.perf_counter() - self._due)
            before, computed = computed, time.thread_time()
            self.computed_s = max(self.computed_s, computed - before)

    def _look(self) -> None:
        """Say where the loop is while it is held, from a thread beside it."""
        while not self._ended.wait(STEP_S):
            late_s = time.perf_counter() - self._due
            frame = sys._current_frames().get(self._thread_id)
            if late_s < WATCHED_S or frame is None or frame.f_code.co_name == "select":
                continue  # in time, or nobody holds it: the machine does other things
            if len(self.places) < PLACES_LIMIT:
                stack = traceback.extract_stack(frame, limit=6)
                told = " > ".join(f"{each.filename.rpartition('/')[2]}:{each.lineno} {each.name}" for each in stack)
                self.places.append(f"{late_s * 1_000:.0f} ms in {told}")


async def setup(host: Any, config: Any) -> None:
    """Bring `hub_probe.loop` and `hub_probe.search`."""
    watch = LoopWatch()

    async def loop(call: ServiceCall) -> dict[str, Any]:
        found = {"late_ms": watch.late_s * 1e3, "computed_ms": watch.computed_s * 1e3, "places": watch.places}
        watch.reset()
        return found

    async def search(call: ServiceCall) -> dict[str, Any]:
        taken, engines = [], []
        for query in call.data["queries"]:
            begun = time.perf_counter()
            answer = await host.memory.require().search(
                query, agent_id=call.data["agent"], scope=MemoryScope(None, private=True, shared=True)
            )
            taken.append((time.perf_counter() - begun) * 1_000)
            engines.append("+".join(answer.engines))
        return {"ms": taken, "engines": engines}

    host.on_unload(watch.stop)
    host.services.register("loop", loop, Schema({}), ResponseMode.ONLY)
    asked = Schema({Required("queries"): [str], Optional("agent", default="main"): str})
    host.services.register("search", search, asked, ResponseMode.ONLY)
