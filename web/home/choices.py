"""Each person's choices for their Home: the order of its cards, the hidden ones, and their favourite devices."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.core.executors import DOCUMENTS
from hub.storage.files import FILES, Documents
from hub.storage.versioned_file import VersionedFile

VERSION = 1
COLUMNS = (("start", "answers", "devices"), ("next", "assistant", "week"))
"""The cards in the two columns, until a person moves them."""
CARDS = tuple(card for column in COLUMNS for card in column)
MOVES = ("up", "down", "across", "hide", "show")


class HomeChoices(Struct, frozen=True):
    """The choices of one person.

    Attributes:
        columns: The cards of each column, in order; those that are hidden too.
        favourites: Ids of entities; empty for those that the hub picks.
        welcomed: Whether the first steps were left; they are not led to again.
    """

    columns: tuple[tuple[str, ...], ...] = COLUMNS
    hidden: frozenset[str] = frozenset()
    favourites: tuple[str, ...] = ()
    welcomed: bool = False

    def move_card(self, card: str, move: str) -> HomeChoices:
        """Return the choices with one card moved: up, down, across to the other column, hidden or shown."""
        if move in ("hide", "show"):
            return replace(self, hidden=self.hidden | {card} if move == "hide" else self.hidden - {card})
        columns = [list(column) for column in self.columns]
        at = next(number for number, column in enumerate(columns) if card in column)
        place = columns[at].index(card)
        columns[at].remove(card)
        if move == "across":
            columns[1 - at].append(card)
        else:
            columns[at].insert(max(0, place + (-1 if move == "up" else 1)), card)
        return replace(self, columns=tuple(tuple(column) for column in columns))

    def reorder(self, columns: Sequence[Sequence[str]]) -> HomeChoices:
        """Return the choices with the cards in another order; those not named stay, at the end of their column."""
        named = {card for column in columns for card in column}
        rest = [[card for card in column if card not in named] for column in self.columns]
        return replace(self, columns=tuple((*new, *old) for new, old in zip(columns, rest, strict=True)))

    def complete(self) -> HomeChoices:
        """Return the choices with every card in one column: new ones at their default place, without unknown ones."""
        known = [[card for card in column if card in CARDS] for column in (*self.columns, (), ())[:2]]
        for column, cards in zip(known, COLUMNS, strict=True):
            column += [card for card in cards if not any(card in each for each in known)]
        return replace(self, columns=tuple(tuple(column) for column in known))


class ChoiceStore:
    """Keeps the choices of all persons in one small file.

    Args:
        path: The file.
        documents: Where the home keeps it.
    """

    def __init__(self, path: Path, documents: Documents = FILES) -> None:
        self._file = VersionedFile(path, VERSION, documents=documents)
        self._kept: dict[str, HomeChoices] | None = None
        self._lock = asyncio.Lock()

    async def of(self, person: str) -> HomeChoices:
        """Return a person's choices.

        Raises:
            StorageError: The file cannot be read.
        """
        async with self._lock:
            return (await self._read()).get(person, HomeChoices())

    async def welcomed(self) -> bool:
        """Return whether anybody left the first steps.

        Raises:
            StorageError: The file cannot be read.
        """
        async with self._lock:
            return any(each.welcomed for each in (await self._read()).values())

    async def put(self, person: str, choices: HomeChoices) -> None:
        """Store a person's choices; cancelling it leaves the old or the new ones.

        Raises:
            StorageError: The file cannot be written.
        """
        async with self._lock:
            kept = {**await self._read(), person: choices}
            await DOCUMENTS.run(self._file.write, msgspec.to_builtins(kept))
            self._kept = kept

    async def _read(self) -> dict[str, HomeChoices]:
        if self._kept is None:
            data: Any = await asyncio.to_thread(self._file.read)
            try:
                found = msgspec.convert(data or {}, dict[str, HomeChoices])
            except msgspec.ValidationError:  # from a version that kept other choices; they are made again
                found = {}
            self._kept = {person: each.complete() for person, each in found.items()}
        return self._kept
