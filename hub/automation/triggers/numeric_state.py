"""`numeric_state`: a number entered a range; it fires when it crosses the edge, not while it stays inside.

An entity is armed by each value outside the range, and by each that is unknown or unavailable, as in Home Assistant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_duration, entity_ids, number_or_entity, template
from hub.automation.definition.phrases import explain_range, join_words
from hub.automation.triggers.arming import render_value, report_errors
from hub.automation.triggers.holding import Holding, explain_for
from hub.automation.triggers.state import listen_to_states
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Invalid, Optional, Required, show, string
from hub.core.states import EntityState

_NO_VALUE = ("unknown", "unavailable")


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    above, below = config.get("above"), config.get("below")
    if above is None and below is None:
        raise Invalid(phrase("expected above, below or both"))
    if isinstance(above, float) and isinstance(below, float) and above > below:
        raise Invalid(
            phrase(
                "no number is above {above} and below {below}; expected above to be the smaller",
                above=f"{above:g}",
                below=f"{below:g}",
            ),
            path=["above"],
        )
    return config


class _Range:
    """Judges the states of the entities of one trigger."""

    def __init__(self, config: Mapping[str, Any], host: TriggerHost) -> None:
        self._config = config
        self._host = host
        self._above: float | str | None = config.get("above")
        self._below: float | str | None = config.get("below")
        self._attribute: str | None = config.get("attribute")
        self._template: str | None = config.get("value_template")

    def holds(self, state: EntityState) -> bool:
        """Return whether the number is in the range; an unknown number is not.

        Raises:
            HubError: It or an edge is not a number.
        """
        value = self._value(state)
        if value is None:
            return False
        number = _number(value, f"the value of {state.entity_id}")
        if self._below is not None and number >= self._limit(self._below):
            return False
        return self._above is None or number > self._limit(self._above)

    def facts(self, entity_id: str) -> dict[str, Any]:
        """Return the facts for templates."""
        return {"entity_id": entity_id, "below": self._below, "above": self._above, "attribute": self._attribute}

    def _value(self, state: EntityState) -> Any:
        if self._template is not None:
            value = render_value(self._template, self._host, state=state, trigger=self.facts(state.entity_id))
        elif self._attribute is None:
            value = state.state
        elif self._attribute in state.attributes:
            value = state.attributes[self._attribute]
        else:
            return None
        return None if value is None or value in _NO_VALUE else value

    def _limit(self, limit: float | str) -> float:
        if isinstance(limit, float):
            return limit
        state = self._host.parts.states.get(limit)
        if state is None:
            raise InvalidRequest(f"there is no entity {limit}, which bounds the range")
        return _number(state.state, f"the value of {limit}")


def _number(value: Any, what: str) -> float:
    if not isinstance(value, bool) and isinstance(value, (int, float, str)):
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if math.isfinite(found):
            return found
    raise InvalidRequest(f"{what} is not a number: {show(value)}")


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    span, holding = _Range(config, host), Holding(host, config.get("for"))
    armed: set[str] = set()
    failed: set[str] = set()

    def judge(state: EntityState) -> bool | None:
        """Return whether the number is in the range; None when that is unknown, which is reported once."""
        try:
            holds = span.holds(state)
        except HubError as error:
            if state.entity_id not in failed:
                failed.add(state.entity_id)
                host.fail(error.message)
            return None
        failed.discard(state.entity_id)
        return holds

    for entity_id in config["entity_id"]:
        state = host.parts.states.get(entity_id)
        if state is not None and judge(state) is False:
            armed.add(entity_id)

    def changed(event: Event) -> None:
        entity_id: str = event.data["entity_id"]
        new: EntityState | None = event.data["new_state"]
        holds = None if new is None else judge(new)
        if not holds:
            holding.end(entity_id)
        if holds is False:
            armed.add(entity_id)
        if not holds or entity_id not in armed:
            return
        armed.discard(entity_id)
        trigger = {
            **span.facts(entity_id),
            "from_state": event.data["old_state"],
            "to_state": new,
            "description": f"numeric state of {entity_id}",
        }
        holding.begin(entity_id, trigger, event.context)

    unlisten = listen_to_states(host.parts.bus, config["entity_id"], changed)

    def end() -> None:
        unlisten()
        holding.close()

    return end


def _explain(config: Mapping[str, Any]) -> str:
    what = join_words(config["entity_id"], "or")
    if attribute := config.get("attribute"):
        what = phrase("the attribute {attribute} of {entity}", attribute=attribute, entity=what)
    if "value_template" in config:
        what = phrase("a value worked out from {entity}", entity=what)
    said = phrase("when {what} goes {range}", what=what, range=explain_range(config))
    return explain_for(said, config.get("for"))


KIND = TriggerKind(
    name="numeric_state",
    fields={
        Required("entity_id", description="Entity, or a list of them, whose number is compared."): entity_ids,
        Optional("above", description="Fires above this number, or above the number of this entity."): number_or_entity,
        Optional("below", description="Fires below this number, or below the number of this entity."): number_or_entity,
        Optional("attribute", description="Look at this attribute instead of the state."): string,
        Optional("value_template", description="Template that computes the number from `state`."): template,
        Optional("for", description="How long it must stay in the range."): dynamic_duration,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="A number crossed into a range.",
    rule=_rule,
)
