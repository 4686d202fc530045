"""state: an entity is in one of some states, or an attribute of it has one of some values, maybe for a while."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import dynamic_duration, entity_ids, resolve_duration
from hub.automation.definition.phrases import join_words, span, span_of, value_text
from hub.core.errors import NotFound
from hub.core.phrases import in_series, phrase
from hub.core.schema import Described, In, Invalid, Optional, Required, as_list, string
from hub.core.states import EntityState

ALL, ANY = "all", "any"
_INPUT = re.compile(r"^input_(?:select|text|number|boolean|datetime)\.[a-z0-9_]+$")
"""The state to be in may be that of such an entity."""


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    wanted = [_wanted(each, asking) for each in config["state"]]
    for_s = resolve_duration(config["for"], asking.render) if "for" in config else 0.0
    verdicts: list[ConditionVerdict] = []
    failed: NotFound | None = None
    held: ConditionVerdict | None = None
    for entity_id in config["entity_id"]:
        state = asking.parts.states.get(entity_id)
        if state is None:
            failed = failed or NotFound(phrase("there is no entity {entity}", entity=entity_id))
            continue
        verdict = _check_one(state, config.get("attribute"), wanted, for_s, asking.parts.clock.time())
        if not verdict.holds and config["match"] == ALL:
            return verdict
        held = held or (verdict if verdict.holds else None)
        verdicts.append(verdict)
    if failed is not None:
        raise failed
    if held is not None and config["match"] == ANY:
        return held
    return ConditionVerdict(config["match"] == ALL, join_words(each.reason for each in verdicts), verdicts[0].details)


def _wanted(value: Any, asking: ConditionContext) -> Any:
    if not isinstance(value, str) or not _INPUT.match(value):
        return value
    named = asking.parts.states.get(value)
    if named is None:
        raise NotFound(f"there is no entity {value}, to compare the state with")
    return named.state


def _check_one(
    state: EntityState, attribute: str | None, wanted: list[Any], for_s: float, now: float
) -> ConditionVerdict:
    details: dict[str, Any] = {"entity_id": state.entity_id, "wanted": wanted}
    if attribute is None:
        value: Any = state.state
        since = state.last_changed
        what = phrase("{what} is {value}", what=state.entity_id, value=value_text(value) or phrase("empty"))
    elif attribute in state.attributes:
        value = details["attribute_value"] = state.attributes[attribute]
        since = state.last_updated
        of = phrase("{attribute} of {entity}", attribute=attribute, entity=state.entity_id)
        what = phrase("{what} is {value}", what=of, value=value_text(value))
    else:
        return ConditionVerdict(
            False, phrase("{entity} has no attribute {attribute}", entity=state.entity_id, attribute=attribute), details
        )
    details["state"] = value
    if value not in wanted:
        expected = join_words((value_text(each) for each in wanted), "or")
        return ConditionVerdict(False, phrase("{what}, not {expected}", what=what, expected=expected), details)
    if not for_s:
        return ConditionVerdict(True, what, details)
    lasted = max(0.0, now - since)
    details |= {"for_s": for_s, "lasted_s": round(lasted, 3)}
    if lasted >= for_s:
        return ConditionVerdict(True, phrase("{what} for {span}", what=what, span=span(for_s)), details)
    reason = phrase("{what} for {span}, not yet for {needed}", what=what, span=span(round(lasted)), needed=span(for_s))
    return ConditionVerdict(False, reason, details)


def _explain(config: Mapping[str, Any]) -> str:
    what = join_words(config["entity_id"], "or" if config["match"] == ANY else "and")
    states = join_words((value_text(each) for each in config["state"]), "or")
    if "attribute" in config:
        what = phrase("{attribute} of {entity}", attribute=config["attribute"], entity=what)
        said = phrase("{what} is {value}", what=what, value=states)
    elif len(config["entity_id"]) > 1 and config["match"] == ALL:
        said = phrase("{what} are {value}", what=what, value=states)
    else:
        said = phrase("{what} is {value}", what=what, value=states)
    return phrase("{what} for {span}", what=said, span=span_of(config["for"])) if "for" in config else said


def _states_of(value: Any) -> list[Any]:
    found = as_list(value)
    if not found:
        raise Invalid(phrase("expected a state or a list of states, got nothing"))
    return found


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if "attribute" in config:
        return config
    states = []
    for index, each in enumerate(config["state"]):
        try:
            states.append(string(each))
        except Invalid as error:
            message: str = error.msg
            if isinstance(each, bool):
                message = in_series([message, phrase("without attribute a state is text, such as 'on'")])
            raise Invalid(message, path=["state", index]) from None
    return {**config, "state": states}


_states = Described(_states_of, {"type": ["string", "number", "boolean", "array"]}, "state or list of states")

KIND = ConditionKind(
    "state",
    {
        Required("entity_id", description="Entity or entities."): entity_ids,
        Required("state", description="A state, or a list of states of which one must match."): _states,
        Optional("attribute", description="Look at this attribute instead of the state."): string,
        Optional("match", default=ALL, description="Whether all or any of the entities must match."): In([ALL, ANY]),
        Optional("for", description="Minimum time it has been so."): dynamic_duration,
    },
    _explain,
    "An entity is in a state.",
    check=_check,
    rule=_rule,
)
