"""Answers of the index worker, validated: malformed ones raise `Unavailable`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hub.core.errors import Unavailable
from hub.memory.contract import Hit, SearchAnswer, Synced, Verified

HITS_LIMIT = 1_000
PAIRS_LIMIT = 10_000
TEXT_LIMIT = 8_192
NAMES_LIMIT = 100

T = TypeVar("T")


def answer_of(found: Any) -> SearchAnswer:
    """Read what a search found.

    Raises:
        Unavailable: It is anything else.
    """

    def read(found: Any) -> SearchAnswer:
        hits = [_hit(each) for each in _list(found["hits"], HITS_LIMIT)]
        engines = tuple(_text(each) for each in _list(found["engines"], NAMES_LIMIT))
        return SearchAnswer(hits, engines, _number(found["took_ms"]), _maybe(_text, found["degraded"]))

    return _read(read, found)


def pairs_of(found: Any) -> list[tuple[Hit, Hit, float]]:
    """Read pairs that are alike; raises as `answer_of`."""

    def read(found: Any) -> list[tuple[Hit, Hit, float]]:
        return [(_hit(one), _hit(other), _number(share)) for one, other, share in _list(found, PAIRS_LIMIT)]

    return _read(read, found)


def vectors_of(found: Any) -> tuple[str, list[list[float]]]:
    """Read who makes vectors, and some; raises as `answer_of`."""

    def read(found: Any) -> tuple[str, list[list[float]]]:
        return _text(found["model"]), [[float(each) for each in vector] for vector in found["vectors"]]

    return _read(read, found)


def synced_of(found: Any) -> Synced:
    """Read what bringing an index up to date took; raises as `answer_of`."""

    def read(found: Any) -> Synced:
        counts = {name: _count(found[name]) for name in ("files", "chunks", "embedded", "requests", "waiting")}
        return Synced(**counts, seconds=_number(found["seconds"]), problem=_maybe(_text, found["problem"]))

    return _read(read, found)


def verified_of(found: Any) -> Verified:
    """Read how files and index agree; raises as `answer_of`."""

    def read(found: Any) -> Verified:
        problems = [_text(each) for each in _list(found["problems"], HITS_LIMIT)]
        return Verified(_count(found["files"]), _count(found["chunks"]), problems, found["repaired"] is True)

    return _read(read, found)


def facts_of(found: Any) -> dict[str, Any]:
    """Read facts; raises as `answer_of`."""
    return _read(lambda found: dict(_mapping(found)), found)


def _read(read: Callable[[Any], T], found: Any) -> T:
    try:
        return read(found)
    except (KeyError, TypeError, ValueError) as error:
        raise Unavailable("the memory index worker answered with something that is no answer") from error


def _hit(found: Any) -> Hit:
    found = _mapping(found)
    why = _maybe(_mapping, found["why"])
    start_line, end_line = _count(found["start_line"]), _count(found["end_line"])
    return Hit(
        _text(found["path"]),
        start_line,
        end_line,
        _text(found["text"]),
        _number(found["score"]),
        trusted=found["trusted"] is True,
        vector_score=_maybe(_number, found["vector_score"]),
        text_score=_maybe(_number, found["text_score"]),
        kind=_maybe(_text, found["kind"]),
        person=_maybe(_text, found["person"]),
        session=_maybe(_text, found["session"]),
        day=_maybe(_text, found["day"]),
        before=_maybe(_text, found["before"]),
        after=_maybe(_text, found["after"]),
        why=None if why is None else {_text(name): _number(value) for name, value in why.items()},
    )


def _maybe(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _list(value: Any, limit: int) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    if len(value) > limit:
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value[:TEXT_LIMIT]


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    if not 0 <= value < 2**53:
        raise ValueError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if not math.isfinite(value):
        raise ValueError
    return float(value)
