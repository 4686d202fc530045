"""Maps registry ids, which Home Assistant's editor writes for entities and devices, to our names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.schema import REGISTRY_ID

_KEYS = ("entity_id", "device_id", "above", "below")

Names = dict[str, "str | None"]
"""Ids of another registry, and what they are called here; None while there is nothing."""


class RegistryIds:
    """Replaces ids of another registry by our names.

    Attributes:
        named: Returns the entity or the device that another registry calls by an id; None while there is none.
    """

    def __init__(self) -> None:
        self.named: Callable[[str], str | None] = lambda _: None

    def filled(self, definition: Mapping[str, Any]) -> tuple[Mapping[str, Any], Names]:
        """Return a definition with our names, and the name of each id in it."""
        names: Names = {}
        return self._filled(definition, names), names

    def is_other(self, names: Names, event: Event) -> bool:
        """Return whether an id has another name since something was added, removed or renamed."""
        if event.data["action"] == "create":
            return any(name is None and self.named(id) is not None for id, name in names.items())
        changed = {event.data.get(key) for key in ("old_entity_id", "entity_id", "device_id")} - {None}
        return any(name in changed and self.named(id) != name for id, name in names.items())

    def _filled(self, value: Any, names: Names) -> Any:
        if isinstance(value, dict):
            changed = {}
            for key, each in value.items():
                if key in _KEYS:
                    found = self._name(each, names)
                elif isinstance(each, (dict, list)):
                    found = self._filled(each, names)
                else:
                    continue
                if found is not each:
                    changed[key] = found
            return {**value, **changed} if changed else value
        if isinstance(value, list):
            items = [self._filled(each, names) for each in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        return value

    def _name(self, value: Any, names: Names) -> Any:
        if isinstance(value, list):
            found = [self._name(each, names) for each in value]
            return value if all(a is b for a, b in zip(found, value, strict=True)) else found
        if not isinstance(value, str) or not REGISTRY_ID.fullmatch(value):
            return value
        names[value] = self.named(value)
        return names[value] or value


class NamedIds:
    """The ids in the definitions of a section, by their keys.

    Args:
        ids: Knows their names.
        put_again: Makes definitions again, by key, when one of their ids is called otherwise.
    """

    def __init__(self, ids: RegistryIds, put_again: Callable[[list[str]], None]) -> None:
        self._ids, self._put_again = ids, put_again
        self._names: dict[str, Names] = {}
        self._listening: list[Unsubscribe] = []

    def filled(self, key: str, definition: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a definition with our names, and remember its ids."""
        whole, names = self._ids.filled(definition)
        if names:
            self._names[key] = names
        return whole

    def forget(self, key: str) -> None:
        """Forget a definition."""
        self._names.pop(key, None)

    def listen(self, bus: EventBus) -> None:
        """Listen for additions, removals and renames."""
        self._listening = [bus.listen(f"{kind}_registry_updated", self._changed) for kind in ("entity", "device")]

    def close(self) -> None:
        """Stop listening."""
        while self._listening:
            self._listening.pop()()

    def _changed(self, event: Event) -> None:
        if again := [key for key, names in self._names.items() if self._ids.is_other(names, event)]:
            self._put_again(again)
