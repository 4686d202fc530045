"""Small JSON files with a version: upgraded when old, refused when newer, set aside when damaged."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hub.core.errors import LimitExceeded
from hub.storage.errors import NewerSchema
from hub.storage.files import FILES, Documents

_log = logging.getLogger(__name__)

Upgrade = Callable[[int, Any], Any]
"""Takes the version found and its data; returns the data of the present version."""

SIZE_LIMIT_BYTES = 16 * 1024 * 1024


class VersionedFile:
    """A JSON file `{"version": …, "data": …}`, written whole or not at all.

    Args:
        path: The file.
        version: The version this program writes, from 1.
        upgrade: Turns the data of an older version into that of this one; raises what it cannot read.
        documents: Where the home keeps it.
    """

    def __init__(
        self, path: Path, version: int, upgrade: Upgrade | None = None, *, documents: Documents = FILES
    ) -> None:
        self.path = path
        self.documents = documents
        self.version = version
        self._upgrade = upgrade
        self.set_aside: Path | None = None
        """Where a damaged file was put when it was read, for a repair."""

    def read(self) -> Any:
        """Return the data; None when there is no file, or it was damaged and set aside.

        Raises:
            NewerSchema: A newer program wrote it; it was not changed.
            StorageError: It could not be read.
        """
        try:
            raw = self.documents.read(self.path, SIZE_LIMIT_BYTES)
        except FileNotFoundError:
            return None
        except LimitExceeded:
            return self._put_aside(f"it is larger than {SIZE_LIMIT_BYTES} bytes")
        try:
            stored = json.loads(raw)
            version, data = stored["version"], stored["data"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return self._put_aside(f"it is no versioned JSON ({type(error).__name__})")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            return self._put_aside(f"its version is {version!r}")
        if version > self.version:
            raise NewerSchema(
                f"{self.path} has version {version}, and this version of Homarus knows {self.version} at most; it was "
                "written by a newer Homarus and is unchanged",
                details={"file": str(self.path), "found": version, "known": self.version},
            )
        if version == self.version:
            return data
        if self._upgrade is None:
            return self._put_aside(f"its version {version} can no longer be read")
        # For an older version of the program, should this one be taken back.
        self.documents.write(self.path.with_name(f"{self.path.name}.version-{version}"), raw)
        try:
            return self._upgrade(version, data)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            return self._put_aside(f"its version {version} could not be upgraded ({error!r})")

    def write(self, data: Any) -> None:
        """Replace the data; it is on the disk when this returns.

        Raises:
            TypeError, ValueError: The data is not plain JSON.
            StorageError: It could not be written; the old data is untouched.
        """
        encoded = json.dumps({"version": self.version, "data": data}, ensure_ascii=False, allow_nan=False, indent=1)
        self.documents.write(self.path, encoded.encode() + b"\n")

    def _put_aside(self, reason: str) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        target, number = self.path.with_name(f"{self.path.name}.damaged-{stamp}"), 1
        while self.documents.exists(target):
            number += 1
            target = self.path.with_name(f"{self.path.name}.damaged-{stamp}-{number}")
        self.documents.rename(self.path, target)
        self.set_aside = target
        _log.error("%s is damaged: %s. It was kept as %s", self.path, reason, target.name)
