"""A camera on a socket: single pictures and MJPEG, with the faults that cameras have."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from typing import Self

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"thumbnail \xff\xd8\xff\xd9 inside " + b"x" * 3_000 + b"\xff\xd9"
_BASIC = "Basic " + base64.b64encode(b"door:pass word").decode()


class CameraDouble:
    """Answers by path; `asked` has the first lines of the requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.stuck = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stuck.set()
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.splitlines()[0])
        path = head.split()[1]
        try:
            await getattr(self, f"_{path.strip('/').partition('?')[0]}")(head, writer)
            await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def _still(self, head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_answer(f"Content-Type: image/jpeg\r\nContent-Length: {len(JPEG)}") + JPEG)

    async def _page(self, head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_answer("Content-Type: image/jpeg") + b"<html>please sign in</html>")

    async def _locked(self, head: str, writer: asyncio.StreamWriter) -> None:
        if _BASIC in head:
            await self._still(head, writer)
            return
        writer.write(b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="cam"\r\nContent-Length: 0\r\n\r\n')

    async def _digest(self, head: str, writer: asyncio.StreamWriter) -> None:
        def md5(*parts: str) -> str:
            return hashlib.md5(":".join(parts).encode()).hexdigest()

        said = dict(re.findall(r'(\w+)="?([^",\s]+)"?', head.partition("Digest ")[2]))
        one, two = md5("door", "cam", "pass word"), md5("GET", "/digest")
        if said.get("response") == md5(one, "n1", said.get("nc", ""), said.get("cnonce", ""), "auth", two):
            await self._still(head, writer)
            return
        challenge = 'WWW-Authenticate: Digest realm="cam", nonce="n1", qop="auth"'
        writer.write(f"HTTP/1.1 401 No\r\n{challenge}\r\nContent-Length: 0\r\n\r\n".encode())

    async def _elsewhere(self, head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /still\r\nContent-Length: 0\r\n\r\n")

    async def _stream(self, head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_MULTIPART + _part(JPEG, len(JPEG)) + _part(JPEG, len(JPEG)))
        await self.stuck.wait()

    async def _lies(self, head: str, writer: asyncio.StreamWriter) -> None:
        """Say a length that is too short, in the first part."""
        writer.write(_MULTIPART + _part(JPEG, 17) + _part(JPEG, 1_000_000))
        await self.stuck.wait()

    async def _once(self, head: str, writer: asyncio.StreamWriter) -> None:
        """Send a whole picture, and close."""
        writer.write(_MULTIPART + _part(JPEG, len(JPEG)))

    async def _broken(self, head: str, writer: asyncio.StreamWriter) -> None:
        """Close in the middle of a picture, and of a chunk."""
        writer.write(_answer("Transfer-Encoding: chunked\r\nContent-Type: multipart/x-mixed-replace;boundary=b"))
        writer.write(b"fff\r\n" + _part(JPEG[:1_000], len(JPEG)))

    async def _endless(self, head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_MULTIPART)
        for _ in range(200):
            writer.write(b"\xff\xd8\xff" + b"y" * 100_000)
            await writer.drain()


_MULTIPART = b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=b\r\n\r\n"


def _answer(headers: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nConnection: close\r\n{headers}\r\n\r\n".encode()


def _part(data: bytes, said: int) -> bytes:
    return f"--b\r\nContent-Type: image/jpeg\r\nContent-Length: {said}\r\n\r\n".encode() + data + b"\r\n"
