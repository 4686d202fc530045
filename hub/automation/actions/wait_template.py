"""`wait_template`: wait until a template is true; it is rendered again when one of its dependencies changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import template
from hub.automation.running.waits import TIMEOUT_FIELDS, begin, end, skip, sleep_until, until
from hub.core.errors import HubError
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Required
from hub.core.states import EVENT_STATE_CHANGED
from hub.template.contract import RenderInfo
from hub.template.engine import Template
from hub.template.native import as_bool

MINUTE_S = 60.0


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    text = step["wait_template"]
    if run.is_static(text):
        await _wait_for_text(step, run, path)
        return
    memo = run.memo
    known = memo.get(id(step))
    if known is None:
        known = memo[id(step)] = (step, run.parts.templates.compile(text, f"{run.automation_id}, {path}"))
    if run.dry is not None:
        skip(run, path, f"wait until {text}")
        return
    wait = await begin(step, run, path)
    watch = _Watch(run, known[1])
    try:
        watch.look()
        completed = await until(run, watch.arrived, wait)
    finally:
        watch.stop()
    end(step, run, wait, completed)


async def _wait_for_text(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    """Handle a constant in place of a template: it is met at once, or never."""
    if run.dry is not None:
        skip(run, path, f"wait until {step['wait_template']}")
        return
    wait = await begin(step, run, path)
    arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if as_bool(step["wait_template"]):
        arrived.set_result(None)
    end(step, run, wait, await until(run, arrived, wait))


class _Watch:
    """Renders a template now and after each change of its dependencies, until it is true."""

    def __init__(self, run: StepRun, compiled: Template) -> None:
        self.arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._run = run
        self._template = compiled
        self._info: RenderInfo | None = None
        self._unlisten: Unsubscribe | None = None
        self._ticking: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Render the template, and listen to its current dependencies."""
        if self.arrived.done():
            return
        try:
            value, info = self._template.render_info(self._run.scope.view)
        except HubError as error:
            self.arrived.set_exception(error)
            return
        if as_bool(value):
            self.arrived.set_result(None)
            return
        if info != self._info:
            self._listen(info)

    def stop(self) -> None:
        """Stop looking."""
        if self._unlisten is not None:
            self._unlisten()
        if self._ticking is not None:
            self._ticking.cancel()
        if self.arrived.done() and not self.arrived.cancelled():
            self.arrived.exception()

    def _listen(self, info: RenderInfo) -> None:
        if self._unlisten is not None:
            self._unlisten()
        self._info = info
        where = None if info.all_states or info.domains else {"entity_id": sorted(info.entities)}
        self._unlisten = self._run.parts.bus.listen(EVENT_STATE_CHANGED, self._changed, where)
        if info.uses_time and self._ticking is None:
            self._ticking = self._run.parts.tasks.spawn(self._tick(), name="minutes of a wait_template")

    def _changed(self, event: Event) -> None:
        info = self._info
        if info is None:
            return
        entity_id = event.data["entity_id"]
        if info.all_states or entity_id in info.entities or entity_id.partition(".")[0] in info.domains:
            self.look()

    async def _tick(self) -> None:
        """Render again at each full minute, because the template asks for the time."""
        clock = self._run.parts.clock
        while not self.arrived.done():
            now = clock.time()
            await sleep_until(clock, now - now % MINUTE_S + MINUTE_S)
            self.look()


def _explain(step: Mapping[str, Any]) -> str:
    return phrase("wait until {template}", template=step["wait_template"])


KIND = ActionKind(
    name="wait_template",
    fields={Required("wait_template", description="Until this is true."): template, **TIMEOUT_FIELDS},
    run=_run,
    explain=_explain,
    description="Wait until a template is true.",
)
