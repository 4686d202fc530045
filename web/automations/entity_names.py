"""Puts names of things in place of their ids, in sentences that were made from the configuration."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from hub.core.phrases import map_phrase
from hub.core.states import EntityState

ENTITY_ID = re.compile(r"(?<![A-Za-z0-9_.])[a-z_]+\.[a-z0-9_]+(?![A-Za-z0-9_])")
"""Chinese words may stand right beside it, which `\\b` would take for a part of it."""

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[+-]\d\d:\d\d|Z)")


class EntityNames:
    """Finds people's names for things, and says times by their clock.

    Args:
        find: Returns the state of an entity, which knows its name.
        local: Returns a time (ms since the epoch) in the hub's time zone.
    """

    def __init__(self, find: Callable[[str], EntityState | None], local: Callable[[float], dt.datetime]) -> None:
        self._find = find
        self._local = local

    def name(self, entity_id: str) -> str:
        """Return the name of an entity; its id when it is not known."""
        state = self._find(entity_id)
        return state.name if state is not None else entity_id

    def with_names(self, text: str) -> str:
        """Return a text, or a phrase that is still to be translated, with names for the ids of entities."""
        return map_phrase(text, lambda plain: INSTANT.sub(self._time, ENTITY_ID.sub(self._name, plain)))

    def _name(self, found: re.Match[str]) -> str:
        return self.name(found[0])

    def _time(self, found: re.Match[str]) -> str:
        at = self._local(dt.datetime.fromisoformat(found[0]).timestamp() * 1000)
        return f"{at:%Y-%m-%d} {at.hour}:{at:%M}"
