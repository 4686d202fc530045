"""Backups on a WebDAV server, such as Nextcloud or a box in the home."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hub.backup.listings import RemoteFile, parse_webdav
from hub.backup.place import PlaceRequests
from hub.core.errors import HubError
from hub.security.egress import Egress, parse_url

PARTIAL = ".part"
_WANTED = b"""<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>
<getcontentlength/><getlastmodified/><resourcetype/></prop></propfind>"""


class WebDavPlace:
    """A folder on a WebDAV server; see `BackupPlace`. An archive gets its name once all of it is there."""

    kind = "webdav"

    def __init__(self, config: Mapping[str, Any], egress: Egress) -> None:
        self._url = f"{config['url'].rstrip('/')}/"
        self.title = str(parse_url(self._url).host)
        self._requests = PlaceRequests(egress, self._url, self.title)
        self._headers: dict[str, str] = {}
        if "username" in config or "password" in config:
            password = config["password"].reveal() if "password" in config else ""
            pair = f"{config.get('username', '')}:{password}".encode()
            self._headers["Authorization"] = f"Basic {b64encode(pair).decode()}"

    async def put(self, path: Path, sha256: str) -> None:
        partial = self._at(f"{path.name}{PARTIAL}")
        try:
            headers = self._headers | {"Content-Type": "application/octet-stream"}
            async with self._requests.ask("PUT", partial, headers, path=path):
                pass
            headers = self._headers | {"Destination": self._at(path.name), "Overwrite": "F"}
            async with self._requests.ask("MOVE", partial, headers):
                pass
        except BaseException:
            with suppress(HubError):
                await self.delete(f"{path.name}{PARTIAL}")
            raise

    async def files(self) -> list[RemoteFile]:
        headers = self._headers | {"Depth": "1", "Content-Type": "application/xml"}
        data = await self._requests.listing("PROPFIND", self._url, headers, _WANTED)
        return await self._requests.egress.reader.read(
            f"the list of files of {self.title}", parse_webdav, data, returns=list[RemoteFile]
        )

    async def get(self, name: str, target: Path) -> None:
        await self._requests.download(self._at(name), self._headers, target)

    async def delete(self, name: str) -> None:
        async with self._requests.ask("DELETE", self._at(name), self._headers, missing=True):
            pass

    def _at(self, name: str) -> str:
        return f"{self._url}{quote(name)}"
