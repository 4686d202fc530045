"""An ntfy server, as far as an account uses it: publishing and the JSON stream on real sockets, faults as told.

Written after https://docs.ntfy.sh and the server's source: what is refused there is refused here, with the same codes.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from email.header import decode_header, make_header
from typing import Any, Self

import aiohttp
from aiohttp import web

TOKEN = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
ADAS, EVES = "ada-7fK2pQx9", "eve-Zm4tRw8b"
TEXT_BYTES, ACTIONS, HEADER_BYTES = 4_096, 3, 8_190

Json = dict[str, Any]


@dataclass
class NtfyFault:
    """What goes wrong with publishing, before or after (`done`) it is done; without a status the line breaks."""

    status: int = 0
    code: int = 0
    done: bool = False


class NtfyServer:
    """A server that asks for a token, with the topics of Ada and Eve."""

    def __init__(self) -> None:
        self.token: str | None = TOKEN
        self.write_token: str | None = None
        self.messages: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.faults: list[NtfyFault] = []
        self.published = 0
        self.fetched = 0
        self.sinces: list[str] = []
        self.deaf = False
        """Whether the stream says nothing any more, though it is open; over with the next."""
        self.garbled = False
        """Whether the next message is preceded by what is not JSON."""
        self._streams: list[tuple[list[str], web.StreamResponse, web.Request]] = []
        self._ids = 0

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=200_000_000, handler_args={"max_field_size": HEADER_BYTES})
        application.router.add_get("/file/{name}", self._file)
        application.router.add_get("/{topics}/auth", self._auth)
        application.router.add_get("/{topics}/json", self._subscribe)
        application.router.add_post("/{topic}", self._publish)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    def fail(self, status: int = 0, code: int = 0, *, done: bool = False) -> None:
        """Let the next request to publish fail; with a code, by ntfy's own error."""
        self.faults.append(NtfyFault(status, code, done))

    def message(self, topic: str, text: str, **more: Any) -> Json:
        """Keep a message that nobody hears of yet."""
        self._ids += 1
        id = base64.urlsafe_b64encode(hashlib.sha256(str(self._ids).encode()).digest()).decode()[:12]
        message = {"id": id, "time": int(time.time()), "event": "message", "topic": topic, "message": text, **more}
        self.messages.append(message)
        return message

    async def say(self, text: str, topic: str = ADAS, **more: Any) -> Json:
        """Write as somebody who knows a topic."""
        message = self.message(topic, text, **more)
        await self.tell(message)
        return message

    async def tell(self, message: Json) -> None:
        """Send a message to whoever reads its topic."""
        if self.deaf:
            return
        for topics, stream, _ in list(self._streams):
            if message["topic"] in topics:
                with suppress(aiohttp.ClientConnectionError):  # a reader that is gone
                    if self.garbled:
                        self.garbled = False
                        await stream.write(b'{"id": "x\n')
                    await stream.write(json.dumps(message).encode() + b"\n")

    async def raw(self, line: bytes) -> None:
        """Send a line as it is."""
        for _, stream, _ in self._streams:
            await stream.write(line + b"\n")

    async def press(self, message: Json, label: str) -> int:
        """Do what an app does when a button is pressed; return the status."""
        action = next(each for each in message["actions"] if each["label"] == label)
        async with (
            aiohttp.ClientSession() as client,
            client.request(
                action["method"], action["url"], data=action["body"].encode(), headers=action["headers"]
            ) as answer,
        ):
            return answer.status

    def cut(self) -> None:
        """Break the streams."""
        for _, _, request in self._streams:
            if request.transport is not None:
                request.transport.abort()
        self._streams.clear()

    # --- the API ---

    def _lets_in(self, request: web.Request, *, writing: bool = False) -> web.Response | None:
        given = request.headers.get("Authorization")
        allowed = {self.token, self.write_token if writing else self.token}
        if self.token is None or (given or "").removeprefix("Bearer ") in allowed - {None}:
            return None
        return _error(403, 40301) if given is None else _error(401, 40101)

    async def _auth(self, request: web.Request) -> web.Response:
        return self._lets_in(request) or web.json_response({"success": True})

    async def _publish(self, request: web.Request) -> web.StreamResponse:
        self.published += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is None:
            return await self._published(request)
        if fault.done:
            await self._published(request)
        if not fault.status:
            assert request.transport is not None
            request.transport.abort()
        if fault.code:
            return _error(fault.status, fault.code)
        return web.Response(status=fault.status or 500, text="<html>")

    async def _published(self, request: web.Request) -> web.StreamResponse:
        if refused := self._lets_in(request, writing=True):
            return refused
        headers, body, topic = request.headers, await request.read(), request.match_info["topic"]
        more: Json = {"tags": headers["Tags"].split(",")} if "Tags" in headers else {}
        if "Title" in headers:
            more["title"] = str(make_header(decode_header(headers["Title"])))
        if "Priority" in headers:
            more["priority"] = int(headers["Priority"])
        if "Actions" in headers:
            more["actions"] = json.loads(headers["Actions"])
            if len(more["actions"]) > ACTIONS:
                return _error(400, 40018)
        if "Filename" in headers or len(body) > TEXT_BYTES:
            name = str(make_header(decode_header(headers.get("Filename", "attachment.txt"))))
            more["attachment"] = self.add_file(body, name)
            body = f"You received a file: {name}".encode()
        message = await self.say(body.decode().strip(), topic, **more)
        return web.json_response(message)

    def add_file(self, content: bytes, name: str) -> Json:
        """Keep a file; return what a message says of it."""
        self._ids += 1
        place = f"f{self._ids}"
        self.files[place] = content
        return {"name": name, "type": "text/plain", "size": len(content), "url": f"{self.url}/file/{place}"}

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched += 1
        name = request.match_info["name"]
        return web.Response(body=self.files[name]) if name in self.files else _error(404, 40401)

    async def _subscribe(self, request: web.Request) -> web.StreamResponse:
        if refused := self._lets_in(request):
            return refused
        topics, since = request.match_info["topics"].split(","), request.query["since"]
        if request.query.get("poll"):
            past = [each for each in self._after(since) if each["topic"] in topics]
            return web.Response(text="".join(json.dumps(each) + "\n" for each in past))
        self.sinces.append(since)
        self.deaf = False
        stream = web.StreamResponse()
        await stream.prepare(request)
        opened = {"id": "open", "time": int(time.time()), "event": "open", "topic": ",".join(topics)}
        here = (topics, stream, request)
        self._streams.append(here)
        past = [each for each in self._after(since) if each["topic"] in topics]
        with suppress(aiohttp.ClientConnectionError):
            for each in (opened, *past):
                await stream.write(json.dumps(each).encode() + b"\n")
            while True:
                await asyncio.sleep(0.2)
                if not self.deaf:
                    await stream.write(json.dumps({"event": "keepalive"}).encode() + b"\n")
                elif request.transport is None:
                    break
        if here in self._streams:
            self._streams.remove(here)
        return stream

    def _after(self, since: str) -> list[Json]:
        """Return the messages after one, or after a time; all, when it is not known."""
        if since.isdigit():
            return [each for each in self.messages if each["time"] >= int(since)]
        ids = [each["id"] for each in self.messages]
        return self.messages[ids.index(since) + 1 :] if since in ids else list(self.messages)


def _error(status: int, code: int) -> web.Response:
    return web.json_response({"code": code, "http": status, "error": f"refused ({code})"}, status=status)
