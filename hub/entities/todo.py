"""`todo`: items, what its services take, as Home Assistant's do, and the commands of a list of any kind.

Source: the documentation of this domain of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, In, Length, Optional, Required, as_list, string
from hub.entities.calendar import DAY, MOMENT, local
from hub.entities.entities import Command


class TodoStatus(StrEnum):
    """The status of an item."""

    NEEDS_ACTION = "needs_action"
    COMPLETED = "completed"


FEATURES = 1 | 2 | 4
"""In `supported_features`: items can be added, removed and changed."""
MOVE = 8
"""In `supported_features`: items can be moved within the list."""
DUE_AND_DESCRIPTION = 16 | 32 | 64
"""In `supported_features`: items have a day or a moment when they are due, and a description."""

_SUMMARY = All(string, Length(min=1, max=1_000))
_STATUS = In([each.value for each in TodoStatus])
_DETAILS: Mapping[Any, Any] = {
    Optional("due_date", description="The day it is due; none for no day."): AnyOf(None, DAY),
    Optional("due_datetime", description="The moment it is due; none for no moment."): AnyOf(None, MOMENT),
    Optional("description", description="More about it; none for nothing."): AnyOf(
        None, All(string, Length(max=2_000))
    ),
}
SERVICES: Mapping[str, Mapping[Any, Any]] = {
    "add_item": {Required("item", description="What is to be done."): _SUMMARY, **_DETAILS},
    "update_item": {
        Required("item", description="The item, as it is written, or its id."): _SUMMARY,
        Optional("rename", description="What is to be done instead."): _SUMMARY,
        Optional("status", description="Whether it is done."): _STATUS,
        **_DETAILS,
    },
    "remove_item": {
        Required("item", description="Items, as they are written, or their ids."): All(as_list, [string]),
    },
    "move_item": {
        Required("item", description="The item, as it is written, or its id."): _SUMMARY,
        Optional("previous_item", description="The item that it is behind then; the first place without it."): AnyOf(
            None, _SUMMARY
        ),
    },
    "get_items": {Optional("status", description="Only these."): All(as_list, [_STATUS])},
    "remove_completed_items": {},
}


class TodoItem(Struct, frozen=True):
    """An item of a list.

    Attributes:
        uid: Its id within the list.
        due: A day or a moment in ISO 8601.
        trusted: Whether its words are of people of this home.
    """

    summary: str
    uid: str = ""
    status: TodoStatus = TodoStatus.NEEDS_ACTION
    due: str | None = None
    description: str | None = None
    trusted: bool = False

    def as_payload(self) -> dict[str, str]:
        """Return it as services tell it."""
        told = {"summary": self.summary, "uid": self.uid, "status": self.status.value}
        return told | {name: said for name in ("due", "description") if (said := getattr(self, name)) is not None}


class TodoList(Protocol):
    """A list, wherever it is kept."""

    async def items(self) -> Sequence[TodoItem]:
        """Return all items in their order."""
        ...

    async def add(self, item: TodoItem, cause: Context) -> None:
        """Add an item, which has no id yet."""
        ...

    async def update(self, item: TodoItem, cause: Context) -> None:
        """Write the item of this id anew."""
        ...

    async def remove(self, items: Sequence[TodoItem], cause: Context) -> None:
        """Remove items."""
        ...


def open_items(items: Iterable[TodoItem]) -> str:
    """Return the state of a list."""
    return str(sum(each.status is TodoStatus.NEEDS_ACTION for each in items))


Move: TypeAlias = Callable[[TodoItem, TodoItem | None, Context], Awaitable[None]]
"""Moves an item behind another one, or to the first place."""


def commands(
    of: TodoList, zone: Callable[[], tzinfo], cause: Callable[[], Context | None], move: Move | None = None
) -> dict[str, Command]:
    """Return the commands of a list.

    Args:
        zone: Returns the home's time zone, for moments without one.
        cause: Returns why a command is done, while it begins.
        move: Moves an item, where the list has an order of its own.
    """

    def why() -> Context:
        return cause() or Context(SYSTEM)

    async def add_item(data: Mapping[str, Any]) -> None:
        await of.add(TodoItem(data["item"], **_details(data, zone())), why())

    async def update_item(data: Mapping[str, Any]) -> None:
        details, by = _details(data, zone()), why()
        item = _find(data["item"], await of.items())
        if not {"rename", "status", *details} & {*data, *details}:
            keys = ["rename", "status", "due_date", "due_datetime", "description"]
            raise InvalidRequest(phrase("expected one of {keys}", keys=keys))
        said = {
            "summary": data.get("rename", item.summary),
            "status": TodoStatus(data.get("status", item.status)),
            **details,
        }
        await of.update(replace(item, **said), by)

    async def remove_item(data: Mapping[str, Any]) -> None:
        by, known = why(), await of.items()
        await of.remove([_find(each, known) for each in data["item"]], by)

    async def get_items(data: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted = [each for each in await of.items() if not data.get("status") or each.status in data["status"]]
        return {"items": [each.as_payload() for each in wanted]}

    async def remove_completed_items(data: Mapping[str, Any]) -> None:
        by = why()
        if done := [each for each in await of.items() if each.status is TodoStatus.COMPLETED]:
            await of.remove(done, by)

    async def move_item(data: Mapping[str, Any]) -> None:
        by, known, previous = why(), await of.items(), data.get("previous_item")
        item, after = _find(data["item"], known), None if previous is None else _find(previous, known)
        if move is not None and item != after:
            await move(item, after, by)

    return {
        **({"move_item": move_item} if move is not None else {}),
        "add_item": add_item,
        "update_item": update_item,
        "remove_item": remove_item,
        "get_items": get_items,
        "remove_completed_items": remove_completed_items,
    }


def _details(data: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return what the data says of due and description; None where it is to be none."""
    if {"due_date", "due_datetime"} <= data.keys():
        raise InvalidRequest(phrase("expected one of {keys}", keys=["due_date", "due_datetime"]))
    found = {"description": data["description"]} if "description" in data else {}
    for key in ("due_date", "due_datetime"):
        if key in data:
            due = data[key]
            due = local(due, zone) if isinstance(due, datetime) else due
            found["due"] = None if due is None else due.isoformat()
    return found


def _find(wanted: str, items: Iterable[TodoItem]) -> TodoItem:
    """Return the item that is called so, or has this id."""
    for each in items:
        if wanted in (each.uid, each.summary):
            return each
    raise NotFound(phrase("there is no item {item} on the list", item=wanted))
