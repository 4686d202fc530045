"""Home Assistant's functions of entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hub.template.state_views import NO_VALUE, AllStates, StateReader, StateView

if TYPE_CHECKING:
    from hub.core.zones import Position

EXPAND_DEPTH = 10
"""Groups inside each other."""


class Entities:
    """The functions of entities over a state machine.

    Args:
        reader: Reads the states.
    """

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader
        self.states = AllStates(reader)

    def both(self) -> dict[str, Callable[..., Any]]:
        """The functions that are also filters."""
        return {
            "state_attr": self.state_attr,
            "state_attr_translated": self.state_attr,
            "state_translated": self.states,
            "is_state": self.is_state,
            "is_state_attr": self.is_state_attr,
            "has_value": self.has_value,
            "expand": self.expand,
            "distance": self.distance,
        }

    def tests(self) -> dict[str, Callable[..., bool]]:
        """The tests."""
        return {"is_state": self.is_state, "is_state_attr": self.is_state_attr, "has_value": self.has_value}

    def state_attr(self, entity_id: Any, name: str) -> Any:
        """An attribute of an entity; none if there is no such entity or attribute."""
        view = self._view(entity_id)
        return None if view is None else view.raw.attributes.get(name)

    def is_state(self, entity_id: Any, state: Any) -> bool:
        """Whether an entity is in a state, or in one of several."""
        view = self._view(entity_id)
        if view is None:
            return False
        return view.raw.state in state if isinstance(state, list | tuple | set) else view.raw.state == state

    def is_state_attr(self, entity_id: Any, name: str, value: Any) -> bool:
        """Whether an attribute of an entity has a value."""
        view = self._view(entity_id)
        return view is not None and name in view.raw.attributes and bool(view.raw.attributes[name] == value)

    def has_value(self, entity_id: Any) -> bool:
        """Whether an entity is there and neither unknown nor unavailable."""
        view = self._view(entity_id)
        return view is not None and view.raw.state not in NO_VALUE

    def expand(self, *args: Any) -> list[StateView]:
        """The states of entities, of lists, of the members of groups and of the people in zones, by entity id."""
        found: dict[str, StateView] = {}
        for view in self._expanded(args, EXPAND_DEPTH, set()):
            found[view.raw.entity_id] = view
        return [found[entity_id] for entity_id in sorted(found)]

    def distance(self, *args: Any) -> float | None:
        """Kilometres between two places, or from home; a place is an entity, or its degrees north and east."""
        from hub.core.zones import distance_m

        places: list[Position] = []
        rest = list(args)
        while rest:
            place, taken = self._place(rest)
            if place is None:
                return None
            places.append(place)
            rest = rest[taken:]
        if len(places) == 1 and (home := self._home()) is not None:
            places.insert(0, home)
        return distance_m(places[0], places[1]) / 1000 if len(places) > 1 else None

    def closest(self, *args: Any) -> StateView | None:
        """The entity that is nearest to home, or to the place that is named first."""
        from hub.core.zones import distance_m, position_of

        if not args:
            return None
        *place, entities = args
        centre = self._place(place)[0] if place else self._home()
        near = [
            (distance_m(centre, where), view.raw.entity_id, view)
            for view in (self.expand(entities) if centre is not None else ())
            if centre is not None and (where := position_of(view.raw.attributes)) is not None
        ]
        return min(near, key=lambda each: each[:2])[2] if near else None

    def closest_of(self, entities: Any, *place: Any) -> StateView | None:
        """The filter `closest`."""
        return self.closest(*place, entities)

    def _home(self) -> Position | None:
        from hub.core.zones import HOME_ZONE, position_of

        home = self._reader.get(HOME_ZONE)
        return None if home is None else position_of(home.raw.attributes)

    def _place(self, args: list[Any]) -> tuple[Position | None, int]:
        """Return the place that arguments begin with, and how many of them say it."""
        from hub.core.zones import position_of

        first = args[0]
        view = self._view(first) if isinstance(first, StateView) or (isinstance(first, str) and "." in first) else None
        if view is not None:
            return position_of(view.raw.attributes), 1
        try:
            return (float(first), float(args[1])), 2
        except (TypeError, ValueError, IndexError):
            return None, 1

    def _expanded(self, items: Iterable[Any], depth: int, groups: set[str]) -> Iterator[StateView]:
        for item in items:
            self._reader.work().step()
            if isinstance(item, list | tuple | set) or (
                hasattr(item, "__iter__") and not isinstance(item, str | Mapping)
            ):
                yield from self._expanded(item, depth - 1, groups) if depth else ()
                continue
            view = self._view(item)
            if view is None:
                continue
            members = view.raw.attributes.get("persons" if view.raw.entity_id.startswith("zone.") else "entity_id")
            if not isinstance(members, list | tuple) or not depth:
                yield view
            elif view.raw.entity_id not in groups:
                groups.add(view.raw.entity_id)
                yield from self._expanded(members, depth - 1, groups)

    def _view(self, entity: Any) -> StateView | None:
        return entity if isinstance(entity, StateView) else self._reader.get(str(entity))
