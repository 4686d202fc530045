"""Archiving: idle conversations leave the lists, and nothing of them is deleted."""

from __future__ import annotations

import logging
from collections.abc import Callable

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.store import SessionStore

_log = logging.getLogger(__name__)

DAY_S = 86_400.0


async def archive_idle(sessions: SessionStore, before_ms: int) -> list[str]:
    """Archive sessions that have been idle since a time; return their keys.

    Main conversations and pinned ones stay.

    Args:
        sessions: The store.
        before_ms: Milliseconds since the epoch.

    Raises:
        HubError: The database cannot be written.
    """
    idle = [
        each.key
        for each in sessions.list()
        if each.updated_ms < before_ms
        and not each.archived
        and not each.pinned
        and SessionKey.parse(each.key).kind is not SessionKind.MAIN
    ]
    for key in idle:
        await sessions.patch(key, archived=True)
    return idle


async def archive_daily(sessions: SessionStore, clock: Clock, days: Callable[[], int]) -> None:
    """Archive idle sessions now and once a day, until cancelled.

    Args:
        sessions: The store.
        clock: The clock of the hub.
        days: Days without anything new, as configured now; 0 archives nothing.
    """
    while True:
        if days() > 0:
            try:
                await archive_idle(sessions, int((clock.time() - days() * DAY_S) * 1_000))
            except HubError as error:
                _log.warning("idle conversations are archived tomorrow: %s", error.message)
        await clock.sleep(DAY_S)
