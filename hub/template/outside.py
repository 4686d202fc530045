"""Tracks words from outside that a rendering reads, for the run that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTE: ContextVar[Callable[[], None] | None] = ContextVar("note of text that others wrote", default=None)


def note_outside() -> None:
    """Report to the requester of the rendering that words from outside were read."""
    note = _NOTE.get()
    if note is not None:
        note()


@contextmanager
def noting_outside(note: Callable[[], None]) -> Iterator[None]:
    """Call `note` when a rendering reads words from outside, within this context."""
    token = _NOTE.set(note)
    try:
        yield
    finally:
        _NOTE.reset(token)
