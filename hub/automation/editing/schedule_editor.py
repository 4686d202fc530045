"""Writes the automations of agents and `cron`: a time, and literal text to send or to run.

What is scheduled is an automation like any other, in the user's own file. On whose behalf it acts is kept in the
hub database, not in the file; an agent sees and changes only what it made itself for the same person.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.automation.editing.automations_file import AutomationsFile
from hub.automation.editing.schedule_authority import Asker, ScheduleAuthorities, ScheduleAuthority, digest, is_room
from hub.automation.editing.schedule_request import ScheduleRequest, from_item, to_item
from hub.automation.engine.automation_status import AutomationStatus
from hub.automation.engine.automations import Automations
from hub.automation.engine.environment import FiringResult
from hub.automation.services.addresses import Addresses, DeliveryTarget
from hub.config.store import ConfigStore
from hub.core.clock import Clock
from hub.core.context import system_context
from hub.core.errors import Forbidden, HubError, InvalidRequest, LimitExceeded, NotFound, Unavailable
from hub.core.events import EventBus
from hub.core.schema import SchemaError
from hub.core.slugs import slugify
from hub.messaging.places import DEFAULT_ACCOUNT
from hub.storage.database import Database

_log = logging.getLogger(__name__)

EVENT_SCHEDULED = "scheduled"
"""Something was added, updated or removed here: `action`, `id`, `made_by`."""
PER_AGENT_LIMIT = 50
ANSWERS_LIMIT = 400
DISCARD_AGAIN_S = (1.0, 5.0, 30.0)
"""How long after one another it is tried again to take out what ran."""


class Scheduled(Struct, frozen=True):
    """Something that is scheduled.

    Attributes:
        request: The request.
        status: How the engine has it; None while it is switched off.
        by_hand: Whether a person changed an agent's own since.
        created_ms: When it was added through here, if it was.
    """

    id: str
    request: ScheduleRequest
    made_by: str | None
    status: AutomationStatus | None = None
    by_hand: bool = False
    created_ms: int | None = None

    @property
    def next_due(self) -> float | None:
        """The next due time; seconds since the epoch."""
        return self.status.next_run if self.status is not None else None


class ScheduleService:
    """Adds, lists, changes, removes and runs schedules.

    Args:
        reload: Reloads and applies the configuration.
        zone: The home's time zone as configured now.
    """

    def __init__(  # noqa: PLR0913  the composition root hands each part
        self,
        config: ConfigStore,
        db: Database,
        engine: Automations,
        addresses: Addresses,
        bus: EventBus,
        *,
        clock: Clock,
        zone: Callable[[], tzinfo],
        reload: Callable[[], Awaitable[Any]],
        default_agent: Callable[[], str],
    ) -> None:
        self._config = config
        self._file = AutomationsFile(config)
        self._db = db
        self._authorities = ScheduleAuthorities(db, clock)
        self._engine = engine
        self._addresses = addresses
        self._bus = bus
        self._clock = clock
        self.zone = zone
        self._reload = reload
        self._default_agent = default_agent
        self._writing = asyncio.Lock()

    def now(self) -> float:
        """Return seconds since the epoch."""
        return self._clock.time()

    async def add(self, request: ScheduleRequest, asker: Asker) -> Scheduled:
        """Write an automation; it is in force when this returns.

        Raises:
            InvalidRequest: The request is malformed or out of bounds.
            Forbidden: The request comes from a tainted turn, or reaches beyond its conversation.
            LimitExceeded: The agent has 50 already.
            HubError: The file cannot be written.
        """
        self._refuse_tainted(asker)
        request = await self._bounded(request, asker)
        async with self._writing:
            if asker.agent_id is not None:
                mine = [item for item in self._file.items() if _made_by(item) == asker.made_by]
                if len(mine) >= PER_AGENT_LIMIT:
                    raise LimitExceeded(f"there are {PER_AGENT_LIMIT} schedules already; remove one first")
            id = self._new_id(request)
            item = to_item(request, id, asker.made_by)
            await self._authorities.put(id, item, asker, self._ids() | {id})
            try:
                await asyncio.to_thread(self._file.append, item)
            except Exception:
                await self._authorities.forget(id)
                raise
            await self._reload()
        self._tell("added", id, asker)
        return await self.get(id, asker)

    async def list(self, asker: Asker) -> list[Scheduled]:
        """Return the schedules that the requester may see, in the order of the files."""
        rows = await self._authorities.all()
        found = [self._scheduled(item, rows) for item in self._file.items() if isinstance(item, Mapping)]
        return [each for each in found if each is not None and self._may_see(each, rows, asker)]

    async def get(self, id: str, asker: Asker) -> Scheduled:
        """Return a schedule by its id or its name.

        Raises:
            NotFound: There is none that this asker may see.
        """
        all = await self.list(asker)
        named = [each for each in all if each.id == id] or [each for each in all if each.request.name == id]
        if len(named) == 1:
            return named[0]
        known = ", ".join(each.id for each in all[:20]) or "none"
        raise NotFound(f"there is no schedule {id[:100]!r}; there are: {known}")

    async def update(self, id: str, change: Callable[[ScheduleRequest], ScheduleRequest], asker: Asker) -> Scheduled:
        """Update a schedule in place; comments around it stay.

        Raises:
            NotFound: There is none that this asker may see.
            Forbidden: A person changed it since an agent made it, or see `add`.
            InvalidRequest: It would be out of bounds.
        """
        self._refuse_tainted(asker)
        async with self._writing:
            old = await self.get(id, asker)
            self._refuse_changed(old, asker)
            request = await self._bounded(change(old.request), asker, old.request)
            after, changes = _changes(old, request)
            if changes:
                await self._put(old.id, after, asker)
                await asyncio.to_thread(self._file.change, old.id, changes)
                await self._reload()
        self._tell("updated", old.id, asker)
        return await self.get(old.id, asker)

    async def remove(self, id: str, asker: Asker) -> Scheduled:
        """Remove a schedule from its file.

        Raises:
            NotFound: There is none that this asker may see.
            Forbidden: A person changed it since an agent made it, or see `add`.
        """
        self._refuse_tainted(asker)
        async with self._writing:
            old = await self.get(id, asker)
            self._refuse_changed(old, asker)
            await asyncio.to_thread(self._file.remove, old.id)
            await self._authorities.forget(old.id)
            await self._reload()
        self._tell("removed", old.id, asker)
        return old

    async def name_accounts(self) -> None:
        """Replace platform ids by account names in schedules, before the engine reads them.

        Agents wrote ids while the inbox still stored the id where the name is now.
        """
        rows = await self._authorities.all()
        made = [item for item in self._file.items() if _made_by(item) is not None and item.get("id") in rows]
        names = await self._addresses.names({place for item in made for place in _accounts(item.get("actions"))})
        for item in made if names else ():
            id, actions = str(item["id"]), _with_names(item.get("actions"), names)
            if actions == item.get("actions"):
                continue
            try:
                if rows[id].text_hash == digest(item):  # else a person changed it since, and it stays theirs
                    await self._put(id, {**item, "actions": actions}, Asker(system_context()))
                await asyncio.to_thread(self._file.change, id, {"actions": actions})
            except HubError as error:
                _log.warning("%s goes to an account that has another name now: %s", id, error.message)
        if names:
            await self._config.reload()

    async def run(self, id: str, asker: Asker) -> FiringResult:
        """Run a schedule now.

        Raises:
            NotFound: There is none that this asker may see.
            Unavailable: It is broken or switched off.
        """
        self._refuse_tainted(asker)
        found = await self.get(id, asker)
        if found.status is None:
            raise Unavailable(f"{found.request.name or found.id} is switched off")
        return await self._engine.trigger(found.id, {}, asker.context, skip_conditions=True)

    async def answers(self, run_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Return the agents' answers of these runs, as far as they are still kept: `reply`, `session_key`, `model`."""
        ids = sorted(set(run_ids))[:ANSWERS_LIMIT]
        marks = ",".join("?" * len(ids))
        rows = await self._db.read(
            lambda connection: connection.execute(
                f"SELECT id, reply, session_key, model FROM runs WHERE id IN ({marks}) AND reply IS NOT NULL",  # noqa: S608
                ids,
            ).fetchall()
        )
        return {id: {"reply": reply, "session_key": key, "model": model} for id, reply, key, model in rows}

    async def discard(self, id: str) -> None:
        """Remove any automation from the files, for one that removes itself after its run; ignored if it is gone.

        What cannot be removed now, since a person is editing the file, is tried again later and at the next start.
        """
        for wait_s in (*DISCARD_AGAIN_S, None):
            try:
                await self._take_out(id)
                return
            except NotFound:
                return
            except HubError as error:
                if wait_s is None:
                    _log.warning("%s ran and could not be taken out of the files: %s", id, error.message)
                    return
                await self._clock.sleep(wait_s)

    async def _take_out(self, id: str) -> None:
        async with self._writing:
            await asyncio.to_thread(self._file.remove, id)
            await self._authorities.forget(id)
            await self._reload()

    # --- who may do what ---

    def _refuse_tainted(self, asker: Asker) -> None:
        if asker.context.authority.tainted and not asker.approved:
            raise Forbidden(
                "text that others wrote is in this conversation, so scheduling from it needs the owner's approval"
            )

    async def _bounded(
        self, request: ScheduleRequest, asker: Asker, old: ScheduleRequest | None = None
    ) -> ScheduleRequest:
        """Return a request limited to what the requester may want."""
        request.check()
        if asker.agent_id is None:
            if isinstance(request.address, Mapping) and (old is None or request.address != old.address):
                self._addresses.check(request.address)
            return request
        authority = asker.context.authority
        if request.agent_id != asker.agent_id:
            raise Forbidden("an agent can schedule only its own actions")
        if request.notify != (old.notify if old is not None else None):
            raise Forbidden("an agent cannot send results to a program; a person can: homarus cron edit ID --webhook")
        here = await self._here(asker)
        # What sees more than it did is not sent where it was sent until now.
        if old is None or request.address != old.address or request.session != old.session:
            request = replace(request, address=_narrow(request.address, here))
        if request.session in {"isolated", asker.session_key} or (old is not None and request.session == old.session):
            return request
        if request.session == "main" and authority.owner and not is_room(asker.session_key):
            return request
        raise Forbidden("session: expected isolated or this conversation; main is for the owner in a private one")

    async def _here(self, asker: Asker) -> DeliveryTarget:
        """Return the chat of the current conversation, or else where its person can be reached.

        Raises:
            InvalidRequest: Nobody is there who could be sent anything.
            NotFound: Its person has not written yet.
        """
        key = asker.session_key
        found = await self._addresses.of_session(key) if key is not None else None
        if found is not None:
            return found
        authority = asker.context.authority
        if authority.owner and asker.agent_id is not None:
            return await self._addresses.last(asker.agent_id)
        if authority.person is not None:
            return await self._addresses.of_person(authority.person, asker.agent_id)
        raise InvalidRequest("this conversation has no recipient for later messages; schedule from a chat instead")

    def _may_see(self, each: Scheduled, rows: Mapping[str, ScheduleAuthority], asker: Asker) -> bool:
        """Whether the requester may see it: a person sees all, an agent what it made for the person it serves now.

        In a group, others read along, so only schedules made in that group are visible.
        """
        if asker.agent_id is None:
            return True
        row = rows.get(each.id)
        if each.made_by != asker.made_by or row is None:
            return False
        if is_room(asker.session_key) and row.session_key != asker.session_key:
            return False
        mine, theirs = asker.context.authority, row.authority
        if mine.owner:
            return True
        same = mine.person == theirs.person if mine.person is not None else mine.principal == theirs.principal
        return same and not theirs.owner

    def _refuse_changed(self, each: Scheduled, asker: Asker) -> None:
        if asker.agent_id is not None and each.by_hand:
            raise Forbidden(f"a person changed {each.request.name or each.id} since; only a person may change it now")

    # --- inside ---

    async def _put(self, id: str, item: Mapping[str, Any], asker: Asker) -> None:
        """Store the authority of a changed schedule."""
        before = (await self._authorities.all()).get(id)
        await self._authorities.put(id, item, asker, self._ids(), before)

    def _scheduled(self, item: Mapping[str, Any], rows: Mapping[str, ScheduleAuthority]) -> Scheduled | None:
        id = str(item.get("id") or "")
        try:
            request = from_item(item, self._default_agent()) if id else None
        except (HubError, SchemaError):
            return None
        if request is None:
            return None
        try:
            status = self._engine.status(id)
        except NotFound:
            status = None
        row = rows.get(id)
        by_hand = row is not None and row.text_hash != digest(item)
        return Scheduled(id, request, _made_by(item), status, by_hand, row.created_ms if row is not None else None)

    def _new_id(self, request: ScheduleRequest) -> str:
        words = slugify(request.name or request.text)[:32].strip("_") or request.do.value
        taken = self._ids()
        while (id := f"{words}_{os.urandom(4).hex()}") in taken:
            continue
        return id

    def _ids(self) -> set[str]:
        return {str(item.get("id")) for item in self._file.items() if isinstance(item, Mapping)}

    def _tell(self, action: str, id: str, asker: Asker) -> None:
        self._bus.fire(EVENT_SCHEDULED, {"action": action, "id": id, "made_by": asker.made_by}, asker.context)


def _narrow(address: Mapping[str, Any] | str, here: DeliveryTarget) -> Mapping[str, Any] | str:
    """Return the address of this conversation instead of the requested one; `none` stays."""
    if address == "none":
        return "none"
    own = here.address
    found: dict[str, Any] = {"channel": own.channel, "to": own.peer}
    if own.account != "default":
        found["account"] = own.account
    if own.thread is not None:
        found["thread"] = own.thread
    if isinstance(address, Mapping) and {key: str(each) for key, each in address.items()} != found:
        raise Forbidden("an agent can schedule messages only to its own conversation")
    return found


def _accounts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield channel and account of each address within actions that names both."""
    if isinstance(value, Mapping):
        channel, account = value.get("channel"), value.get("account")
        if isinstance(channel, str) and isinstance(account, str):
            yield channel, account
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _accounts(each)


def _with_names(value: Any, names: Mapping[tuple[str, str], str]) -> Any:
    """Return actions with the names of accounts in place of their ids; the account `default` is left out."""
    if isinstance(value, list):
        return [_with_names(each, names) for each in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _with_names(each, names) for key, each in value.items()}
    name = names.get((str(value.get("channel")), str(value.get("account"))))
    if name is not None and name != DEFAULT_ACCOUNT:
        found["account"] = name
    elif name is not None:
        del found["account"]
    return found


def _changes(old: Scheduled, request: ScheduleRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an automation as changed by a request, and the changed keys."""
    written, after = to_item(old.request, old.id, old.made_by), to_item(request, old.id, old.made_by)
    return after, {key: after.get(key) for key in {**written, **after} if written.get(key) != after.get(key)}


def _made_by(item: Any) -> str | None:
    found = item.get("made_by") if isinstance(item, Mapping) else None
    return str(found) if found is not None else None
