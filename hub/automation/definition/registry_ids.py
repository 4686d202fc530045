"""The ids that Home Assistant's editor writes for entities and devices, and what they are called here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.schema import REGISTRY_ID

_KEYS = ("entity_id", "device_id")


class RegistryIds:
    """Puts our names in the place of ids of another registry.

    Attributes:
        named: Returns the entity or the device that another registry calls by an id; None while there is none.
    """

    def __init__(self) -> None:
        self.named: Callable[[str], str | None] = lambda _: None

    def filled(self, definition: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
        """Return a definition with our names, and the ids that nothing here has."""
        missing: set[str] = set()
        return self._filled(definition, missing), frozenset(missing)

    def _filled(self, value: Any, missing: set[str]) -> Any:
        if isinstance(value, dict):
            changed = {}
            for key, each in value.items():
                if key in _KEYS:
                    found = self._name(each, missing)
                elif isinstance(each, (dict, list)):
                    found = self._filled(each, missing)
                else:
                    continue
                if found is not each:
                    changed[key] = found
            return {**value, **changed} if changed else value
        if isinstance(value, list):
            items = [self._filled(each, missing) for each in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        return value

    def _name(self, value: Any, missing: set[str]) -> Any:
        if isinstance(value, list):
            names = [self._name(each, missing) for each in value]
            return value if all(a is b for a, b in zip(names, value, strict=True)) else names
        if not isinstance(value, str) or not REGISTRY_ID.fullmatch(value):
            return value
        name = self.named(value)
        if name is None:
            missing.add(value)
        return name or value
