"""The entities that integrations have added: their states as people know them, and their commands."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.context import Authority, Context
from hub.core.errors import Conflict
from hub.core.events import Event, EventBus
from hub.core.states import StateMachine
from hub.entities.description import EntityDescription, clean, features_of
from hub.entities.entries import EntityEntry
from hub.entities.registry import HomeRegistry

if TYPE_CHECKING:
    from hub.entities.pictures import Film, TakePicture

UNAVAILABLE = "unavailable"
UNKNOWN = "unknown"
ECHO_S = 5.0
"""What a device says so soon after a command is because of that command."""

Command = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Does a service of the domain for one entity; takes the valid data without the target, and returns data where the
service does (`ANSWERING` in `domains.py`)."""

OwnService = Callable[["EntityHandle", Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Does a service for an entity in the hub itself, with what the entity gives."""


class FirstState(Struct, frozen=True):
    """What an entity is when it is added; see `EntityHandle.set`."""

    state: str | None = None
    attributes: Mapping[str, Any] = {}
    context: Context | None = None


class EntityHandle:
    """An entity as its integration holds it; its state is `unknown` until it is known.

    Args:
        owner: The collection of all entities.
        entry: Its registry entry.
        description, commands: As the integration gave them.
        first: What it is set to before anybody sees it.
    """

    def __init__(
        self,
        owner: HomeEntities,
        entry: EntityEntry,
        description: EntityDescription,
        commands: Mapping[str, Command],
        first: FirstState,
    ) -> None:
        self._owner = owner
        self.key = (entry.source, entry.unique_id)
        self.entity_id = entry.entity_id
        self.commands = commands
        self._authority = Authority(f"device:{entry.source}", tainted=True)
        self._state, self._attributes, self._said_by = first.state, first.attributes, first.context
        self._is_available = True
        self._description = description
        self._is_shown = False
        self._commanded: tuple[Context, float, str | None] | None = None
        self.on_removed: Callable[[], Any] = bool
        """Called when it is removed."""
        self.refresh: Callable[[], Awaitable[Any]] | None = None
        """Asks its device or service how it is now; None for what tells by itself."""
        self.endangers: Callable[[], bool] = bool
        """Whether its commands do something else that an agent asks about."""
        self._describe(entry, description)

    @property
    def is_available(self) -> bool:
        """Whether its device can be reached."""
        return self._is_available

    @property
    def picture(self) -> TakePicture | None:
        """Takes its picture; None when it has none."""
        return self._description.picture

    @property
    def film(self) -> Film | None:
        """Makes a film of it; None when it cannot be filmed."""
        return self._description.film

    @property
    def cause(self) -> Context | None:
        """Why a service does something to it just now."""
        return self._commanded[0] if self._commanded is not None else None

    def set(
        self, state: str | None, attributes: Mapping[str, Any] | None = None, context: Context | None = None
    ) -> None:
        """Set the state, None if unknown, and further attributes beside those of its description.

        The state of a tracker that is not known is its place: home, a zone, or not_home.

        Words in them count as words from outside, unless the context says whose they are.

        Raises:
            InvalidRequest: The state is longer than 255 characters.
        """
        self._state, self._attributes, self._said_by = state, attributes or {}, context
        self._write()

    def available(self, is_available: bool) -> None:
        """Set whether its device can be reached; the last state is shown again when it can."""
        self._is_available = is_available
        self._write()

    def become(
        self,
        description: EntityDescription,
        now: FirstState,
        *,
        is_available: bool,
    ) -> None:
        """Be described otherwise, in another state, reachable or not: one change for whoever listens.

        The registry keeps what it was added with; its full name, icon, unit and attributes are shown as they are now.
        """
        self._state, self._attributes, self._said_by = now.state, now.attributes, now.context
        self._is_available = is_available
        if description is self._description:
            self._write()
            return
        self._description = description
        if (entry := self._owner.registry.entities.get(self.entity_id)) is not None:
            self.show(entry)

    def commanded(self, cause: Context) -> None:
        """A service does something to it: what its device says next is because of that."""
        self._commanded = (cause, self._owner.monotonic(), self._state)

    def update(self, description: EntityDescription, commands: Mapping[str, Command]) -> None:
        """Replace its description; the domain and the unique id stay the same.

        Raises:
            Conflict: The domain or the unique id differs.
        """
        if (description.domain, description.unique_id) != (self.entity_id.partition(".")[0], self.key[1]):
            given = f"{description.domain} {description.unique_id!r}"
            raise Conflict(f"{self.entity_id} keeps its domain and its unique id {self.key[1]!r}; got {given}")
        self.commands = commands
        self._describe(self._owner.registry.entity_for(self.key[0], description), description)

    def remove(self, *, forget: bool = False) -> None:
        """Remove it; with `forget` also from the registry, which otherwise keeps people's decisions about it."""
        self._owner.remove(self, forget=forget)

    def _describe(self, entry: EntityEntry, description: EntityDescription) -> None:
        self._description = description
        self.show(entry)

    def show(self, entry: EntityEntry) -> None:
        """Apply its registry entry."""
        if entry.entity_id != self.entity_id or entry.disabled:
            self.hide()
        self.entity_id = entry.entity_id
        described = self._description
        full_name = entry.name or (clean(described.name) if described.is_full_name else None)
        shown = {
            "friendly_name": full_name or self._owner.registry.name_of(entry),
            "device_class": entry.device_class,
            "unit_of_measurement": described.unit,
            "icon": entry.icon_by_user or clean(described.icon),
            "entity_picture": described.attributes.get("entity_picture") or self._picture_path(entry.entity_id),
        }
        features = {"supported_features": features_of(entry.entity_id.partition(".")[0], self.commands)}
        self._fixed = {
            **{key: value for key, value in features.items() if value is not None},
            **described.attributes,
            **{key: value for key, value in shown.items() if value},
        }
        self._is_shown = not entry.disabled
        self._write()

    def _picture_path(self, entity_id: str) -> str | None:
        """Return where its picture is; a player tells itself when it has one."""
        if self.picture is None or entity_id.startswith("media_player."):
            return None
        from hub.entities.pictures import picture_path

        return picture_path(entity_id)

    def hide(self) -> None:
        """Remove its state."""
        self._is_shown = False
        self._owner.states.remove(self.entity_id)

    def _write(self) -> None:
        if not self._is_shown:
            return
        context = Context(self._authority)
        if self._said_by is not None:
            context = Context(self._said_by.authority, self._said_by.id, self._said_by.parent_id)
        elif self._commanded is not None:
            cause, when, before = self._commanded
            if self._owner.monotonic() - when >= ECHO_S:
                self._commanded = None
            elif self._state != before:  # and not gone back to what it was, which nobody commanded
                # Without its chain: a device that answers is not a loop of whoever commanded it.
                context = Context(self._authority, cause.id, cause.parent_id)
        if not self._is_available:
            self._owner.states.set(self.entity_id, UNAVAILABLE, self._fixed, context)
            return
        attributes = {**self._fixed, **self._attributes} if self._attributes else self._fixed
        state = self._state
        if state is None and self.entity_id.startswith("device_tracker."):
            from hub.core.zones import place_name

            state = place_name(self._owner.states.all("zone"), attributes)
        state = UNKNOWN if state is None else state
        self._owner.states.set(self.entity_id, state, attributes, context, force=self._description.force_update)


class HomeEntities:
    """All entities that integrations have added, kept as the registry says.

    Args:
        registry: Their ids, names and places.
        states: The states.
        bus: Announces registry changes.
        monotonic: Seconds on a clock that never jumps.
    """

    def __init__(
        self,
        registry: HomeRegistry,
        states: StateMachine,
        bus: EventBus,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registry, self.states, self.monotonic = registry, states, monotonic
        self.own: dict[str, OwnService] = {}
        """Services that the hub does itself, by `domain.name`, in place of the entities' own commands."""
        self._handles: dict[tuple[str, str], EntityHandle] = {}
        bus.listen("entity_registry_updated", self._entity_changed)
        bus.listen("device_registry_updated", self._device_changed)

    def add(
        self,
        description: EntityDescription,
        commands: Mapping[str, Command] | None = None,
        *,
        source: str,
        first: FirstState | None = None,
    ) -> EntityHandle:
        """Add an entity.

        Args:
            description: Its description.
            commands: The services of its domain that it does, by name without the domain.
            source: What its unique id is unique within, such as the integration.
            first: What it is at once; not known without it.

        Raises:
            Conflict: It has been added already.
            InvalidRequest: The description is malformed.
            LimitExceeded: There are too many entities or devices.
        """
        key = (source, description.unique_id)
        if key in self._handles:
            raise Conflict(f"{source} has added the entity {description.unique_id} already")
        entry = self.registry.entity_for(source, description)
        handle = self._handles[key] = EntityHandle(self, entry, description, commands or {}, first or FirstState())
        return handle

    def remove(self, handle: EntityHandle, *, forget: bool) -> None:
        """Remove an entity; nothing happens when it was removed before."""
        if self._handles.get(handle.key) is not handle:
            return
        del self._handles[handle.key]
        handle.on_removed()
        handle.hide()
        if forget and handle.entity_id in self.registry.entities:
            self.registry.remove("entity", handle.entity_id)

    def get(self, entity_id: str) -> EntityHandle | None:
        """Return an entity that an integration has added, or None."""
        entry = self.registry.entities.get(entity_id)
        return self._handles.get((entry.source, entry.unique_id)) if entry is not None else None

    def endangers(self, entity_id: str) -> bool:
        """Whether the commands of an entity do something else that an agent asks about."""
        handle = self.get(entity_id)
        return handle is not None and handle.endangers()

    def is_exposed(self, entity_id: str) -> bool:
        """Whether agents see and control an entity; entities outside the registry are the hub's own and exposed."""
        entry = self.registry.entities.get(entity_id)
        return entry is None or entry.is_exposed

    def is_new(self, entity_id: str) -> bool:
        """Whether agents may not use an entity only because nobody has accepted it yet."""
        entry = self.registry.entities.get(entity_id)
        return entry is not None and entry.is_new

    def _entity_changed(self, event: Event) -> None:
        handle = self.get(event.data["entity_id"])
        if handle is not None and event.data["action"] == "update":
            handle.show(self.registry.entities[event.data["entity_id"]])

    def _device_changed(self, event: Event) -> None:
        if event.data["action"] != "update":
            return
        for entry in list(self.registry.entities.values()):
            if entry.device_id == event.data["device_id"] and (handle := self.get(entry.entity_id)) is not None:
                handle.show(entry)
