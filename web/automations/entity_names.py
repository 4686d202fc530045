"""Puts names of things in place of their ids, in sentences that were made from the configuration."""

from __future__ import annotations

import re
from collections.abc import Callable

from hub.core.phrases import map_phrase
from hub.core.states import EntityState

ENTITY_ID = re.compile(r"(?<![A-Za-z0-9_.])[a-z_]+\.[a-z0-9_]+(?![A-Za-z0-9_])")
"""Chinese words may stand right beside it, which `\\b` would take for a part of it."""


class EntityNames:
    """Finds people's names for things.

    Args:
        find: Returns the state of an entity, which knows its name.
    """

    def __init__(self, find: Callable[[str], EntityState | None]) -> None:
        self._find = find

    def name(self, entity_id: str) -> str:
        """Return the name of an entity; its id when it is not known."""
        state = self._find(entity_id)
        return state.name if state is not None else entity_id

    def with_names(self, text: str) -> str:
        """Return a text, or a phrase that is still to be translated, with names for the ids of entities."""
        return map_phrase(text, lambda plain: ENTITY_ID.sub(lambda found: self.name(found[0]), plain))
