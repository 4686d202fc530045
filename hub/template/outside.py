"""What a rendering reads of words from outside, noted for the run that it is done for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTE: ContextVar[Callable[[], None] | None] = ContextVar("note of words from outside", default=None)


def note_outside() -> None:
    """Tell whoever had it rendered that words from outside were read."""
    note = _NOTE.get()
    if note is not None:
        note()


@contextmanager
def noting_outside(note: Callable[[], None]) -> Iterator[None]:
    """Within this context, call `note` when a rendering reads words from outside."""
    token = _NOTE.set(note)
    try:
        yield
    finally:
        _NOTE.reset(token)
