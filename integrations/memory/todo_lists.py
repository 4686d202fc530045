"""The lists of memory as entities `todo.<list>`: what everybody in the home may see of them, from the files themselves.

In a home of one person these are all lists of that person; where there are others, those that are shared. A list is one
more way to see and write the entries that the tools of memory have: there is no copy. An item that is done is struck.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from hub.core.errors import Conflict, Forbidden, HubError, NotFound
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.entities.description import EntityDescription
from hub.entities.entities import EntityHandle, HomeEntities
from hub.entities.todo import DUE_AND_DESCRIPTION, FEATURES, TodoItem, TodoStatus, commands, open_items
from hub.memory.contract import BY_HAND, Memory, MemoryEntry, MemoryKind
from hub.memory.lists import ListItem, entry_text, list_item, list_title
from hub.memory.markdown import Passage, said_anew, struck, whole_items, without_lines
from hub.memory.notebook import Edit
from hub.memory.places import GROUP_AREA, SHARED_AREA
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.security.people import People

SOURCE = "memory"
"""Whose the entities are, in the registry."""
SOON_S = 1.0
_OWN, _SHARED = "own ", "shared "
"""Before the name of a list in its unique id."""
_QUOTE = "> "
_SHOPPING = "shopping"
_TO_DO = "to do"
"""The list of what names none."""


class Entry(Struct, frozen=True):
    """An item of a list where it stands."""

    path: str
    passage: Passage
    item: ListItem

    @property
    def todo(self) -> TodoItem:
        """Return it as services know it."""
        passage, item = self.passage, self.item
        text = f"{passage.noted}\n{passage.session}\n{item.summary}"
        status = TodoStatus.COMPLETED if passage.struck else TodoStatus.NEEDS_ACTION
        uid = sha256(text.encode()).hexdigest()[:24]
        return TodoItem(item.summary, uid, status, item.due, item.description, passage.trusted)


class MemoryLists:
    """Shows the lists of memory, and follows them.

    Args:
        memory: The memory.
        agent_id: Returns the agent whose memory it is.
        people: Returns the people of this home.
        entities: All entities; those of lists that were there before are shown again, even when they are empty.
        add: Adds an entity, until the memory is gone.
        spawn: Runs what follows a change.
        clock: The time; changes within a second are looked at together.
        zone: Returns the home's time zone.
    """

    def __init__(
        self,
        memory: Memory,
        agent_id: Callable[[], str],
        people: Callable[[], People],
        entities: HomeEntities,
        *,
        add: Callable[..., EntityHandle],
        spawn: Callable[..., asyncio.Task[Any]],
        clock: Clock,
        zone: Callable[[], tzinfo],
    ) -> None:
        self._memory, self._agent_id, self._people, self._entities = memory, agent_id, people, entities
        self._add, self._spawn, self._clock, self.zone = add, spawn, clock, zone
        self._read: dict[str, tuple[tuple[int, int], list[Entry]]] = {}
        self._lists: dict[str, EntityHandle] = {}
        self._reading = asyncio.Lock()
        self._following: asyncio.Task[Any] | None = None
        self._is_again = False

    @property
    def is_alone(self) -> bool:
        """Whether there is nobody else from whom a list could be private."""
        return len(self._people().all()) <= 1

    def changed(self) -> None:
        """Look soon at what has changed."""
        self._is_again = True
        if self._following is None or self._following.done():
            self._following = self._spawn(self._follow(), name="lists of memory")

    async def entries(self, which: str | None = None) -> list[Entry]:
        """Return the items of all lists, or of one, in the order in which they were written."""
        async with self._reading:
            scope, agent_id = self._scope(), self._agent_id()
            files = [
                each
                for each in await self._memory.notebook.files(agent_id=agent_id, scope=scope)
                if each.writable and not each.area.startswith(GROUP_AREA)
                if self.is_alone or each.area == SHARED_AREA
            ]
            for file in files:
                stamp = file.changed_ms, file.size_bytes
                if self._read.get(file.path, ((0, 0), []))[0] != stamp:
                    try:
                        text = await self._memory.notebook.read(file.path, agent_id=agent_id, scope=scope)
                    except HubError:  # it is gone again, or too large
                        continue
                    self._read[file.path] = stamp, _entries(file.path, text.text)
            found = [each for file in files for each in self._read.get(file.path, ((0, 0), []))[1]]
        return sorted(
            (each for each in found if which in (None, each.item.list)), key=lambda each: each.passage.noted or ""
        )

    async def remember(self, item: ListItem, cause: Context) -> None:
        """Write a new item.

        Raises:
            Forbidden: It has words from outside, and others see the list.
        """
        is_trusted = not cause.authority.tainted
        if not is_trusted and not self.is_alone:
            raise Forbidden(phrase("words from outside are not written onto a list that all in the home see"))
        provenance = MemoryProvenance(
            BY_HAND, cause.authority.person or self._scope().person, self._clock.time(), is_trusted
        )
        entry = MemoryEntry(entry_text(item), MemoryKind.TODO, provenance, shared=not self.is_alone)
        await self._memory.add(entry, agent_id=self._agent_id(), scope=self._scope())

    async def rewrite(self, which: str, uid: str, change: Callable[[str, Entry], str], cause: Context) -> None:
        """Change the file of an item."""
        for attempt in (0, 1):  # somebody else may write at the same moment
            entry = next((each for each in await self.entries(which) if each.todo.uid == uid), None)
            if entry is None:
                raise NotFound(phrase("there is no item {item} on the list", item=uid))
            agent_id, scope = self._agent_id(), self._scope()
            file = await self._memory.notebook.read(entry.path, agent_id=agent_id, scope=scope)
            now = next((each for each in _entries(entry.path, file.text) if each.todo.uid == uid), None)
            if now is None:
                continue
            edit = Edit(entry.path, change(file.text, now), file.hash)
            who = cause.authority.person or scope.person or ""
            try:
                await self._memory.notebook.write(
                    [edit], agent_id=agent_id, scope=scope, reason="edit", who=who, summary=f"list: {now.item.summary}"
                )
            except Conflict:
                if attempt:
                    raise
                continue
            return

    def today(self) -> datetime:
        """Return the time at home."""
        return datetime.fromtimestamp(self._clock.time(), self.zone())

    async def _follow(self) -> None:
        while self._is_again:
            await self._clock.sleep(SOON_S)
            self._is_again = False
            await self.look()

    async def look(self) -> None:
        """Look at what has changed, now."""
        kind = _OWN if self.is_alone else _SHARED
        for id, entry in list(self._entities.registry.entities.items()):
            if entry.source != SOURCE:
                continue
            if entry.unique_id.startswith(kind):  # a list without items is still one
                self._ensure(entry.unique_id.removeprefix(kind), kind)
                continue
            # Its name alone may be private.
            if (gone := self._lists.pop(entry.unique_id.partition(" ")[2], None)) is not None:
                gone.remove(forget=True)
            else:
                self._entities.registry.remove("entity", id)
        by_list: dict[str, list[TodoItem]] = {}
        for each in await self.entries():
            by_list.setdefault(each.item.list, []).append(each.todo)
        for which in by_list:
            self._ensure(which, kind)
        for which, handle in self._lists.items():
            items = by_list.get(which, [])
            # The state counts, and says nothing; what services return are words from outside if an item has such.
            handle.set(open_items(items), context=Context(SYSTEM) if all(each.trusted for each in items) else None)

    def _ensure(self, which: str, kind: str) -> None:
        if which in self._lists:
            return
        name = slugify(which or _TO_DO) or "list"
        description = EntityDescription(
            "todo",
            f"{kind}{which}",
            list_title(which or _TO_DO),
            object_id=f"{name}_list" if which == _SHOPPING else name,  # as Home Assistant calls its own
            icon="mdi:cart" if which == _SHOPPING else None,
            attributes={"supported_features": FEATURES | DUE_AND_DESCRIPTION, "kept_by": SOURCE},
        )
        made = commands(_MemoryList(self, which), self.zone, lambda: self._lists[which].cause)
        self._lists[which] = self._add(description, made, source=SOURCE)

    def _scope(self) -> MemoryScope:
        owners = self._people().owners()
        return MemoryScope(owners[0].id if owners else None, private=True, shared=True)


class _MemoryList:
    """One list, as `hub.entities.todo.TodoList`."""

    def __init__(self, lists: MemoryLists, which: str) -> None:
        self._lists, self._which = lists, which

    async def items(self) -> Sequence[TodoItem]:
        return [each.todo for each in await self._lists.entries(self._which)]

    async def add(self, item: TodoItem, cause: Context) -> None:
        await self._lists.remember(self._item(item), cause)
        await self._lists.look()

    async def update(self, item: TodoItem, cause: Context) -> None:
        today = self._lists.today().date()

        def change(file: str, entry: Entry) -> str:
            if cause.authority.tainted and entry.passage.trusted and self._item(item) != entry.item:
                raise Forbidden(phrase("words from outside do not change what people of this home wrote"))
            fresh, line = said_anew(file, entry.passage, entry_text(self._item(item)))
            if item.status is not TodoStatus.COMPLETED:
                return fresh
            return struck(fresh, [each for each in whole_items(fresh) if each.start_line == line], today)

        await self._lists.rewrite(self._which, item.uid, change, cause)
        await self._lists.look()

    async def remove(self, items: Sequence[TodoItem], cause: Context) -> None:
        def change(file: str, entry: Entry) -> str:
            return without_lines(file, [(entry.passage.start_line, entry.passage.end_line)])

        for each in items:
            await self._lists.rewrite(self._which, each.uid, change, cause)
        await self._lists.look()

    def _item(self, item: TodoItem) -> ListItem:
        return ListItem(self._which, item.summary, item.due, item.description)


def _entries(path: str, text: str) -> list[Entry]:
    found = []
    for passage in whole_items(text):
        if passage.kind != MemoryKind.TODO:
            continue
        said = "\n".join(line.removeprefix(_QUOTE) for line in passage.text.split("\n"))
        found.append(Entry(path, replace(passage, text=said), list_item(said)))
    return found
