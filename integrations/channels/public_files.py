"""Files for platforms that take a file by its address: each has one that nobody can guess, for a day."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import stat
from pathlib import Path
from urllib.parse import quote

import msgspec
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import NotFound
from hub.core.surfaces import HttpCall, Open, Route
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import OutboundMedia

LIFE_S = 86_400.0
KEPT = 1_000
PIECE_BYTES = 65_536
_SHOWN = ("image/jpeg", "image/png", "image/gif", "image/webp", "audio/", "video/", "application/pdf", "text/plain")
"""Types that no script can hide in; others are named as bytes."""


class _Offered(msgspec.Struct, frozen=True):
    path: str
    file: tuple[int, ...]
    """Device, number, size and time: what lies there later, or was written into it, is another file."""
    mime_type: str
    until: float


class PublicFiles:
    """Serves attachments for the accounts of one integration.

    Args:
        kept: Keeps what was offered over restarts, by digests of the tokens.
    """

    def __init__(self, domain: str, kept: JsonStorage, clock: Clock) -> None:
        self._domain = domain
        self._kept = kept
        self._clock = clock
        self._offered: dict[str, _Offered] = {}

    async def load(self) -> None:
        """Read what earlier runs offered."""
        self._offered = msgspec.convert(await self._kept.load({}), dict[str, _Offered])

    def route(self) -> Route:
        """Return the route that serves them."""
        return Route("GET", f"/{self._domain}/files/{{token}}/{{name}}", self._serve, self._domain, Open.SELF)

    async def offer(self, media: OutboundMedia, public_url: str) -> str:
        """Return the address of an attachment, which is good for a day.

        Args:
            public_url: The hub's address on the internet.

        Raises:
            OSError: It cannot be read.
            HubError: It cannot be kept.
        """
        found = await asyncio.to_thread(os.stat, media.path, follow_symlinks=False)
        token, now = secrets.token_urlsafe(32), self._clock.time()
        mime_type = media.mime_type.partition(";")[0].strip().lower()
        offered = _Offered(media.path, _identity(found), mime_type, now + LIFE_S)
        good = [(key, each) for key, each in self._offered.items() if each.until > now]
        self._offered = dict([*good, (_digest(token), offered)][-KEPT:])
        await self._kept.save(msgspec.to_builtins(self._offered))
        return f"{public_url}/{self._domain}/files/{token}/{quote(media.name or Path(media.path).name, safe='')}"

    async def _serve(self, call: HttpCall) -> web.StreamResponse:
        """`GET /<domain>/files/<token>/<name>`: the file, for whoever was told its address."""
        offered = self._offered.get(_digest(call.params["token"]))
        if offered is None or offered.until <= self._clock.time():
            raise NotFound("there is no such file, or no longer")
        try:
            descriptor = await asyncio.to_thread(_opened, offered)
        except OSError as error:
            raise NotFound("the file is gone") from error
        with os.fdopen(descriptor, "rb") as file:
            response = web.StreamResponse()
            response.content_length = os.fstat(descriptor).st_size
            is_shown = offered.mime_type.startswith(_SHOWN)
            response.content_type = offered.mime_type if is_shown else "application/octet-stream"
            if not is_shown:
                response.headers["Content-Disposition"] = "attachment"
            response.headers.update({"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"})
            await response.prepare(call.request)
            left = response.content_length
            while left and call.request.method == "GET" and (piece := await asyncio.to_thread(file.read, PIECE_BYTES)):
                await response.write(piece[:left])  # what is appended meanwhile was not announced
                left -= len(piece[:left])
        return response


def _opened(offered: _Offered) -> int:
    """Return a descriptor of the file that was offered.

    Raises:
        OSError: It is gone, or another one lies there.
    """
    descriptor = os.open(offered.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if _identity(found) != offered.file or not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise OSError("another file is in its place")
    return descriptor


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
