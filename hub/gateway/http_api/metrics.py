"""What the hub counts about itself, from the first request for `/metrics` on; before that nothing is counted.

Labels are names of channels, models, tools and states: no words and no addresses of people.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from msgspec import Struct

from hub import __version__
from hub.agent.runner import EVENT_RUN_TRACED, AgentRunner
from hub.automation.engine.automation import EVENT_NOT_RUN
from hub.automation.engine.automation_runs import EVENT_FINISHED
from hub.core.clock import Clock
from hub.core.events import Event, EventBus
from hub.core.first_use import FirstUse
from hub.core.repairs import Repairs
from hub.core.states import StateMachine
from hub.core.surfaces import METRICS, HttpCall, Route
from hub.core.tasks import TaskOwner
from hub.gateway.connection.server import Gateway
from hub.gateway.http_api.exposition import CONTENT_TYPE, Histogram, Metric, encode
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import ChannelState
from hub.messaging.inbox.inbox import EVENT_MESSAGE_RECEIVED, EVENT_MESSAGE_REJECTED
from hub.messaging.outbox.outbox_repairs import waiting_rows
from hub.messaging.outbox.sending import EVENT_MESSAGE_DEAD, EVENT_MESSAGE_SENT, EVENT_MESSAGE_UNKNOWN
from hub.nodes.registry import NodeRegistry
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.tools.approvals import Approvals
from hub.tools.invoke import EVENT_TOOL_FINISHED

LAG_EVERY_S = 1.0
MODEL_BOUNDS_S = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
LAG_BOUNDS_S = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0)
TOKENS = {"input": "input_tokens", "output": "output_tokens", "cache_read": "cache_read_tokens"}
UNAVAILABLE = "unavailable"
PROCESS = Path("/proc/self")


class MetricSources(Struct, frozen=True):
    """The parts that are counted and measured."""

    home: Home
    clock: Clock
    bus: EventBus
    tasks: TaskOwner
    repairs: Repairs
    gateway: Gateway
    db: Database
    channels: ChannelRegistry
    runner: AgentRunner
    approvals: Approvals
    nodes: NodeRegistry
    states: StateMachine


class Metrics:
    """Counts what is fired on the bus, and looks at the rest when it is asked.

    Args:
        sources: The parts that are counted and measured.
    """

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources
        self._received = Metric("homarus_messages_received_total", "counter", "Messages received", "channel")
        self._rejected = Metric("homarus_messages_rejected_total", "counter", "Messages not let in", "channel")
        self._sent = Metric("homarus_messages_sent_total", "counter", "Messages sent", "channel")
        self._unsent = Metric(
            "homarus_messages_failed_total", "counter", "Messages given up or unsure", "channel", "outcome"
        )
        self._runs = Metric("homarus_runs_total", "counter", "Runs of agents that ended", "status")
        self._model = Histogram(
            *("homarus_model_call_duration_seconds", "Model calls of runs", "model", "outcome"), bounds=MODEL_BOUNDS_S
        )
        self._failed = Metric("homarus_model_failures_total", "counter", "Failed attempts", "model", "code")
        self._tokens = Metric("homarus_model_tokens_total", "counter", "Tokens of model calls", "model", "direction")
        self._cost = Metric("homarus_model_cost_usd_total", "counter", "Cost of model calls in US dollars", "model")
        self._tools = Histogram("homarus_tool_call_duration_seconds", "Tool calls", "tool", "status")
        self._automations = Metric("homarus_automation_runs_total", "counter", "Automations that ran", "outcome")
        self._skipped = Metric("homarus_automations_skipped_total", "counter", "Automations set off that did not run")
        self._skipped.set(0)
        self._lag = Histogram(
            "homarus_event_loop_lag_seconds", "How late the event loop is, once a second", bounds=LAG_BOUNDS_S
        )
        self._counted = tuple(each for each in vars(self).values() if isinstance(each, Metric))
        for event, count in self._listeners():
            sources.bus.listen(event, count)
        sources.tasks.spawn(self._measure_lag(), name="measure the event loop's lag")

    async def text(self) -> str:
        """Return all metrics in the text format of Prometheus."""
        measured = await self._measured()
        return encode([*self._counted, *measured])

    # --- counted ---

    def _listeners(self) -> Iterator[tuple[str, Callable[[Event], None]]]:
        yield EVENT_MESSAGE_RECEIVED, lambda event: self._received.add(1, event.data["channel"])
        yield EVENT_MESSAGE_REJECTED, lambda event: self._rejected.add(1, event.data["channel"])
        yield EVENT_MESSAGE_SENT, lambda event: self._sent.add(1, event.data["channel"])
        yield EVENT_MESSAGE_DEAD, lambda event: self._unsent.add(1, event.data["channel"], "dead")
        yield EVENT_MESSAGE_UNKNOWN, lambda event: self._unsent.add(1, event.data["channel"], "unknown")
        yield "run_finished", lambda event: self._runs.add(1, event.data["status"])
        yield EVENT_RUN_TRACED, self._traced
        yield EVENT_TOOL_FINISHED, self._tool
        yield EVENT_FINISHED, lambda event: self._automations.add(1, event.data["outcome"])
        yield EVENT_NOT_RUN, lambda event: self._skipped.add(1)

    def _tool(self, event: Event) -> None:
        data = event.data
        self._tools.observe(data["duration_ms"] / 1_000, data["name"], data["status"])

    def _traced(self, event: Event) -> None:
        for step in event.data["steps"]:
            if step["kind"] != "model":
                continue
            model, usage = step["model"], step["usage"] or {}
            self._model.observe((step["duration_ms"] or 0) / 1_000, model, "error" if step["error"] else "ok")
            for attempt in step["failed"]:
                self._failed.add(1, attempt["model"], attempt["code"])
            if step["error"]:
                self._failed.add(1, model, step["error"])
            for direction, key in TOKENS.items():
                if usage.get(key):
                    self._tokens.add(usage[key], model, direction)
            if usage.get("cost_usd"):
                self._cost.add(usage["cost_usd"], model)

    async def _measure_lag(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_EVERY_S
            await asyncio.sleep(LAG_EVERY_S)
            self._lag.observe(max(0.0, loop.time() - due))

    # --- looked at ---

    async def _measured(self) -> list[Metric]:
        sources, found = self._sources, list[Metric]()

        def gauge(name: str, help: str, *labels: str) -> Metric:
            found.append(metric := Metric(name, "gauge", help, *labels))
            return metric

        gauge("homarus_info", "The running hub", "version").set(1, __version__)
        now = sources.clock.time()
        gauge("homarus_start_time_seconds", "When the hub started").set(
            round(now - sources.gateway.welcomer.uptime_ms / 1_000, 3)
        )
        waiting = gauge("homarus_outbox_waiting", "Messages that wait to be sent", "channel")
        oldest = gauge("homarus_outbox_oldest_seconds", "Age of the oldest waiting message", "channel")
        ages: dict[str, float] = {}
        for channel, _, count, since_ms, _ in await sources.db.read(waiting_rows):
            waiting.add(count, channel)
            ages[channel] = max(ages.get(channel, 0.0), round(now - since_ms / 1_000, 3))
        up = gauge("homarus_channel_up", "Whether all accounts of a channel are connected", "channel")
        connected: dict[str, bool] = {}
        for each in sources.channels.all():
            name = each.channel.name
            is_up = each.status.state is ChannelState.CONNECTED
            connected[name] = connected.get(name, True) and is_up
            if name not in ages:
                waiting.set(0, name)
        for name, is_up in connected.items():
            up.set(int(is_up), name)
        for name, age in ages.items():
            oldest.set(age, name)
        gauge("homarus_runs_active", "Runs that are queued or running").set(len(sources.runner.active()))
        gauge("homarus_approvals_waiting", "Approvals that wait for a person").set(len(sources.approvals.pending()))
        gauge("homarus_questions_waiting", "Questions that wait for a person").set(len(sources.approvals.questions()))
        gauge("homarus_nodes_connected", "Phones and computers that are connected").set(len(sources.nodes.all()))
        gauge("homarus_connections", "Open connections of clients").set(len(sources.gateway.connections))
        entities = gauge("homarus_entities", "Entities of devices", "available")
        states = Counter(each.state != UNAVAILABLE for each in sources.states.all())
        entities.set(states[True], "yes")
        entities.set(states[False], "no")
        repairs = gauge("homarus_repairs", "Open repairs", "severity")
        for severity, count in Counter(each.severity.value for each in sources.repairs.all()).items():
            repairs.set(count, severity)
        good_s = await asyncio.to_thread(_last_backup_s, sources.home.storage / "backup.json")
        if good_s is not None:
            gauge("homarus_backup_last_success_timestamp_seconds", "When the last backup was made").set(good_s)
        found += await asyncio.to_thread(_process)
        return found


def metric_routes(metrics: FirstUse[Metrics]) -> list[Route]:
    """Return the route of the metrics, which are made with the first request."""

    async def show(call: HttpCall) -> web.StreamResponse:
        text = await (await metrics.get()).text()
        headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"}
        return web.Response(body=text.encode(), headers=headers)

    return [Route("GET", "/metrics", show, "gateway", scope=METRICS, body_limit=0)]


def _last_backup_s(file: Path) -> float | None:
    try:
        kept: Any = orjson.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    good_ms = kept.get("data", kept).get("good_ms") if isinstance(kept, dict) else None
    return good_ms / 1_000 if good_ms else None


def _process() -> list[Metric]:
    """Return what Prometheus' own clients tell of a process, under the same names."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    values = {
        "process_cpu_seconds_total": ("counter", "CPU time", spent.ru_utime + spent.ru_stime),
        "process_max_fds": ("gauge", "The most open files", resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    }
    if PROCESS.is_dir():  # Linux
        pages = int((PROCESS / "statm").read_text().split()[1])
        resident = pages * resource.getpagesize()
        values["process_resident_memory_bytes"] = ("gauge", "Resident memory", resident)
        values["process_open_fds"] = ("gauge", "Open files", len(os.listdir(PROCESS / "fd")))
    found = []
    for name, (kind, help, value) in values.items():
        found.append(metric := Metric(name, kind, help))
        metric.set(value)
    return found
