"""Recordings that automations name, as sound that a satellite plays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.core.errors import HubError, NotFound
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.entities.media_files import FOLDERS, MediaFiles
from hub.security.egress import Egress
from hub.voice.contract import Sound
from hub.voice.sound import AS_SAMPLES, converted

LIMIT_BYTES = 20 * 1024 * 1024
LONGEST_S = 300
_LOCAL = "media-source://media_source/local/"


class Recordings:
    """Reads recordings: files of the home's folders `media` and `www`, and addresses of the web.

    Args:
        home: The folder of the home.
        egress: Fetches what is in the web.
    """

    def __init__(self, home: Path, egress: Egress) -> None:
        self._files, self._egress = MediaFiles(home), egress

    async def sound(self, media: str | Mapping[str, Any]) -> Sound:
        """Return a recording.

        Args:
            media: Its id, or what Home Assistant's selector of media gives.

        Raises:
            NotFound: There is no such file.
            InvalidRequest: It is no recording.
            Unavailable: It takes ffmpeg, which is not installed.
            HubError: It could not be fetched.
        """
        id = media if isinstance(media, str) else f"{media.get('media_content_id', '')}"
        if id.startswith(("http://", "https://")):
            data = (await self._egress.fetch(id, limit_bytes=LIMIT_BYTES)).body
        else:
            folder, name = self._files.place(id.replace(_LOCAL, f"{FOLDERS['media']}/"))
            try:
                data = await FILES.run(self._files.root(folder).read_bytes, name, LIMIT_BYTES)
            except (OSError, HubError) as error:
                raise NotFound(phrase("there is nothing to play at {id}", id=id[:200])) from error
        return Sound(await converted(data, "-t", str(LONGEST_S), *AS_SAMPLES))
