"""Hugging Face, as far as models are listed and fetched: trees, redirects, ranges, and faults as told."""

from __future__ import annotations

import hashlib
from typing import Any, Self

from aiohttp import web


class HuggingFace:
    """Repositories with files.

    Attributes:
        files: The content of each file, by `repo/path`.
        asked: Path and Range of each request for a file.
        breaks_after: Bytes after which the next answers with a file break off, one each.
        changed: What is sent in place of a file, by `repo/path`.
        status: What everything is answered with, where it is not 200.
        has_ranges: Whether it can go on in the middle of a file.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.large: set[str] = set()
        self.asked: list[tuple[str, str | None]] = []
        self.breaks_after: list[int] = []
        self.changed: dict[str, bytes] = {}
        self.status = 200
        self.has_ranges = True

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_get("/api/models/{owner}/{repo}/tree/main{path:.*}", self._tree)
        application.router.add_get("/{owner}/{repo}/resolve/main/{path:.*}", self._resolve)
        application.router.add_get("/cdn/{key:.*}", self._file)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.root = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def add(self, repo: str, path: str, data: bytes, *, large: bool = False) -> None:
        """Put a file into a repository; a large one has a SHA-256."""
        self.files[f"{repo}/{path}"] = data
        if large:
            self.large.add(f"{repo}/{path}")

    async def _tree(self, request: web.Request) -> web.Response:
        if self.status != 200:
            return web.Response(status=self.status)
        repo = f"{request.match_info['owner']}/{request.match_info['repo']}"
        folder = request.match_info["path"].strip("/")
        prefix = f"{repo}/{folder}/" if folder else f"{repo}/"
        entries: list[dict[str, Any]] = []
        for key, data in self.files.items():
            if key.startswith(prefix) and "/" not in key.removeprefix(prefix):
                blob = hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
                entry = {"type": "file", "oid": blob, "size": len(data), "path": key.removeprefix(f"{repo}/")}
                if key in self.large:
                    entry["oid"] = "a" * 40  # of the pointer
                    entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
                entries.append(entry)
        if not entries:
            return web.json_response({"error": "Entry not found"}, status=404)
        return web.json_response([{"type": "directory", "oid": "b" * 40, "size": 0, "path": "more"}, *entries])

    async def _resolve(self, request: web.Request) -> web.Response:
        key = "{owner}/{repo}/{path}".format(**request.match_info)
        return web.Response(status=302, headers={"Location": f"/cdn/{key}"})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        key = request.match_info["key"]
        self.asked.append((key, request.headers.get("Range")))
        data = self.changed.get(key, self.files[key])
        start = int((request.headers.get("Range") or "bytes=0-")[6:-1]) if self.has_ranges else 0
        answer = web.StreamResponse(status=206 if start else 200, headers={"Content-Length": str(len(data) - start)})
        await answer.prepare(request)
        rest = data[start:]
        if self.breaks_after:
            await answer.write(rest[: self.breaks_after.pop(0)])
            assert request.transport is not None
            request.transport.close()
            return answer
        await answer.write(rest)
        return answer
