"""`state`: an entity changed, from something to something, perhaps for a while.

The rules are those of Home Assistant: with none of from, to, not_from, not_to, changes of attributes count too; one of
them with nothing after it means "any, but a change of the state itself". With `for`, only changes of the value count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_duration, entity_ids
from hub.automation.definition.phrases import join_words, value_text
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.holding import Holding, explain_for
from hub.core.events import EXPANSION_LIMIT, Event, EventBus, Listener, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid, Optional, Required, as_list, show, string
from hub.core.states import EVENT_STATE_CHANGED, EntityState

_KEYS = ("from", "to", "not_from", "not_to")
_WHO = ("person.", "device_tracker.")
"""Entities that are at home or away."""
_OPPOSITES = {"on": "off", "off": "on", "open": "closed", "closed": "open", "locked": "unlocked", "unlocked": "locked"}
_TURNS: Mapping[str | None, Callable[[str], str]] = {
    "on": lambda what: phrase("when {what} turns on", what=what),
    "off": lambda what: phrase("when {what} turns off", what=what),
    "open": lambda what: phrase("when {what} opens", what=what),
    "closed": lambda what: phrase("when {what} closes", what=what),
    "locked": lambda what: phrase("when {what} is locked", what=what),
    "unlocked": lambda what: phrase("when {what} is unlocked", what=what),
    "unavailable": lambda what: phrase("when {what} cannot be reached", what=what),
}
"""What a change to a state is called, where there is a verb for it."""
_VALUE = {"type": ["string", "number", "boolean"]}
_MANY = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE}, {"type": "null"}]}


def _values(value: Any) -> list[Any] | None:
    """Accept one value, a list of values, or nothing (any value)."""
    if value is None:
        return None
    found = as_list(value)
    if not found:
        raise Invalid(phrase("expected a state, got an empty list; nothing at all behind the key means any state"))
    for index, each in enumerate(found):
        if not isinstance(each, (str, int, float)):
            raise Invalid(phrase("expected a state, got {value}", value=show(each)), path=[index] * (value is found))
    return list(found)


values = Described(_values, _MANY, "states")


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    for key in ("from", "to"):
        if key in config and f"not_{key}" in config:
            raise Invalid(phrase("{key} and not_{key} exclude each other", key=key), path=[f"not_{key}"])
    if "attribute" in config:
        return config
    found = dict(config)
    for key in _KEYS:
        if found.get(key) is not None:
            found[key] = [_text(each, key) for each in found[key]]
    return found


def _text(value: Any, key: str) -> str:
    if isinstance(value, bool):
        words = phrase('"on" or "true"') if value else phrase('"off" or "false"')
        raise Invalid(
            phrase("a state is text; write it in quotes, such as {words}, got {value}", words=words, value=show(value)),
            path=[key],
        )
    return str(string(value))


def listen_to_states(bus: EventBus, entities: list[str], callback: Listener) -> Unsubscribe:
    """Call back for each change of one of these entities; indexed by entity, however many there are."""
    if len(entities) <= EXPANSION_LIMIT:
        return bus.listen(EVENT_STATE_CHANGED, callback, {"entity_id": entities})
    parts = [entities[start : start + EXPANSION_LIMIT] for start in range(0, len(entities), EXPANSION_LIMIT)]
    listening = [bus.listen(EVENT_STATE_CHANGED, callback, {"entity_id": part}) for part in parts]

    def end() -> None:
        for each in listening:
            each()

    return end


def _matcher(config: Mapping[str, Any], key: str) -> Callable[[Any], bool] | None:
    """Return a function that matches an old or a new value, or None if any will do."""
    wanted, unwanted = config.get(key), config.get(f"not_{key}")
    if wanted is not None:
        choices = tuple(wanted)
        return lambda value: value in choices
    if unwanted is not None:
        refused = tuple(unwanted)
        return lambda value: value not in refused
    return None


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    attribute: str | None = config.get("attribute")
    holding = Holding(host, config.get("for"))
    leaves, arrives = _matcher(config, "from"), _matcher(config, "to")
    any_change = attribute is None and not holding.needed and not any(key in config for key in _KEYS)
    only_from = config.get("from") is not None and config.get("to") is None and config.get("not_to") is None
    held: dict[str, Any] = {}

    def value_of(state: EntityState | None) -> Any:
        if state is None:
            return None
        return state.state if attribute is None else state.attributes.get(attribute)

    def changed(event: Event) -> None:
        data = event.data
        entity_id: str = data["entity_id"]
        old, new = value_of(data["old_state"]), value_of(data["new_state"])
        if old == new and not any_change:
            return
        if entity_id in holding and _is_left(data["new_state"], new, held[entity_id]):
            holding.end(entity_id)
        if leaves is not None and not leaves(old):
            return
        if arrives is not None and not arrives(new):
            return
        trigger = {
            "entity_id": entity_id,
            "from_state": data["old_state"],
            "to_state": data["new_state"],
            "attribute": attribute,
            "description": f"state of {entity_id}",
        }
        if holding.needed:
            held[entity_id] = old if only_from else new
        holding.begin(entity_id, trigger, event.context)

    def _is_left(state: EntityState | None, value: Any, kept: Any) -> bool:
        """Whether a hold has ended: the value is back to what it was, or no longer what it became."""
        if state is None:
            return True
        return bool(value == kept) if only_from else bool(value != kept)

    unlisten = listen_to_states(host.parts.bus, config["entity_id"], changed)

    def end() -> None:
        unlisten()
        holding.close()

    return end


def _explain(config: Mapping[str, Any]) -> str:
    what = join_words(config["entity_id"], "or")
    if attribute := config.get("attribute"):
        what = phrase("the attribute {attribute} of {entity}", attribute=attribute, entity=what)
    if all(each.startswith(_WHO) for each in config["entity_id"]):
        named = {key: config[key] for key in (*_KEYS, "attribute") if config.get(key) is not None}
        if named == {"to": ["home"]}:
            return explain_for(phrase("when {what} comes home", what=what), config.get("for"))
        if named == {"to": ["not_home"]}:
            return explain_for(phrase("when {what} leaves home", what=what), config.get("for"))
    if (turns := _TURNS.get(_only_to(config))) is not None:
        return explain_for(turns(what), config.get("for"))
    said = phrase("when {what} changes", what=what)
    if config.get("from") is not None:
        said = phrase("{said} from {state}", said=said, state=_states(config["from"]))
    if config.get("not_from") is not None:
        said = phrase("{said} from anything but {state}", said=said, state=_states(config["not_from"]))
    if config.get("to") is not None:
        said = phrase("{said} to {state}", said=said, state=_states(config["to"]))
    if config.get("not_to") is not None:
        said = phrase("{said} to anything but {state}", said=said, state=_states(config["not_to"]))
    return explain_for(said, config.get("for"))


def _only_to(config: Mapping[str, Any]) -> str | None:
    """Return the state that is reached, where nothing else is asked for; from the opposite of it, at most."""
    named = {key: config[key] for key in (*_KEYS, "attribute") if config.get(key) is not None}
    match named:
        case {"to": [str(to)], **rest} if not rest or rest == {"from": [_OPPOSITES.get(to)]}:
            return to
    return None


def _states(values: list[Any]) -> str:
    return join_words((value_text(each) for each in values), "or")


KIND = TriggerKind(
    name="state",
    fields={
        Required("entity_id", description="One entity or a list."): entity_ids,
        Optional("from", description="Previous state, or a list of states; empty: any."): values,
        Optional("to", description="New state, or a list of states; empty: any."): values,
        Optional("not_from", description="Previous states to ignore."): values,
        Optional("not_to", description="New states to ignore."): values,
        Optional("attribute", description="Look at this attribute instead of the state."): string,
        Optional("for", description="How long it must stay so."): dynamic_duration,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="The state of an entity, or an attribute of it, changed.",
    rule=_rule,
)
