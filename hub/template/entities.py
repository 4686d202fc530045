"""Home Assistant's functions of entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hub.template.state_views import NO_VALUE, AllStates, StateReader, StateView

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
        """The states of entities, of lists of them and of the members of groups, by entity id."""
        found: dict[str, StateView] = {}
        for view in self._expanded(args, EXPAND_DEPTH, set()):
            found[view.raw.entity_id] = view
        return [found[entity_id] for entity_id in sorted(found)]

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
            members = view.raw.attributes.get("entity_id")
            if not isinstance(members, list | tuple) or not depth:
                yield view
            elif view.raw.entity_id not in groups:
                groups.add(view.raw.entity_id)
                yield from self._expanded(members, depth - 1, groups)

    def _view(self, entity: Any) -> StateView | None:
        return entity if isinstance(entity, StateView) else self._reader.get(str(entity))
