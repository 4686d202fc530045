"""Packs lines of prose into pieces of similar size, cut at the best places, with overlap.

Sizes are weights: four for a token, so one for most characters and four for a Chinese one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct

from hub.memory.words import count_cjk

TOKEN_WEIGHT = 4
PART_SHARE = (2, 5)
"""Of the largest atom, how long the parts are of a sentence that is longer than that."""

_SENTENCE = re.compile(r".+?(?:[.!?](?=\s)\s*|[。！？；]|$)", re.DOTALL)
_PAUSES = " ，、"


class PackedCut(IntEnum):
    """The cost of a cut before an atom."""

    PARAGRAPH = 0
    LINE = 1
    SENTENCE = 2
    BLOCK = 3
    WORD = 4


class Atom(Struct, frozen=True):
    """A piece that is never cut.

    Attributes:
        line: Its line, from 1.
        text: With what separates it from the next.
        weight: Its size.
        cut: The penalty for cutting before it.
        block: Of the first atom of a code fence or a table the weight of all of it, which is kept whole where it fits.
    """

    line: int
    text: str
    weight: int
    cut: PackedCut
    block: int = 0


class Piece(Struct, frozen=True):
    """A range of packed lines, from 1, inclusive."""

    start_line: int
    end_line: int
    text: str


def weight_of(text: str) -> int:
    """Return the size of a text."""
    return len(text) + (TOKEN_WEIGHT - 1) * count_cjk(text)


def atoms_of(text: str, line: int, cut: PackedCut, largest: int, block: int = 0) -> list[Atom]:
    """Return a line as atoms of at most `largest`: the line, its sentences, or its words.

    What has no sentences is cut small, so that as much of it is repeated as of any other text: Chinese often has none.
    """
    weight = weight_of(text)
    if weight <= largest:
        return [Atom(line, text, weight, cut, block)]
    found: list[Atom] = []
    for sentence in _SENTENCE.findall(text):
        for number, part in enumerate(_parts(sentence, largest)):
            how = max(cut, PackedCut.WORD if number else PackedCut.SENTENCE) if found else cut
            found.append(Atom(line, part, weight_of(part), how, 0 if found else block))
    return found


def pack(atoms: Sequence[Atom], limit: int, overlap: int) -> Iterator[Piece]:
    """Pack atoms into pieces of at most `limit`, each beginning with up to `overlap` of the previous one."""
    begin = fresh = 0
    while fresh < len(atoms):
        end = _cut_before(atoms, begin, fresh, limit)
        piece = _piece(atoms[begin:end])
        if piece is not None:
            yield piece
        first = begin
        begin, fresh = end, end
        if end == len(atoms):
            return
        room = min(overlap, limit - max(atoms[end].weight, atoms[end].block))
        while begin - 1 > first and atoms[begin - 1].weight <= room:
            begin -= 1
            room -= atoms[begin].weight


def _cut_before(atoms: Sequence[Atom], begin: int, fresh: int, limit: int) -> int:
    """Return the end of a piece that begins at `begin` and must extend beyond `fresh`."""
    end, size = begin, 0
    halfway = None
    while end < len(atoms) and (end <= fresh or size + atoms[end].weight <= limit):
        atom = atoms[end]
        if end > fresh and atom.block <= limit < size + atom.block:
            return end
        size += atom.weight
        end += 1
        if halfway is None and size >= limit // 2:
            halfway = end
    if end == len(atoms):
        return end
    candidates = range(end, max(fresh, (halfway or end) - 1), -1)
    return min(candidates, key=lambda at: atoms[at].cut)


def _piece(atoms: Sequence[Atom]) -> Piece | None:
    said = [atom for atom in atoms if atom.text.strip()]
    if not said:
        return None
    return Piece(said[0].line, said[-1].line, "".join(atom.text for atom in atoms).strip("\n").rstrip())


def _parts(text: str, largest: int) -> Iterator[str]:
    """Yield an overlong text in parts, cut between words where possible."""
    if weight_of(text) <= largest:
        yield text
        return
    at, largest = 0, max(TOKEN_WEIGHT, largest * PART_SHARE[0] // PART_SHARE[1])
    while at < len(text):
        length = largest
        if weight_of(text[at : at + length]) > largest:
            length = max(1, largest // TOKEN_WEIGHT)
        end = at + length
        if end < len(text) and text[end] != " " and (pause := max(text.rfind(each, at, end) for each in _PAUSES)) > at:
            end = pause + 1
        yield text[at:end]
        at = end
