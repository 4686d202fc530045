"""A small JSON file in which an integration keeps what must survive a restart."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from hub.core.errors import HubError
from hub.core.executors import DOCUMENTS
from hub.storage.files import FILES, Documents

SIZE_LIMIT_BYTES = 4 * 1024 * 1024


class JsonStorage:
    """One JSON file below `.storage/integrations/`, written atomically.

    Args:
        path: The file; its folder is made when something is saved.
        documents: Where the home keeps it.
    """

    def __init__(self, path: Path, documents: Documents = FILES) -> None:
        self.path = path
        self._documents = documents
        self._saving = asyncio.Lock()

    async def load(self, default: Any = None) -> Any:
        """Return the saved data, or `default` if there is none.

        Raises:
            HubError: The file is damaged or too large.
        """
        try:
            data = await asyncio.to_thread(self._documents.read, self.path, SIZE_LIMIT_BYTES)
        except FileNotFoundError:
            return default
        try:
            return json.loads(data)
        except ValueError as error:
            raise HubError(f"{self.path} is damaged: {error}") from error

    async def save(self, data: Any) -> None:
        """Save data; it is on disk when this returns.

        Raises:
            HubError: It is larger than 4 MiB, or the disk refuses it.
        """
        text = json.dumps(data, ensure_ascii=False).encode()
        if len(text) > SIZE_LIMIT_BYTES:
            raise HubError(f"{self.path.name} would be larger than {SIZE_LIMIT_BYTES} bytes and was not saved")
        async with self._saving:
            await DOCUMENTS.run(self._documents.write, self.path, text)
