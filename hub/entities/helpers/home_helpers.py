"""The helpers of a home: made from the configuration, changed by services and by time, kept over a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.config.checked import Config
from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from hub.core.errors import Conflict, HubError, NotFound
from hub.core.events import Event, EventBus
from hub.core.phrases import phrase
from hub.core.schema import Schema
from hub.core.services import ServiceCall, ServiceRegistry
from hub.core.states import EVENT_STATE_CHANGED, EVENT_STATE_REPORTED
from hub.core.tasks import TaskOwner
from hub.entities.description import EntityDescription
from hub.entities.entities import Command, EntityHandle, FirstState, HomeEntities
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, HelperService, Past, Settings
from hub.entities.helpers.schema import entries, object_id
from hub.entities.helpers.table import HELPERS, kinds_in, section_of
from hub.storage.delayed_file import DelayedFile
from hub.storage.history import HistoryStore
from hub.storage.versioned_file import VersionedFile

if TYPE_CHECKING:
    from hub.template.engine import TemplateEngine

FILE = ".storage/helpers.json"
BROUGHT = ".storage/helpers_brought.json"
"""What helpers held where they come from; read once, and gone then."""
VERSION = 1
SAVE_AFTER_S = 1.0
"""Changes within this time are written together."""


class Kept(Struct, frozen=True, omit_defaults=True):
    """What is stored of a helper.

    Attributes:
        tainted: Whether words from outside are in what it holds.
    """

    held: Held
    tainted: bool = False


class Helper:
    """A helper with what it holds now.

    Attributes:
        waiting: Waits for its time.
        reading: Reads what it needs of history.
        unregister: Removes the service that is called as it is.
    """

    def __init__(self, kind: HelperKind, key: str, settings: Settings, kept: Kept) -> None:
        self.kind, self.key, self.settings, self.kept = kind, key, settings, kept
        self.handle: EntityHandle | None = None
        self.waiting: asyncio.Task[None] | None = None
        self.reading: asyncio.Task[None] | None = None
        self.unregister: Callable[[], Any] = bool

    @property
    def id(self) -> str:
        """What it is called in the file."""
        return helper_id(self.kind, self.key)

    @property
    def description(self) -> EntityDescription:
        """Its description as an entity."""
        return EntityDescription(
            self.kind.domain,
            self.kind.unique_id(self.key),
            self.settings.get("name") or self.kind.name_of(self.key),
            object_id=object_id(self.kind, self.key, self.settings),
            device_class=self.settings.get("device_class"),
            entity_category=self.settings.get("entity_category"),
            enabled_by_default=self.settings.get("enabled", True),
            unit=self.settings.get("unit_of_measurement"),
            icon=self.settings.get("icon"),
            attributes={
                **({"editable": self.settings.get("editable", False)} if self.kind.has_editable else {}),
                **self.kind.shown(self.settings),
            },
        )

    def stop(self) -> None:
        """Wait no longer."""
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None

    def end(self) -> None:
        """Wait, read and be called no longer."""
        self.stop()
        self.unregister()
        if self.reading is not None:
            self.reading.cancel()


def helper_id(kind: HelperKind, key: str) -> str:
    """Return what a helper is called in the file."""
    return f"{kind.source}.{kind.unique_id(key)}"


class HomeHelpers:
    """All helpers.

    Args:
        entities: Shows them.
        services: What they call.
        bus: Gets their events.
        file: Keeps what they hold.
        tasks: Owns the writing and the waiting.
        zone: Returns the home's time zone.
        history: Has what entities were before.
    """

    def __init__(
        self,
        entities: HomeEntities,
        services: ServiceRegistry,
        bus: EventBus,
        file: VersionedFile,
        clock: Clock,
        tasks: TaskOwner,
        zone: Callable[[], tzinfo],
        history: HistoryStore,
    ) -> None:
        self._entities, self._services, self._bus, self._file = entities, services, bus, file
        self._brought = VersionedFile(file.path.with_name(Path(BROUGHT).name), VERSION)
        self._clock, self._tasks, self._zone, self._history = clock, tasks, zone, history
        self._helpers: dict[str, Helper] = {}
        self._kept: dict[str, Kept] = {}
        self._followers: dict[str, dict[str, Helper]] = {}
        self._heard: set[tuple[str, str]] = set()
        self._saved = DelayedFile(file, lambda: msgspec.to_builtins(self._kept), tasks, clock.sleep, SAVE_AFTER_S)

    @property
    def is_busy(self) -> bool:
        """Whether one waits for a time that it would not know after a start."""
        helpers = self._helpers.values()
        return any(each.kept.held.due is not None and each.settings.get("restore") is False for each in helpers)

    @property
    def due(self) -> float | None:
        """When the time of the first of all comes, seconds since the epoch; None when none waits for one."""
        found = (each.kept.held.due for each in self._helpers.values())
        return min((each for each in found if each is not None), default=None)

    async def open(self, config: Config) -> None:
        """Begin with what was held at the last end.

        Raises:
            StorageError: It was written by a newer program, or could not be read.
        """
        stored = await asyncio.to_thread(self._file.read)
        self._kept = msgspec.convert(stored or {}, dict[str, Kept])
        self._bus.listen(EVENT_STATE_CHANGED, self._appeared, {"old_state": None})
        self._bus.listen("entity_registry_updated", self._renamed, {"action": "update"})
        await self.take_over(config)
        self._forget_gone(config)

    async def close(self) -> None:
        """Wait no longer, and write what is held."""
        for helper in self._helpers.values():
            helper.end()
        await self._saved.close()

    async def take_over(self, config: Config) -> None:
        """Put the sections into force, with what helpers that were brought along held where they come from."""
        stored = await asyncio.to_thread(self._brought.read)
        brought = msgspec.convert(stored or {}, dict[str, Kept])
        self._kept = {**brought, **self._kept}
        self.apply(config)
        if stored is None:
            return
        for id in brought.keys() - self._helpers.keys():
            self._kept.pop(id, None)
        self._saved.changed()
        await self._saved.flush()
        await asyncio.to_thread(self._brought.path.unlink, missing_ok=True)

    def apply(self, config: Config) -> None:
        """Put the sections into force; only what changed is touched, and a section that is broken keeps what it had."""
        for kind in list({id(each): each for each in (*kinds_in(config), *self._kinds())}.values()):
            if kind.is_section and kind.section not in config:
                continue
            wanted = entries(kind, config)
            for helper in [each for each in self._helpers.values() if each.kind is kind]:
                if (
                    helper.key not in wanted
                    and "made" not in helper.settings
                    and not self._may_be_broken(kind.section, helper.key, config)
                ):
                    self._remove(helper)
            for key, settings in wanted.items():
                known = self._helpers.get(helper_id(kind, key))
                if known is None:
                    self._add(kind, key, settings)
                elif known.settings != settings:
                    self._change(known, settings)

    def get(self, domain: str, key: str) -> Helper | None:
        """Return a helper, or None."""
        return self._helpers.get(f"{domain}.{key}")

    def count(self, kind: HelperKind) -> int:
        """Return how many there are of a kind."""
        return sum(helper.kind is kind for helper in self._helpers.values())

    def make(self, kind: HelperKind, key: str, settings: Settings) -> None:
        """Add a helper that is in no file, or change it; it ends with the hub.

        Raises:
            Conflict: A file names one of that key.
        """
        known = self.get(kind.domain, key)
        if known is not None and "made" not in known.settings:
            raise Conflict(phrase("{entity} is written in a file; change it there", entity=known.id))
        settings = {**settings, "made": True}
        if known is None:
            self._add(kind, key, settings)
        else:
            self._change(known, settings)

    def unmake(self, kind: HelperKind, key: str) -> None:
        """Remove a helper that was made.

        Raises:
            NotFound: There is none.
            Conflict: A file names it.
        """
        known = self.get(kind.domain, key)
        if known is None:
            raise NotFound(phrase("there is no entity {entity}", entity=f"{kind.domain}.{key}"))
        if "made" not in known.settings:
            raise Conflict(phrase("{entity} is written in a file; change it there", entity=known.id))
        self._remove(known)

    # --- inside ---

    def _kinds(self) -> list[HelperKind]:
        return [each.kind for each in self._helpers.values()]

    def _home(self, kind: HelperKind, **more: Any) -> HelperHome:
        states = self._entities.states

        def id_of(id: str) -> str:
            return (kind.named_in and self._entities.registry.entity_id_of(kind.source, id)) or id

        return HelperHome(
            self._clock.time(),
            self._zone(),
            lambda id: states.get(id_of(id)),
            states.all,
            id_of,
            lambda text: self._templates.compile(text, kind.source).render({}),
            **more,
        )

    @cached_property
    def _templates(self) -> TemplateEngine:
        from hub.template.engine import TemplateEngine

        return TemplateEngine(self._entities.states, self._clock, self._zone)

    @staticmethod
    def _may_be_broken(section: str, key: str, config: Config) -> bool:
        """Whether one may be what is broken in its section; in a list it is not known which."""
        broken = config.broken_items.get(section, {})
        return key in broken if section in HELPERS and not HELPERS[section].is_listed else bool(broken)

    def _add(self, kind: HelperKind, key: str, settings: Settings) -> None:
        kept = self._kept.get(helper_id(kind, key))
        held = kind.begin(settings, kept.held if kept is not None else None, self._home(kind, starting=True))
        helper = self._helpers[helper_id(kind, key)] = Helper(kind, key, settings, Kept(held))
        is_tainted = kept is not None and kept.tainted and kept.held.state == held.state
        is_tainted = is_tainted or self._quotes_outside(kind, settings)
        context = Context(SYSTEM.narrow(tainted=is_tainted))
        helper.handle = self._entities.add(
            helper.description,
            {name: self._command(helper, service) for name, service in kind.services.items()},
            source=kind.source,
            first=FirstState(held.state, held.attributes, context),
        )
        if kind.own_service is not None:
            helper.unregister = self._own_service(helper, kind.own_service)
        self._follow(helper)
        self._hold(helper, held, context)

    def _own_service(self, helper: Helper, service: HelperService) -> Callable[[], Any]:
        """Register a service that is called as a helper is."""

        async def serve(call: ServiceCall) -> None:
            await self._serve(helper, service, call.data, call.context)

        return self._services.register(
            helper.kind.domain, object_id(helper.kind, helper.key, helper.settings), serve, Schema(dict(service.fields))
        )

    def _change(self, helper: Helper, settings: Settings) -> None:
        """Take over other settings; what is held stays as far as it fits them."""
        self._follow(helper, end=True)
        helper.settings = settings
        self._follow(helper)
        held = helper.kind.begin(settings, helper.kept.held, self._home(helper.kind))
        if helper.handle is not None:
            helper.handle.update(helper.description, helper.handle.commands)
        self._hold(helper, held, Context(SYSTEM.narrow(tainted=helper.kept.tainted)))

    def _remove(self, helper: Helper) -> None:
        helper.end()
        self._follow(helper, end=True)
        del self._helpers[helper.id]
        self._kept.pop(helper.id, None)
        self._saved.changed()
        if helper.handle is not None:
            helper.handle.remove(forget=True)

    def _forget_gone(self, config: Config) -> None:
        """Forget helpers that went while the hub was not running."""
        here = set(self._helpers)
        for entry in list(self._entities.registry.entities.values()):
            id, section = f"{entry.source}.{entry.unique_id}", section_of(entry.source, entry.domain)
            if section is None or id in here or self._may_be_broken(section, entry.unique_id, config):
                continue
            if section in config or not HELPERS[section].is_section:
                self._entities.registry.remove("entity", entry.entity_id)
                self._kept.pop(id, None)

    def _command(self, helper: Helper, service: HelperService) -> Command:
        async def command(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
            if service.answer is not None:
                return service.answer(helper.settings, self._home(helper.kind))
            cause = helper.handle.cause if helper.handle is not None else None
            await self._serve(helper, service, data, cause or Context(SYSTEM))
            return None

        return command

    async def _serve(self, helper: Helper, service: HelperService, data: Mapping[str, Any], cause: Context) -> None:
        """Do a service for a helper; one of its calls that fails does not keep the others from being made."""
        held = service.serve(helper.settings, helper.kept.held, data, self._home(helper.kind))
        self._hold(helper, held, cause)
        failed: list[HubError] = []
        for each in held.calls:
            try:
                await self._services.call(each.domain, each.service, each.data, context=cause)
            except HubError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def _hold(self, helper: Helper, held: Held, context: Context) -> None:
        """Take over what a helper holds from now on: show it, tell what happened, keep it, and wait for its time."""
        if held.tainted or self._quotes_outside(helper.kind, helper.settings):
            context = Context(context.authority.narrow(tainted=True), context.id, context.parent_id)
        events, held = held.events, replace(held, events=(), calls=(), tainted=False)
        helper.kept = Kept(held, context.authority.tainted)
        handle = helper.handle
        if handle is None:
            return
        handle.set(held.state, held.attributes, context)
        for event in events:
            self._bus.fire(event.type, {"entity_id": handle.entity_id, **event.data}, context)
        helper.stop()
        if held.due is not None:
            helper.waiting = self._tasks.spawn(self._wait(helper, held.due), name=f"wait for {helper.id}")
        if helper.kind.is_kept and (held.state is not None or helper.id in self._kept):
            self._kept[helper.id] = helper.kept
            self._saved.changed()
        if helper.reading is None and (past := helper.kind.past(helper.settings, held, self._home(helper.kind))):
            helper.reading = self._tasks.spawn(self._recall(helper, past), name=f"read the past of {helper.id}")

    def _quotes_outside(self, kind: HelperKind, settings: Settings) -> bool:
        """Whether words from outside are in what one says of others."""
        home = self._home(kind)
        states = (home.state(each) for each in kind.follows(settings)) if kind.quotes else ()
        return any(each is not None and each.context.authority.tainted for each in states)

    async def _recall(self, helper: Helper, past: Past) -> None:
        """Begin again with what history has; without history, with nothing."""
        rows = await self._history.states_of(past.entity_id, past.since, self._clock.time(), limit=past.limit)
        told = [(row["time"], row["state"]) for row in rows if row["state"] is not None]
        home = self._home(helper.kind, past=told)
        self._hold(helper, helper.kind.begin(helper.settings, helper.kept.held, home), Context(SYSTEM))
        helper.reading = None

    async def _wait(self, helper: Helper, due: float) -> None:
        await self._clock.sleep_until(due)
        helper.waiting = None
        self._wake(helper, Context(SYSTEM.narrow(tainted=helper.kept.tainted)))

    def _wake(self, helper: Helper, context: Context, changed: str | None = None) -> None:
        if helper.kind.wake is not None:
            home = self._home(helper.kind, changed=changed)
            self._hold(helper, helper.kind.wake(helper.settings, helper.kept.held, home), context)

    def _follow(self, helper: Helper, *, end: bool = False) -> None:
        home = self._home(helper.kind)
        for name in map(home.id_of, helper.kind.follows(helper.settings)):
            among = self._followers.setdefault(name, {})
            if end:
                among.pop(helper.id, None)
                continue
            among[helper.id] = helper
            known = self._entities.states.all(name[:-1]) if name.endswith(".") else ()
            for id in [each.entity_id for each in known] if name.endswith(".") else [name]:
                self._listen(id, EVENT_STATE_CHANGED)
                if helper.kind.hears_reports:
                    self._listen(id, EVENT_STATE_REPORTED)

    def _listen(self, entity_id: str, event: str) -> None:
        """Listen to one entity that is followed: the index of the bus finds it, and others cost nothing."""
        if (event, entity_id) not in self._heard:
            self._heard.add((event, entity_id))
            self._bus.listen(event, self._changed, {"entity_id": entity_id})

    def _renamed(self, event: Event) -> None:
        """Follow what may have another id now, such as the tariff of a meter."""
        for helper in self._helpers.values():
            if helper.kind.named_in:
                self._follow(helper)

    def _appeared(self, event: Event) -> None:
        """Follow a new entity of a domain that is followed."""
        entity_id: str = event.data["entity_id"]
        if (
            self._followers.get(f"{entity_id.partition('.')[0]}.")
            and (EVENT_STATE_CHANGED, entity_id) not in self._heard
        ):
            self._listen(entity_id, EVENT_STATE_CHANGED)
            self._changed(event)

    def _changed(self, event: Event) -> None:
        """Wake those that follow an entity; what they become is because of it, and holds none of its words."""
        entity_id: str = event.data["entity_id"]
        for name in (entity_id, f"{entity_id.partition('.')[0]}."):
            for helper in list(self._followers.get(name, {}).values()):
                if event.type == EVENT_STATE_CHANGED or helper.kind.hears_reports:
                    self._wake(helper, Context(SYSTEM, event.context.id, event.context.parent_id), entity_id)
