"""The files of the last configuration that had no error, kept as they were."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hub.config.bounds import FILE_SIZE_LIMIT_BYTES
from hub.config.files import PRIVATE_FOLDER, FileProblem, HomeFiles, content_hash
from hub.security.root import Root

FOLDER = f"{PRIVATE_FOLDER}/last_good"
INDEX = f"{FOLDER}/index.json"


class LastGood:
    """Keeps and gives back the last good files.

    Args:
        root: The home directory.
    """

    def __init__(self, root: Root) -> None:
        self._root = root

    def keep(self, files: HomeFiles, hashes: Mapping[str, str]) -> None:
        """Keep the files with these hashes; one that changed in the meantime keeps its earlier version.

        Raises:
            OSError: They cannot be written.
        """
        kept = self._index()
        if kept == dict(hashes):
            return
        now: dict[str, str] = {}
        for name, digest in hashes.items():
            if kept.get(name) == digest:
                now[name] = digest
                continue
            try:
                data = files.read(name)
            except FileProblem:
                continue
            if content_hash(data) == digest:
                self._root.write_bytes(f"{FOLDER}/{name}", data, parents=True)
                now[name] = digest
        self._root.write_bytes(INDEX, json.dumps(now, sort_keys=True).encode(), parents=True)
        for name in kept.keys() - now.keys():
            if self._root.is_file(f"{FOLDER}/{name}"):
                self._root.unlink(f"{FOLDER}/{name}")

    def files(self) -> dict[str, bytes]:
        """Return the kept files by name; those that are damaged are left out."""
        found: dict[str, bytes] = {}
        for name, digest in self._index().items():
            try:
                data = self._root.read_bytes(f"{FOLDER}/{name}", FILE_SIZE_LIMIT_BYTES)
            except OSError:
                continue
            if content_hash(data) == digest:
                found[name] = data
        return found

    def _index(self) -> dict[str, str]:
        try:
            read = json.loads(self._root.read_bytes(INDEX, FILE_SIZE_LIMIT_BYTES))
        except (OSError, ValueError):
            return {}
        if not isinstance(read, dict):
            return {}
        return {name: digest for name, digest in read.items() if isinstance(name, str) and isinstance(digest, str)}
