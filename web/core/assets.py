"""Static files, served under a common hash, so that the content of a URL never changes."""

from __future__ import annotations

import asyncio
import gzip
import re
from hashlib import sha256
from pathlib import Path

from aiohttp import web
from msgspec import Struct

from hub.core.errors import NotFound
from hub.core.surfaces import HttpCall

STATIC_DIR = Path(__file__).parent.parent / "static"
HASH_LENGTH = 16
IMMUTABLE = "public, max-age=31536000, immutable"
COMPRESS_FROM_BYTES = 512
MIME_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


class Asset(Struct, frozen=True):
    """One servable file: its path and its name on the wire."""

    path: Path
    mime_type: str


class Assets:
    """Finds, hashes and serves the files of one folder; it is read once, with the first page.

    Args:
        folder: Root of the files.
    """

    def __init__(self, folder: Path = STATIC_DIR) -> None:
        self._folder = folder
        self._files: dict[str, Asset] | None = None
        self._version = ""

    @property
    def version(self) -> str:
        """Hash over the names and contents of all files."""
        self._load()
        return self._version

    def names(self) -> list[str]:
        """Return the names of all files, relative to the folder."""
        return sorted(self._load())

    def url(self, name: str) -> str:
        """Return the address of a file.

        Raises:
            KeyError: There is no such file; a template that names one is wrong.
        """
        files = self._load()
        if name not in files:
            raise KeyError(f"there is no static file {name!r}")
        return f"/static/{self._version}/{name}"

    async def serve(self, call: HttpCall) -> web.StreamResponse:
        """Answer `GET /static/{path:*}`; only files that were there at the first page are served.

        Raises:
            NotFound: No such file, or another version's.
        """
        version, _, name = call.params["path"].partition("/")
        files = self._load()
        asset = files.get(name)
        if asset is None or version != self._version:
            raise NotFound("there is no such static file")
        accepted = {part.split(";")[0].strip() for part in call.request.headers.get("Accept-Encoding", "").split(",")}
        encoding, body = await asyncio.to_thread(_read, asset.path, accepted)
        headers = {
            "Content-Type": asset.mime_type,
            "Cache-Control": IMMUTABLE,
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        if encoding:
            headers["Content-Encoding"] = encoding
        return web.Response(body=body, headers=headers)

    def _load(self) -> dict[str, Asset]:
        if self._files is not None:
            return self._files
        files: dict[str, Asset] = {}
        digest = sha256()
        for path in sorted(self._folder.rglob("*")):
            mime_type = MIME_TYPES.get(path.suffix)
            if mime_type is None or not path.is_file():
                continue
            name = path.relative_to(self._folder).as_posix()
            files[name] = Asset(path, mime_type)
            digest.update(name.encode() + b"\0" + sha256(path.read_bytes()).digest())
        self._version = digest.hexdigest()[:HASH_LENGTH]
        self._files = files
        return files


def _read(path: Path, accepted: set[str]) -> tuple[str | None, bytes]:
    """Return the best encoding the client takes and the file in it; siblings made at release time come first."""
    for encoding, suffix in (("br", ".br"), ("gzip", ".gz")):
        sibling = path.with_name(path.name + suffix)
        if encoding in accepted and sibling.is_file():
            return encoding, sibling.read_bytes()
    body = path.read_bytes()
    if path.suffix == ".css":
        body = minify(body)
    if "gzip" in accepted and len(body) >= COMPRESS_FROM_BYTES and path.suffix not in (".woff2", ".png"):
        return "gzip", gzip.compress(body, 9, mtime=0)
    return None, body


def minify(sheet: bytes) -> bytes:
    """Return a style sheet without its comments and the space that only people need."""
    sheet = re.sub(rb"\s+", b" ", re.sub(rb"/\*.*?\*/", b"", sheet, flags=re.DOTALL))
    return re.sub(rb":\s+", b":", re.sub(rb"\s*([{};,>/!])\s*", rb"\1", sheet)).replace(b";}", b"}")
