"""The forgotten parts of conversations, which memory leaves out for good: ids alone, no words.

The transcripts stay as they are: they are the record of the conversation. Kept beside them, so that a backup has both.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Lock

import orjson
from msgspec import Struct, field

from hub.core.errors import HubError, LimitExceeded
from hub.storage.files import read_bounded, write_atomic
from hub.storage.homedir import Home

_log = logging.getLogger(__name__)

FILE = "memory_left_out.json"
SIZE_LIMIT_BYTES = 4 * 1_048_576
"""Of an agent's file: more than a hundred thousand things that were said."""
VERSION = 1

Ids = Mapping[str, Collection[str] | None]
"""By the id of a conversation those of entries; None: all of it."""


class LeftOut(Struct, frozen=True):
    """The parts left out of one agent's conversations.

    Attributes:
        whole: Ids of conversations.
        entries: Ids of entries by conversation.
        problem: Why it is not known; nothing of any conversation is to be shown then.
    """

    whole: frozenset[str] = frozenset()
    entries: Mapping[str, frozenset[str]] = field(default_factory=dict)
    problem: str | None = None

    def of(self, session_id: str) -> frozenset[str] | None:
        """Return the omitted entries of a conversation; None for all of it."""
        if self.problem is not None or session_id in self.whole:
            return None
        return self.entries.get(session_id, frozenset())

    def plus(self, more: Ids) -> LeftOut:
        """Return it with further omissions."""
        whole = self.whole | {id_ for id_, entries in more.items() if entries is None}
        entries = {
            id_: self.entries.get(id_, frozenset()) | frozenset(more.get(id_) or ()) for id_ in {*self.entries, *more}
        }
        return LeftOut(whole, {id_: those for id_, those in entries.items() if id_ not in whole})


class Omissions:
    """Keeps the omissions of each agent.

    Args:
        home: Paths of the home directory.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._known: dict[str, LeftOut] = {}
        self._lock = Lock()

    def of(self, agent_id: str) -> LeftOut:
        """Return the present omissions: the same object until they change. Blocks on the first call."""
        known = self._known.get(agent_id)
        if known is None:
            with self._lock:
                known = self._loaded(agent_id)
        return known

    def with_more(self, agent_id: str, more: Ids) -> LeftOut:
        """Return the extended omissions, without storing them.

        Raises:
            LimitExceeded: It would be too much.
        """
        found = self.of(agent_id).plus(more)
        if len(_packed(found)) > SIZE_LIMIT_BYTES:
            raise LimitExceeded(
                "nothing was forgotten: too many single messages are forgotten already. Forget whole "
                "conversations, by their session",
                details={"limit_bytes": SIZE_LIMIT_BYTES},
            )
        return found

    def keep(self, agent_id: str, left_out: LeftOut) -> None:
        """Store omissions; on disk when this returns.

        Raises:
            StorageError: It cannot be written; earlier omissions still hold.
        """
        path = self._path(agent_id)
        with self._lock:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(path, _packed(left_out))
            self._known[agent_id] = left_out

    def _loaded(self, agent_id: str) -> LeftOut:
        path = self._path(agent_id)
        known = self._known.get(agent_id)
        if known is None:
            try:
                known = _unpacked(read_bounded(path, SIZE_LIMIT_BYTES))
            except FileNotFoundError:
                known = LeftOut()
            except (HubError, ValueError, KeyError, TypeError, AttributeError) as error:
                # Not to know what was forgotten is no reason to show it.
                why = (
                    f"{path} cannot be read ({error}), so that no conversation is searched; put it back from a backup, "
                    "or delete it when what was forgotten of conversations may be found again"
                )
                _log.error("%s", why)
                known = LeftOut(problem=why)
            self._known[agent_id] = known
        return known

    def _path(self, agent_id: str) -> Path:
        return self._home.agent(agent_id) / FILE


def _packed(left_out: LeftOut) -> bytes:
    entries = {id_: sorted(those) for id_, those in sorted(left_out.entries.items())}
    return orjson.dumps({"version": VERSION, "whole": sorted(left_out.whole), "entries": entries})


def _unpacked(data: bytes) -> LeftOut:
    stored = orjson.loads(data)
    if stored["version"] != VERSION:
        raise ValueError(f"it has version {stored['version']}, and this program knows {VERSION}")
    return LeftOut(_ids(stored["whole"]), {id_: _ids(those) for id_, those in stored["entries"].items()})


def _ids(stored: object) -> frozenset[str]:
    if not isinstance(stored, list) or not all(isinstance(each, str) for each in stored):
        raise TypeError("ids must be a list of texts")
    return frozenset(stored)
