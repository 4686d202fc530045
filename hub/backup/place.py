"""The contract of a place for copies of backups, and its requests and their failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from hub.backup.errors import BackupFailed
from hub.backup.listings import RemoteFile
from hub.security.egress import Egress
from hub.storage.errors import from_os

if TYPE_CHECKING:
    from aiohttp import ClientResponse

SILENCE_S = 60.0
UPLOAD_BYTES_PER_S = 50_000
"""A slower line is taken for a broken one."""
LISTING_LIMIT_BYTES = 16_000_000
PIECE_BYTES = 262_144


class BackupPlace(Protocol):
    """A server with room for backups.

    Attributes:
        kind: The key of the configuration.
        title: Where it is, for people.
    """

    kind: str
    title: str

    async def put(self, path: Path, sha256: str) -> None:
        """Copy an archive there, under its name.

        Raises:
            HubError: It could not be stored; nothing of it is there under its name.
        """
        ...

    async def files(self) -> list[RemoteFile]:
        """Return the files there."""
        ...

    async def get(self, name: str, target: Path) -> None:
        """Copy an archive from there into a new file."""
        ...

    async def delete(self, name: str) -> None:
        """Delete an archive; a missing one is no error."""
        ...


class PlaceRequests:
    """The requests of one place.

    Args:
        named: The URL in the configuration: its host may be a private one.
        title: Names the place in errors.
    """

    def __init__(self, egress: Egress, named: str, title: str) -> None:
        self.egress = egress
        self._named = named
        self._title = title

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        body: bytes | None = None,
        path: Path | None = None,
        missing: bool = False,
    ) -> AsyncIterator[ClientResponse]:
        """Send a request.

        Args:
            path: A file that is sent.
            missing: Whether a 404 answer is accepted.

        Raises:
            BackupFailed: The server refuses it; the message says how to solve that.
            HubError: It does not answer.
        """
        file, limit_s = (None, SILENCE_S) if path is None else await asyncio.to_thread(_opened, path)
        try:
            async with self.egress.open(
                url, method=method, headers=headers, body=body, file=file, named=self._named, silence_s=limit_s
            ) as response:
                if response.status >= 300 and not (missing and response.status == 404):
                    raise self._refused(method, response.status)
                yield response
        finally:
            if file is not None:
                file.close()

    async def listing(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
        """Return the whole answer to a request, within a bound."""
        async with self.ask(method, url, headers, body=body) as response:
            found = b""
            async for piece in response.content.iter_chunked(PIECE_BYTES):
                found += piece
                if len(found) > LISTING_LIMIT_BYTES:
                    raise BackupFailed(f"{self._title} answers with a list that is too long")
            return found

    async def download(self, url: str, headers: Mapping[str, str], target: Path) -> None:
        """Write the answer to a GET into a new file.

        Raises:
            HubError: It cannot be had; no file is left.
        """
        file = await asyncio.to_thread(open, target, "xb")
        try:
            async with self.ask("GET", url, headers) as response:
                async for piece in response.content.iter_chunked(PIECE_BYTES):
                    await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(file.close)
        except OSError as error:
            _drop(file, target)
            raise from_os(error, target, "fetching a backup into") from error
        except BaseException:
            _drop(file, target)
            raise

    def _refused(self, method: str, status: int) -> BackupFailed:
        why = {
            401: "it does not accept the credentials; look at them in the settings of backups",
            403: "it does not allow that; look at the credentials and what they may do",
            404: "what the settings of backups name is not there; make the folder or the bucket",
            405: "it does not accept backups at this address; check the address",
            409: "the folder that the settings of backups name is not there; make it",
            413: "it takes no file of this size",
            423: "the file is locked there; try again later",
            507: "it has no room left",
        }.get(status, "try again later")
        return BackupFailed(f"{self._title} answered {method} with {status}: {why}", details={"status": status})


def _opened(path: Path) -> tuple[BinaryIO, float]:
    """Open a file that is sent; return it and how long that may take, in seconds."""
    return path.open("rb"), SILENCE_S + path.stat().st_size / UPLOAD_BYTES_PER_S


def _drop(file: BinaryIO, path: Path) -> None:
    file.close()
    path.unlink(missing_ok=True)
