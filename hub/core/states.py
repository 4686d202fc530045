"""The state machine: what each entity is like now."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.core.context import Context, system_context
from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.events import EventBus

ENTITY_ID = re.compile(r"^[a-z0-9_]{1,64}\.[a-z0-9_]{1,128}$")
STATE_LENGTH_LIMIT = 255
ENTITY_LIMIT = 20_000

EVENT_STATE_CHANGED = "state_changed"
EVENT_STATE_REPORTED = "state_reported"
"""An entity said again what it is (`entity_id`); fired when one listens."""


@dataclass(frozen=True, slots=True)
class EntityState:
    """The state of one entity.

    Attributes:
        entity_id: `<domain>.<object id>`.
        state: The state, at most 255 characters.
        attributes: Further plain data.
        last_changed: Seconds since the epoch when `state` last changed.
        last_updated: Seconds since the epoch when anything of it last changed.
        context: The cause of the state.
    """

    entity_id: str
    state: str
    attributes: Mapping[str, Any]
    last_changed: float
    last_updated: float
    context: Context = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The friendly name, or the object id with spaces: `living room`."""
        return str(self.attributes.get("friendly_name") or self.entity_id.partition(".")[2].replace("_", " "))

    def as_dict(self) -> dict[str, Any]:
        """The state as plain data."""
        return {
            "entity_id": self.entity_id,
            "state": self.state,
            "attributes": dict(self.attributes),
            "last_changed": self.last_changed,
            "last_updated": self.last_updated,
            "context_id": self.context.id,
        }


class StateMachine:
    """Holds the states and fires `state_changed` (`entity_id`, `old_state`, `new_state`) when one changes."""

    def __init__(self, bus: EventBus, wall_time: Callable[[], float] = time.time) -> None:
        self._bus = bus
        self._wall_time = wall_time
        self._states: dict[str, EntityState] = {}

    def get(self, entity_id: str) -> EntityState | None:
        """Return the state of an entity, or None when there is no such entity."""
        return self._states.get(entity_id)

    def all(self, domain: str | None = None) -> list[EntityState]:
        """Return all states, or those of one domain, sorted by entity id."""
        prefix = f"{domain}." if domain else ""
        return [self._states[key] for key in sorted(self._states) if key.startswith(prefix)]

    def set(
        self,
        entity_id: str,
        state: str,
        attributes: Mapping[str, Any] | None = None,
        context: Context | None = None,
        *,
        force: bool = False,
    ) -> EntityState:
        """Set an entity's state; fires `state_changed` only when something differs.

        Args:
            force: Count it as a change even when nothing differs.

        Raises:
            InvalidRequest: The id or the state is malformed.
            LimitExceeded: There are already 20 000 entities.
        """
        if not ENTITY_ID.match(entity_id):
            raise InvalidRequest(f"{entity_id!r} is not an entity id; expected `domain.object_id` in a-z, 0-9, _")
        if len(state) > STATE_LENGTH_LIMIT:
            raise InvalidRequest(f"the state of {entity_id} is longer than {STATE_LENGTH_LIMIT} characters")
        old = self._states.get(entity_id)
        attributes = dict(attributes or {})
        if old is not None and not force and old.state == state and old.attributes == attributes:
            if self._bus.has_listeners(EVENT_STATE_REPORTED, said := {"entity_id": entity_id}):
                self._bus.fire(EVENT_STATE_REPORTED, said, context or system_context())
            return old
        if old is None and len(self._states) >= ENTITY_LIMIT:
            raise LimitExceeded(f"there are already {ENTITY_LIMIT} entities; {entity_id} was not added")
        now = self._wall_time()
        changed = old.last_changed if old is not None and not force and old.state == state else now
        context = context or system_context()
        new = EntityState(entity_id, state, attributes, changed, now, context)
        self._states[entity_id] = new
        self._fire(entity_id, old, new, context)
        return new

    def remove(self, entity_id: str, context: Context | None = None) -> bool:
        """Remove an entity; return whether it was there."""
        old = self._states.pop(entity_id, None)
        if old is None:
            return False
        self._fire(entity_id, old, None, context or system_context())
        return True

    def _fire(self, entity_id: str, old: EntityState | None, new: EntityState | None, context: Context) -> None:
        data = {"entity_id": entity_id, "old_state": old, "new_state": new}
        self._bus.fire(EVENT_STATE_CHANGED, data, context)
