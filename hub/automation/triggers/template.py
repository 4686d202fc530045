"""`template`: an expression became true.

It is rendered again only when something changed that it looked at the last time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_duration, template as template_field
from hub.automation.definition.phrases import value_text
from hub.automation.triggers.arming import do_nothing, report_errors
from hub.automation.triggers.dependencies import TemplateDependencies
from hub.automation.triggers.holding import Holding, explain_for
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required
from hub.template.contract import RenderInfo, TemplateFailed, is_template

NOTHING_SEEN = RenderInfo(uses_time=True)
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
        self._dependencies = TemplateDependencies(host.parts, host.automation_id, self._judge)
        self._failed = False
        self._armed = self._render() is False

    def close(self) -> None:
        """Stop watching."""
        self._dependencies.close()
        self._holding.close()

    def _render(self) -> bool | None:
        """Return its current result, None when it cannot be rendered, and listen to its dependencies."""
        parts = self._host.parts
        try:
            value, info = self._template.render_info(self._host.variables)
        except TemplateFailed as error:
            if not self._failed:
                self._failed = True
                self._host.fail(error.message)
            self._depend_on(error.info)
            return None
        self._failed = False
        self._depend_on(info)
        return parts.templates.as_bool(value)

    def _depend_on(self, info: RenderInfo) -> None:
        if not (info.entities or info.domains or info.all_states):
            info = NOTHING_SEEN  # what it calls may change without telling
        self._dependencies.depend_on(info)

    def _judge(self, event: Event | None) -> None:
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
