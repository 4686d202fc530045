"""Chooses and orders the conversations of a list, without reading hidden ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice

from hub.sessions.keys import SessionKey
from hub.sessions.session import Session

KEYS_KNOWN = 16_384
"""Conversations whose channel is remembered; more than a home has."""


def top_conversations(sessions: Iterable[Session], limit: int, *, channel: str = "", search: str = "") -> list[Session]:
    """Return the conversations at the top of a list: pinned ones first, then in the order in which they come.

    Args:
        sessions: The one that was active last first.
        limit: How many.
        channel: Only those that are held there; empty for all.
        search: Words that are all in the title or the key; empty for all.
    """
    words = search.casefold().split()
    found = [each for each in sessions if not words or _has(each, words)]
    if channel:
        found = [each for each in found if channel_of(each.key) == channel]
    in_order = chain((each for each in found if each.pinned), (each for each in found if not each.pinned))
    return list(islice(in_order, limit))


def channels_of(sessions: Iterable[Session]) -> list[str]:
    """Return the names of the channels where conversations are held."""
    return sorted({channel for each in sessions if (channel := channel_of(each.key))})


@lru_cache(maxsize=KEYS_KNOWN)
def channel_of(key: str) -> str:
    """Return the channel of a conversation, as its key says; empty for none."""
    return SessionKey.parse(key).channel or ""


def _has(session: Session, words: Iterable[str]) -> bool:
    # What stands for a title where there is none is made of parts of the key.
    text = f"{session.name or ''} {session.key}".casefold()
    return all(word in text for word in words)
