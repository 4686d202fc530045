"""All automations of this home: made from the configuration, updated with it, and looked up by id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from hub.automation.definition.phrases import problem_texts
from hub.automation.definition.registry_ids import NamedIds
from hub.automation.definition.used_kinds import used_kinds
from hub.automation.editing.scheduled_form import check_form
from hub.automation.engine.armed_triggers import REPAIRS
from hub.automation.engine.automation import Automation
from hub.automation.engine.automation_status import AutomationStatus, BrokenAutomation
from hub.automation.engine.entity_ids import EntityIds, item_id
from hub.automation.engine.environment import EngineEnvironment, FiringResult
from hub.automation.running.signals import error_text
from hub.config.checked import Config
from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import HubError, NotFound, Unavailable
from hub.core.phrases import phrase
from hub.core.schema import Invalid, SchemaError
from hub.core.sql import SqlConnection
from hub.storage.database import Database

EVENT_RELOADED = "automation_reloaded"
SECTION = "automation"
SLICE_S = 0.01
"""After so long the event loop gets a turn while automations are put into force."""

Expand = Callable[[Mapping[str, Any]], dict[str, Any]]


Makers = Mapping[str, tuple[Authority, str]]
"""Id → for whom an agent wrote it, and which."""


class Automations:
    """Holds every automation.

    Args:
        environment: The shared dependencies; its parts' task owner is stopped by `close`.
        db: Stores the authority of those that an agent wrote.
        expand: Makes an automation of one that uses a blueprint; raises `Invalid`.
        owner: Returns the person whose automations those in the files are.
    """

    def __init__(
        self, environment: EngineEnvironment, db: Database, expand: Expand, owner: Callable[[], str | None]
    ) -> None:
        self._environment = environment
        self._parts = environment.parts
        self._db = db
        self._expand = expand
        self._owner = owner
        self._automations: dict[str, Automation] = {}
        self._broken: dict[str, BrokenAutomation] = {}
        self._sources: dict[str, tuple[Any, dict[str, Any] | None]] = {}
        self._places: dict[str, int] = {}
        self._config: Config | None = None
        self._applying = asyncio.Lock()
        self._starting = False
        self._entities = EntityIds(SECTION)
        self._ids = NamedIds(self._parts.ids, self._make_again)

    # --- life ---

    async def open(self, config: Config) -> None:
        """Make and arm the automations, then resume the runs that a stop or a crash cut off."""
        await self._environment.kept.open()
        # Looked up before anything is armed: what begins from then on was not cut off.
        cut_off = await self._environment.waiting.load() if self._environment.waiting is not None else []
        self._starting = True
        try:
            await self.apply(config)
        finally:
            self._starting = False
        self._environment.kept.stopped = None
        for waiting in cut_off:
            if waiting.owner_kind == SECTION:
                await waiting.go_on(self._automations.get(waiting.owner_id), self._parts, self._environment.traces)
        for automation in [each for each in self._automations.values() if each.is_used_up]:
            if self._environment.delete is not None:
                self._parts.tasks.spawn(self._environment.delete(automation.id), name=f"remove {automation.id}")
        self._ids.listen(self._parts.bus)

    def _make_again(self, ids: list[str]) -> None:
        self._parts.tasks.spawn(self._put_again(ids), name="make automations again")

    async def _put_again(self, ids: Iterable[str]) -> None:
        async with self._applying:
            authorities = await self._authorities()
            for id in [each for each in ids if each in self._automations and each in self._sources]:
                item, _ = self._sources[id]
                self._sources[id] = (item, await self._put(id, item, authorities))

    async def close(self) -> None:
        """Disarm all automations and stop their runs; saved runs resume at the next start."""
        self._ids.close()
        for automation in self._automations.values():
            automation.disarm()
        await self._parts.tasks.cancel_all()
        await self._environment.kept.close()

    async def apply(self, config: Config, *, again: bool = False, kinds: frozenset[str] = frozenset()) -> list[str]:
        """Apply the section; only what changed is touched.

        Args:
            again: Expand blueprints again, even if the section is unchanged.
            kinds: Kinds that an integration has replaced; what uses them is made again.

        Returns:
            Ids of those that are new, changed or removed.
        """
        async with self._applying:
            return await self._apply(config, again=again, kinds=kinds)

    async def _apply(self, config: Config, *, again: bool, kinds: frozenset[str] = frozenset()) -> list[str]:
        self._config = config
        authorities = await self._authorities()
        sources: dict[str, tuple[Any, dict[str, Any] | None]] = {}
        changed: list[str] = []
        is_first = not self._sources
        kept = config.kept_items.get(SECTION, ())
        turn = monotonic() + SLICE_S
        for count, item in enumerate(config.get(SECTION) or ()):
            id = item_id(item, sources, count)
            self._places[id] = int(kept[count]) if count < len(kept) else count
            before = self._sources.get(id)
            same = before is not None and (before[0] is item or before[0] == item)
            renewed = bool(kinds) and before is not None and self._uses(before[1] or item, kinds)
            if same and before is not None and not renewed and not (again and "use_blueprint" in item):
                sources[id] = before
                continue
            self._sources[id] = (item, None)  # visible to look-ups from now on
            expanded = await self._put(id, item, authorities)
            self._sources[id] = sources[id] = (item, expanded)
            changed.append(id)
            if monotonic() > turn:
                await asyncio.sleep(0)
                turn = monotonic() + SLICE_S
        changed += await self._put_broken(config, sources)
        for id in self._sources.keys() - sources.keys() - self._broken.keys():
            self._release(id)
            await self._drop(id)
            changed.append(id)
        if is_first:
            await self._environment.kept.forget(self._environment.kept.ids() - sources.keys() - self._broken.keys())
        self._sources = sources
        self._places = {id: place for id, place in self._places.items() if id in sources or id in self._broken}
        await self._environment.kept.flush()
        if changed:
            self._parts.bus.fire(EVENT_RELOADED, {"changed": changed})
        return changed

    async def judge_again(self) -> None:
        """Give each automation the present rights of its person; active runs keep theirs."""
        async with self._applying:
            authorities = await self._authorities()
            for id, automation in self._automations.items():
                try:
                    automation.authority = self._authority(id, automation.config, authorities)
                except (HubError, SchemaError):
                    automation.authority = automation.authority.narrow(scopes=(), owner=False)

    async def arm_again(self) -> None:
        """Rearm triggers of the clock and the sun after the home's time zone or location changed; runs continue."""
        async with self._applying:
            for automation in self._automations.values():
                if automation.problems or automation.next_due() is not None:
                    automation.disarm()
                    automation.arm()

    # --- asking ---

    @property
    def is_busy(self) -> bool:
        """Whether any of them runs."""
        return any(each.current for each in self._automations.values())

    def all(self) -> list[AutomationStatus]:
        """Return every automation, in the order of the files; unavailable ones last."""
        found = [self._status(self._automations[id]) for id in self._sources if id in self._automations]
        return found + [each.status() for each in self._broken.values()]

    def get(self, name: str) -> Automation:
        """Return an automation by its id, its entity id or its alias.

        Raises:
            NotFound: It does not exist.
            Unavailable: It is broken; the message says why.
        """
        id = self._find(name)
        if id in self._automations:
            return self._automations[id]
        broken = self._broken[id]
        raise Unavailable(f"the automation {broken.alias} is unavailable: {broken.error}")

    def status(self, name: str) -> AutomationStatus:
        """Return the status of an automation, a broken one included; otherwise like `get`."""
        id = self._find(name)
        if id in self._automations:
            return self._status(self._automations[id])
        return self._broken[id].status()

    def source(self, name: str) -> Mapping[str, Any]:
        """Return an automation as written in the files: before its blueprint was filled in."""
        id = self._find(name)
        if id in self._broken:
            found: Mapping[str, Any] = self._broken[id].item
            return found
        raw = self._config.raw.get(SECTION) if self._config is not None else None
        place = self._places.get(id)
        if isinstance(raw, list) and place is not None and place < len(raw):
            written: Mapping[str, Any] = raw[place]
            return written
        source: Mapping[str, Any] = self._sources[id][0]
        return source

    async def keep_off(self, id: str) -> None:
        """Let an automation that is about to be written start turned off."""
        self._environment.kept.of(id).enabled = False
        await self._environment.kept.write(id)

    def place(self, name: str) -> int | None:
        """Return the index of an automation in its section, as written in the files."""
        return self._places.get(self._find(name))

    async def trigger(
        self, name: str, variables: Mapping[str, Any], context: Context, *, skip_conditions: bool = True
    ) -> FiringResult:
        """Trigger an automation; see `Automation.trigger`."""
        return await self.get(name).trigger(variables, context, skip_conditions=skip_conditions)

    def _find(self, name: str) -> str:
        if name in self._automations or name in self._broken:
            return name
        owner = self._entities.owner(name) or self._entities.owner(f"{SECTION}.{name}")
        if owner is not None:
            return owner
        aliases = {each.alias: each.id for each in self._automations.values()}
        aliases.update({each.alias: each.id for each in self._broken.values()})
        if name in aliases:
            return aliases[name]
        known = ", ".join([*self._automations, *self._broken][:20]) or "none yet"
        raise NotFound(f"there is no automation {name!r}; there are: {known}")

    def _status(self, automation: Automation) -> AutomationStatus:
        source = self._sources[automation.id][0]
        problems = problem_texts(automation.problems)
        return AutomationStatus(
            id=automation.id,
            alias=automation.alias,
            entity_id=automation.entity_id,
            state="on" if automation.is_on else "off",
            mode=automation.config["mode"],
            current=automation.current,
            last_triggered=automation.last_triggered,
            next_run=automation.next_due(),
            error=problems or None,
            failures=automation.failures,
            paused=automation.paused_reason,
            description=automation.config.get("description") or "",
            made_by=automation.config.get("made_by"),
            blueprint=source["use_blueprint"]["path"] if "use_blueprint" in source else None,
            location=self._location(self._places.get(automation.id)),
        )

    # --- putting into force ---

    async def _put(self, id: str, item: dict[str, Any], authorities: Makers) -> dict[str, Any] | None:
        """Make one automation and arm it; return its source, or None if it is unavailable."""
        await self._drop(id)
        try:
            config = self._expand(item) if "use_blueprint" in item else item
            if config.get("id") != id:
                config = {**config, "id": id}
            authority = self._authority(id, config, authorities)
            if not self._is_enabled(config):
                self._release(id)
                return config
        except (HubError, SchemaError) as error:
            self._break(id, item.get("alias") or id, error_text(error), self._location(self._places.get(id)), item)
            return None
        filled, entity_id = self._ids.filled(id, config), self._entities.claim(id, config.get("alias") or id)
        automation = Automation(filled, entity_id, authority, self._environment)
        self._automations[id] = automation
        if self._starting:
            automation.begin()
        automation.arm()
        automation.show()
        return config

    async def _put_broken(self, config: Config, sources: dict[str, Any]) -> list[str]:
        """Show an automation that the check rejected as unavailable, with its error and line."""
        changed: list[str] = []
        wanted: set[str] = set()
        raw = config.raw.get(SECTION)
        for place, errors in config.broken_items.get(SECTION, {}).items():
            index = int(place)
            item = raw[index] if isinstance(raw, list) and index < len(raw) else {}
            id = item_id(item if isinstance(item, Mapping) else {}, {*sources, *wanted}, index)
            wanted.add(id)
            text = "; ".join(f"{error.path}: {error.message}" for error in errors)
            location = {"file": errors[0].file, "line": errors[0].line, "column": errors[0].column} if errors else None
            known = self._broken.get(id)
            self._places[id] = index
            if known is not None and known.error == text and known.location == location:
                continue
            await self._drop(id)
            alias = item.get("alias") if isinstance(item, dict) else None
            self._break(id, str(alias or id), text, location, item)
            changed.append(id)
        for id in [each for each in self._broken if each not in wanted and each not in sources]:
            del self._broken[id]
            self._release(id)
            changed.append(id)
        return changed

    def _break(self, id: str, alias: str, text: str, location: Mapping[str, Any] | None, item: Any) -> None:
        entity_id = self._entities.claim(id, alias)
        self._broken[id] = BrokenAutomation(id, alias, entity_id, text, location, item)
        self._parts.states.set(entity_id, "unavailable", {"friendly_name": alias, "id": id, "error": text[:500]})
        if item and "use_blueprint" in item:
            self._parts.repairs.raise_(
                REPAIRS,
                f"{id}:broken",
                phrase("The automation {automation} is unavailable", automation=alias),
                text,
                location=location,
            )

    async def _drop(self, id: str) -> None:
        """Remove an automation, working or broken."""
        self._broken.pop(id, None)
        self._ids.forget(id)
        self._parts.repairs.clear(REPAIRS, f"{id}:broken")
        automation = self._automations.pop(id, None)
        if automation is not None:
            automation.disarm()
            await automation.stop_runs()

    def _release(self, id: str) -> None:
        """Remove the entity of an automation that is gone."""
        entity_id = self._entities.release(id)
        if entity_id is not None:
            self._parts.states.remove(entity_id)

    def _is_enabled(self, config: Mapping[str, Any]) -> bool:
        enabled = config["enabled"]
        if isinstance(enabled, bool):
            return enabled
        templates = self._parts.templates
        return bool(templates.as_bool(templates.compile(enabled, f"{config['id']}: enabled").render({})))

    def _authority(self, id: str, config: Mapping[str, Any], stored: Makers) -> Authority:
        """Return an automation's authority: the owner's if a person wrote it, else as narrow as its maker's."""
        if config.get("made_by") is None or not config["made_by"].startswith("agent:"):
            return Authority(f"automation:{id}", person=self._owner(), scopes=SCOPES, owner=True)
        check_form(config)
        authority, made_by = stored.get(id, (None, None))
        if authority is None or made_by != config["made_by"]:
            raise Invalid(f"{config['made_by']} wrote it for an unknown person; remove made_by to own it")
        return self._parts.people().with_present_rights(authority)

    async def _authorities(self) -> Makers:
        def read(connection: SqlConnection) -> list[tuple[str, str, str, int]]:
            return connection.execute("SELECT id, authority, made_by, created_ms FROM automation_authority").fetchall()

        rows = await self._db.read(read)
        self._environment.kept.asked = {id: created_ms / 1000 for id, _, _, created_ms in rows}
        return {id: (Authority.from_dict(json.loads(text)), made_by) for id, text, made_by, _ in rows}

    def _location(self, index: int | None) -> Mapping[str, Any] | None:
        if self._config is None or index is None:
            return None
        return self._config.location((SECTION, index))

    def _uses(self, item: dict[str, Any], kinds: frozenset[str]) -> bool:
        return any(name in kinds for _, name in used_kinds(item, self._parts.kinds))
