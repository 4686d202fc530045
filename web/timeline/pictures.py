"""The pictures and films that happenings name, as files: which are still there, and their bytes.

An address has a happening and a number, never a path. What is served is judged by its bytes, so that nothing else than
pictures and films leaves a folder, and nothing that a browser could run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.core.errors import HubError, NotFound
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.core.surfaces import HttpCall
from hub.entities.media_files import FOLDERS
from hub.entities.pictures import FILM_LIMIT_BYTES
from hub.models.images import image_type
from hub.security.root import Root

LATER_NS = 2_000_000_000
"""A file that was written so long after a happening holds what was seen at another time."""
_FILMS = {b"ftyp": "video/mp4", b"\x1aE\xdf\xa3": "video/webm"}

_POLICY = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"
"""A browser that shows a picture alone styles its frame itself."""

Plain = Mapping[str, Any]


class KeptPictures:
    """The files.

    Args:
        of_agent: Returns the workspace of an agent; raises `NotFound` if there is no such agent.
        of_home: Returns the folder `media` or `www`.
    """

    def __init__(self, of_agent: Callable[[str], Root], of_home: Callable[[str], Root]) -> None:
        self._of_agent, self._of_home = of_agent, of_home

    async def shown(self, rows: Iterable[Plain], path_of: Callable[[str], str]) -> dict[str, list[dict[str, str]]]:
        """Return the pictures of happenings by the id of each: address and kind; both empty for one that is gone."""
        wanted = [(str(row["id"]), list(row["pictures"])) for row in rows if row["pictures"]]
        there = await FILES.run(lambda: [[self._is_there(each) for each in found] for _, found in wanted])
        return {
            id: [
                {"src": f"{path_of(id)}/picture/{number}" if kept else "", "kind": each["kind"] if kept else ""}
                for number, (each, kept) in enumerate(zip(found, of_row, strict=True))
            ]
            for (id, found), of_row in zip(wanted, there, strict=True)
        }

    async def answer(self, call: HttpCall, pictures: Sequence[Plain]) -> web.Response:
        """Return one picture, by the number in the address; or the part of it that is asked for.

        Raises:
            NotFound: There is none, not any more, or it is something else.
        """
        number = call.params["number"]
        wanted = pictures[int(number)] if number.isdecimal() and len(number) < 4 and int(number) < len(pictures) else {}
        data = await FILES.run(self._read, wanted) if wanted else b""
        mime_type = image_type(data) or _FILMS.get(data[4:8]) or _FILMS.get(data[:4])
        if mime_type is None:
            raise NotFound(phrase("there is no such picture, or not any more"))
        headers = {
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": _POLICY,
            "Cache-Control": "private, max-age=86400",
            "Accept-Ranges": "bytes",
        }
        try:
            asked = call.request.http_range
            begin, end, _ = asked.indices(len(data))
        except ValueError:
            begin, end = 0, 0
        if begin >= end:
            return web.Response(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
        if (begin, end) == (0, len(data)):
            return web.Response(body=data, content_type=mime_type, headers=headers)
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(data)}"
        return web.Response(status=206, body=data[begin:end], content_type=mime_type, headers=headers)

    def _place(self, picture: Plain) -> tuple[Root, str]:
        if picture["agentId"] is not None:
            return self._of_agent(picture["agentId"]), picture["file"]
        folder, _, rel = picture["file"].partition("/")
        if folder not in FOLDERS:
            raise NotFound(phrase("there is no such picture, or not any more"))
        return self._of_home(folder), rel

    def _is_there(self, picture: Plain) -> bool:
        """Whether it still holds what was seen then."""
        try:
            root, rel = self._place(picture)
            return bool(root.stat(rel).mtime_ns <= picture["at"] * 1_000_000 + LATER_NS)
        except (OSError, HubError):
            return False

    def _read(self, picture: Plain) -> bytes:
        if not self._is_there(picture):
            return b""
        root, rel = self._place(picture)
        try:
            return root.read_bytes(rel, FILM_LIMIT_BYTES)
        except (OSError, HubError):  # gone since
            return b""
