"""numeric_state: an entity's number is above or below a number, or another entity's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import entity_ids, number_or_entity, template
from hub.automation.definition.phrases import explain_range, join_words, value_text
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import Invalid, Optional, Required, string
from hub.core.states import EntityState

_NOT_KNOWN = ("unavailable", "unknown")


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    above, below = config.get("above"), config.get("below")
    verdict = ConditionVerdict(True)
    reasons = []
    for each in config["entity_id"]:
        verdict = _check_one(each, config, above, below, asking)
        if not verdict.holds:
            return verdict
        reasons.append(verdict.reason)
    return ConditionVerdict(True, join_words(reasons), verdict.details)


def _check_one(
    entity: str, config: Mapping[str, Any], above: Any, below: Any, asking: ConditionContext
) -> ConditionVerdict:
    state = asking.parts.states.get(entity)
    if state is None:
        raise NotFound(phrase("there is no entity {entity}", entity=entity))
    raw, what = _value(state, config, asking)
    details: dict[str, Any] = {"entity_id": entity, "value": raw}
    if raw is None or raw in _NOT_KNOWN:
        return ConditionVerdict(
            False, phrase("{what} is {value}", what=what, value=raw or phrase("not known")), details
        )
    value = _number(raw, what)
    details["value"] = value
    for name, bound in (("above", above), ("below", below)):
        if bound is None:
            continue
        limit, limit_name = _limit(bound, asking)
        details[name] = limit
        if limit is None:
            return ConditionVerdict(
                False, phrase("{what} is {value}", what=limit_name, value=phrase("not known")), details
            )
        if (value <= limit) if name == "above" else (value >= limit):
            return ConditionVerdict(False, _outside(what, value, name, limit_name), details)
    return ConditionVerdict(True, phrase("{what} is {value}", what=what, value=f"{value:g}"), details)


def _outside(what: str, value: float, name: str, limit: str) -> str:
    if name == "above":
        return phrase("{what} is {value}, not above {limit}", what=what, value=f"{value:g}", limit=limit)
    return phrase("{what} is {value}, not below {limit}", what=what, value=f"{value:g}", limit=limit)


def _value(state: EntityState, config: Mapping[str, Any], asking: ConditionContext) -> tuple[Any, str]:
    if "value_template" in config:
        inner = ConditionContext(
            asking.parts,
            {**asking.variables, "state": state},
            asking.context,
            asking.automation_id,
            asking.templates,
        )
        return inner.render(config["value_template"]), phrase("the value of {entity}", entity=state.entity_id)
    if "attribute" in config:
        return state.attributes.get(config["attribute"]), phrase(
            "{attribute} of {entity}", attribute=config["attribute"], entity=state.entity_id
        )
    return state.state, state.entity_id


def _limit(bound: float | str, asking: ConditionContext) -> tuple[float | None, str]:
    if not isinstance(bound, str):
        return bound, f"{bound:g}"
    state = asking.parts.states.get(bound)
    if state is None:
        raise NotFound(f"there is no entity {bound}, to compare the number with")
    if state.state in _NOT_KNOWN:
        return None, bound
    limit = _number(state.state, bound)
    return limit, f"{bound} ({limit:g})"


def _number(value: Any, what: str) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InvalidRequest(f"{what} is {value_text(value)}, which is not a number") from None
    if found != found:
        raise InvalidRequest(f"{what} is not a number")
    return found


def _explain(config: Mapping[str, Any]) -> str:
    what = join_words(config["entity_id"])
    if "value_template" in config:
        what = phrase("{attribute} of {entity}", attribute=value_text(config["value_template"]), entity=what)
    elif "attribute" in config:
        what = phrase("{attribute} of {entity}", attribute=config["attribute"], entity=what)
    return phrase("{what} is {value}", what=what, value=explain_range(config))


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if config.get("above") is None and config.get("below") is None:
        raise Invalid(phrase("expected above, below or both"))
    return config


KIND = ConditionKind(
    "numeric_state",
    {
        Required("entity_id", description="An entity or a list; all must match."): entity_ids,
        Optional("above", description="More than this number, or than the number of this entity."): number_or_entity,
        Optional("below", description="Less than this number, or than the number of this entity."): number_or_entity,
        Optional("attribute", description="Look at this attribute instead of the state."): string,
        Optional("value_template", description="Template that computes the number from `state`."): template,
    },
    _explain,
    "An entity's number is above or below another.",
    check=_check,
    rule=_rule,
)
