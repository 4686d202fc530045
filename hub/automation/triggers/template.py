"""`template`: an expression became true.

It is rendered again only when something changed that it looked at the last time: an entity, a domain, the minute.
Templates that go through a whole domain are rendered at most once a second, those that go through all states once a
minute, as in Home Assistant.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_duration, template as template_field
from hub.automation.definition.phrases import value_text
from hub.automation.schedule.contract import Due
from hub.automation.schedule.every import Every
from hub.automation.triggers.arming import do_nothing, report_errors
from hub.automation.triggers.holding import Holding, explain_for
from hub.automation.triggers.state import listen_to_states
from hub.core.errors import HubError
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required
from hub.core.states import EVENT_STATE_CHANGED
from hub.template.contract import RenderInfo, is_template

MINUTE = Every(60.0)
DOMAIN_PACE_S = 1.0
ALL_STATES_PACE_S = 60.0
NOTHING_SEEN = RenderInfo(frozenset(), frozenset(), all_states=False, uses_time=False)
_KEY = "template"


class _Watch:
    """One watched template.

    Args:
        text: The template.
        holding: Waits when it has to stay true for a while.
    """

    def __init__(self, text: str, host: TriggerHost, holding: Holding) -> None:
        self._host = host
        self._template = host.parts.templates.compile(text, f"automation {host.automation_id}, trigger {host.index}")
        self._holding = holding
        self._info: RenderInfo | None = None
        self._ends: list[Unsubscribe] = []
        self._later: asyncio.Task[None] | None = None
        self._rendered_at = -math.inf
        self._failed = False
        self._armed = self._render() is False

    def close(self) -> None:
        """Stop watching."""
        self._unlisten()
        self._holding.close()
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def _render(self) -> bool | None:
        """Return its current result, None when it cannot be rendered, and listen to its dependencies."""
        parts = self._host.parts
        try:
            value, info = self._template.render_info(self._host.variables)
        except HubError as error:
            if not self._failed:
                self._failed = True
                self._host.fail(error.message)
            self._depend_on(self._info or NOTHING_SEEN)
            return None
        self._failed = False
        self._depend_on(info)
        return parts.templates.as_bool(value)

    def _depend_on(self, info: RenderInfo) -> None:
        if info == self._info:
            return
        self._unlisten()
        self._info = info
        parts = self._host.parts
        if info.entities:
            self._ends.append(listen_to_states(parts.bus, sorted(info.entities), self._seen_changed))
        if info.domains or info.all_states:
            self._ends.append(parts.bus.listen(EVENT_STATE_CHANGED, self._any_changed))
        if info.uses_time or not self._ends:
            self._ends.append(parts.timetable.add(MINUTE, self._minute_passed))

    def _unlisten(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()

    def _seen_changed(self, event: Event) -> None:
        self._judge(event)

    def _minute_passed(self, due: Due) -> None:
        self._judge(None)

    def _any_changed(self, event: Event) -> None:
        """Handle a change in a domain that the template iterates; single entities are handled elsewhere."""
        info = self._info
        entity_id: str = event.data["entity_id"]
        if info is None or entity_id in info.entities or self._later is not None:
            return
        if not info.all_states and entity_id.partition(".")[0] not in info.domains:
            return
        pace_s = ALL_STATES_PACE_S if info.all_states else DOMAIN_PACE_S
        wait_s = self._rendered_at + pace_s - self._host.parts.clock.monotonic()
        if wait_s <= 0:
            self._judge(event)
            return
        self._later = self._host.parts.tasks.spawn(
            self._judge_later(wait_s, event), name=f"template of {self._host.automation_id}"
        )

    async def _judge_later(self, wait_s: float, event: Event) -> None:
        await self._host.parts.clock.sleep(wait_s)
        self._later = None
        self._judge(event)

    def _judge(self, event: Event | None) -> None:
        self._rendered_at = self._host.parts.clock.monotonic()
        holds = self._render()
        if holds is None:
            return
        if not holds:
            self._armed = True
            self._holding.end(_KEY)
            return
        if not self._armed:
            return
        self._armed = False
        data: Mapping[str, Any] = event.data if event is not None else {}
        entity_id = data.get("entity_id")
        trigger = {
            "entity_id": entity_id,
            "from_state": data.get("old_state"),
            "to_state": data.get("new_state"),
            "description": f"{entity_id} via template" if entity_id else "time change or manual update via template",
        }
        self._holding.begin(_KEY, trigger, event.context if event is not None else None)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    text: str = config["value_template"]
    if not host.templates or not is_template(text):
        return do_nothing  # what never changes never becomes true
    return _Watch(text, host, Holding(host, config.get("for"))).close


def _explain(config: Mapping[str, Any]) -> str:
    said = phrase("when {template} becomes true", template=value_text(config["value_template"]))
    return explain_for(said, config.get("for"))


KIND = TriggerKind(
    name="template",
    fields={
        Required("value_template", description="Fires when this becomes true."): template_field,
        Optional("for", description="How long it must stay true."): dynamic_duration,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="A template became true.",
)
