"""The judgements of models about pairs of notes, kept so that nothing is asked twice; notes are stored as hashes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from hub.core.errors import HubError
from hub.memory.alike import Relation
from hub.memory.tidy.pairs import Pair
from hub.storage.versioned_file import VersionedFile

_log = logging.getLogger(__name__)

KEPT_LIMIT = 5_000
VERSION = 1


class Verdicts:
    """The verdicts on one agent's notes, each for the area it was given in; disposable. Everything here blocks.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = VersionedFile(path, VERSION)

    def of(self, area: str, pairs: Iterable[Pair]) -> dict[Pair, Relation]:
        """Return the stored verdicts on these pairs."""
        kept = self._read()
        return {pair: Relation(kept[name]) for pair in pairs if (name := _name(area, pair)) in kept}

    def keep(self, area: str, judged: Mapping[Pair, Relation]) -> None:
        """Store verdicts, keeping only the newest; those that cannot be written are asked for again later."""
        kept = self._read() | {_name(area, pair): relation.value for pair, relation in judged.items()}
        newest = dict(list(kept.items())[-KEPT_LIMIT:])
        try:
            self._file.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file.write(newest)
        except (HubError, OSError) as error:
            _log.warning("what was said of notes is not kept: %s", error)

    def _read(self) -> dict[str, str]:
        try:
            kept = self._file.read()
        except HubError as error:
            _log.warning("what was said of notes before cannot be read: %s", error.message)
            return {}
        if not isinstance(kept, dict):
            return {}
        return {str(name): said for name, said in kept.items() if isinstance(said, str) and said in frozenset(Relation)}


def _name(area: str, pair: Pair) -> str:
    # Notes next to a pair may influence its verdict, so it decides nothing in another person's memory.
    return sha256("\x00".join((area, *pair)).encode("utf-8", "surrogatepass")).hexdigest()
