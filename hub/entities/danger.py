"""What an agent asks about before it does it: what opens, arms, films or sends, itself or through what it moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hub.core.states import EntityState

DANGEROUS_DOMAINS = frozenset({"alarm_control_panel", "camera", "lock", "notify", "valve"})
DANGEROUS_COVERS = frozenset({"door", "garage", "gate"})


def is_dangerous(entity_id: str, attributes: Mapping[str, Any]) -> bool:
    """Whether an agent asks before it uses an entity: locks, alarms, valves, cameras, motor doors, messages."""
    domain = entity_id.partition(".")[0]
    return domain in DANGEROUS_DOMAINS or (domain == "cover" and attributes.get("device_class") in DANGEROUS_COVERS)


StateOf = Callable[[str], EntityState | None]
_MOVED = frozenset({"lock", "alarm_control_panel", "camera", "valve"})
"""Domains whose every service is asked about; a message that an exposed script sends is its owner's."""
_CHOSEN = ("area_id", "device_id", "floor_id", "label_id")


def endangers(entity_id: str, state_of: StateOf, moves: Callable[[str], bool] = lambda _: False) -> bool:
    """Whether an agent asks before it uses an entity: it is dangerous, or a scene or group that one belongs to.

    Args:
        moves: Returns whether what an entity does by itself is asked about.
    """
    seen: set[str] = set()
    wanted = [entity_id]
    while wanted:
        id = wanted.pop()
        if id in seen:
            continue
        seen.add(id)
        state = state_of(id)
        attributes = state.attributes if state is not None else {}
        if is_dangerous(id, attributes) or moves(id):
            return True
        members = attributes.get("entity_id")
        wanted += [each for each in members if isinstance(each, str)] if isinstance(members, list | tuple) else []
    return False


def steps_endanger(
    steps: Any,
    state_of: StateOf,
    steps_of: Callable[[str], Any],
    seen: frozenset[str] = frozenset(),
    moves: Callable[[str], bool] = lambda _: False,
) -> bool:
    """Whether steps of a script use something that an agent asks about, or may: what a template chooses is not known.

    Args:
        steps: Configuration with actions somewhere in it.
        state_of: Returns the state of an entity.
        steps_of: Returns the steps of another script by its key.
        seen: The keys of scripts that are looked at already.
        moves: Returns whether what an entity does by itself is asked about.
    """
    for step in _mappings(steps):
        service = step.get("action", step.get("service"))
        if service is None:
            if isinstance(step.get("device_id"), str) and step.get("domain") in (*_MOVED, "cover"):
                return True
            service = "scene.turn_on" if "scene" in step else ""
        if not isinstance(service, str) or not service:
            continue
        domain, _, name = service.partition(".")
        if "{" in service or domain in _MOVED:
            return True
        words = list(_texts(step))
        if domain in ("cover", "homeassistant") and (any("{" in each for each in words) or _is_by_place(step)):
            return True
        ids = [each.lower() for each in words if "." in each and not each.startswith("notify.")]
        if any(endangers(each, state_of, moves) for each in ids):
            return True
        keys = (
            {name, *(each.partition(".")[2] for each in words if each.startswith("script."))}
            if domain == "script"
            else set()
        )
        if any(steps_endanger(steps_of(key), state_of, steps_of, seen | {key}, moves) for key in keys - seen):
            return True
    return False


def _is_by_place(step: Mapping[Any, Any]) -> bool:
    return any(key in each for each in _mappings(step) for key in _CHOSEN)


def _mappings(value: Any) -> Iterator[Mapping[Any, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for each in value:
        yield from _mappings(each)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        return [text for pair in value.items() for each in pair for text in _texts(each)]
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return (
        [str(value)]
        if isinstance(value, str)
        else [text for text in [getattr(value, "text", None)] if isinstance(text, str)]
    )
