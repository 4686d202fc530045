"""The skills that the owner has enabled, each with its hash at that time; kept in `.storage/skills.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hub.core.errors import HubError
from hub.storage.files import FILES, Documents

FILE_NAME = "skills.json"
SIZE_LIMIT_BYTES = 4 * 1024 * 1024


class SkillPin(Struct, frozen=True, omit_defaults=True):
    """The state of one skill.

    Attributes:
        enabled: Whether the owner enabled it (True) or switched it off (False); None when neither.
        digest: The digest of all its files, as they were when it was enabled.
        at_ms: When that was.
        origin: Its origin: `kind` (zip, url, git, folder, registry, proposal), `source`, and further facts.
    """

    enabled: bool | None = None
    digest: str | None = None
    at_ms: int | None = None
    origin: Mapping[str, Any] = {}


class SkillPins:
    """What the owner accepted of each skill, by its id: its files' hashes. All methods block.

    Args:
        folder: The folder of the file: `.storage`, which no tool reaches.
        file_name: The name of the file; hooks have their own.
        documents: Where the home keeps it.
    """

    def __init__(self, folder: Path, file_name: str = FILE_NAME, *, documents: Documents = FILES) -> None:
        self._file = folder / file_name
        self._documents = documents
        self._pins: dict[str, SkillPin] | None = None

    def all(self) -> Mapping[str, SkillPin]:
        """Return all pins.

        Raises:
            HubError: The file is damaged.
        """
        if self._pins is None:
            try:
                data = self._documents.read(self._file, SIZE_LIMIT_BYTES)
                self._pins = msgspec.json.decode(data, type=dict[str, SkillPin])
            except FileNotFoundError:
                self._pins = {}
            except ValueError as error:
                told = f"{self._file} is damaged ({error}). Move it away, and enable again what you use."
                raise HubError(told) from error
        return self._pins

    def put(self, id: str, pin: SkillPin | None) -> None:
        """Store a pin, or remove it; on disk when this returns."""
        pins = dict(self.all())
        if pin is None:
            pins.pop(id, None)
        else:
            pins[id] = pin
        self._documents.write(self._file, msgspec.json.format(msgspec.json.encode(pins), indent=1))
        self._pins = pins
