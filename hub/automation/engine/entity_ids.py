"""The ids of automations and of their entities: made from names, unique, kept while the automation exists."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hub.core.slugs import slugify

OBJECT_ID_LIMIT = 120
"""Longest name made of an alias; a number that tells two apart still fits behind it."""


class EntityIds:
    """The entity ids of a domain, each with the id of its owner."""

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self._owners: dict[str, str] = {}
        self._entities: dict[str, str] = {}

    def claim(self, id: str, alias: str) -> str:
        """Return the entity id of an automation; the first time it is made from the alias."""
        if id in self._entities:
            return self._entities[id]
        name = (slugify(alias) or slugify(id))[:OBJECT_ID_LIMIT] or f"{self._domain}_{len(self._owners) + 1}"
        entity_id = _unused(f"{self._domain}.{name}", self._owners)
        self._owners[entity_id] = id
        self._entities[id] = entity_id
        return entity_id

    def release(self, id: str) -> str | None:
        """Return the entity id that an automation had, which is free from now on."""
        entity_id = self._entities.pop(id, None)
        if entity_id is not None:
            del self._owners[entity_id]
        return entity_id

    def owner(self, entity_id: str) -> str | None:
        """Return the id of the automation that has an entity id."""
        return self._owners.get(entity_id)


def item_id(item: Mapping[str, Any], taken: Collection[str], index: int) -> str:
    """Return the id of an item of the section `automation`: its own, or one made from its alias or place."""
    alias = slugify(str(item.get("alias") or ""))[:OBJECT_ID_LIMIT]
    return _unused(str(item.get("id") or alias or f"automation_{index + 1}"), taken)


def _unused(name: str, taken: Collection[str]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
