"""Names of things in the place of their ids, in sentences that were made from the configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hub.core.phrases import Phrase
from hub.core.states import EntityState

ENTITY_ID = re.compile(r"\b[a-z_]+\.[a-z0-9_]+\b")


class EntityNames:
    """Says what people call a thing.

    Args:
        find: Returns the state of an entity, which knows its name.
    """

    def __init__(self, find: Callable[[str], EntityState | None]) -> None:
        self._find = find

    def name(self, entity_id: str) -> str:
        """Return the name of an entity; its id when it is not known."""
        state = self._find(entity_id)
        return state.name if state is not None else entity_id

    def named(self, text: str) -> str:
        """Return a text, or a phrase that is still to be translated, with names for the ids of entities."""
        plain = ENTITY_ID.sub(lambda found: self.name(found[0]), text)
        if isinstance(text, Phrase) and text.template:
            return Phrase(plain, text.template, self._values(text.values))
        return plain

    def _values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self._value(value) for key, value in values.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._value(each) for each in value]
        return self.named(value) if isinstance(value, str) else value
