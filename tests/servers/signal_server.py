"""The daemon of signal-cli (`--http`, `--receive-mode=on-connection`): real sockets, faults as told.

Written after its manual pages and source. It keeps nothing for a client that was away: what comes meanwhile waits at
Signal's servers until the next stream is opened.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from aiohttp import web

NUMBER, ME = "+4915100000000", "aaaaaaaa-0000-0000-0000-000000000000"
ADA = "bbbbbbbb-0000-0000-0000-000000000007"
GROUP = "R3JvdXAgSWQgV2l0aCBDYXNl=="

STYLES = ("BOLD", "ITALIC", "STRIKETHROUGH", "MONOSPACE", "SPOILER")

Json = dict[str, Any]


@dataclass
class SignalFault:
    """What goes wrong with a method: an error, results of recipients, a status; else the line breaks."""

    method: str
    error: Json | None = None
    results: list[Json] | None = None
    status: int = 0
    body: str = ""
    done: bool = False


class SignalServer:
    """One account, whose people and groups exist when they are spoken of."""

    def __init__(self, number: str = NUMBER, me: str = ME) -> None:
        self.number, self.me = number, me
        self.calls: list[tuple[str, Json]] = []
        self.faults: list[SignalFault] = []
        self.registered = True
        self.sent: list[Json] = []
        self.uploaded: list[bytes] = []
        self.attachments: dict[str, bytes] = {}
        self.reactions: dict[int, list[str]] = {}
        self.streams = 0
        self.keep_alive_s = 15.0
        self.contacts: list[Json] = []
        self.groups: list[Json] = []
        self.deaf = False
        """Whether the stream says nothing any more, though it is open; over with the next."""
        self._events: asyncio.Queue[str | None] = asyncio.Queue()
        self._streaming: web.Request | None = None
        self._last = 0

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/api/v1/rpc", self._rpc)
        application.router.add_get("/api/v1/events", self._stream)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    def fail(self, method: str, **more: Any) -> None:
        """Let the next call of a method fail."""
        self.faults.append(SignalFault(method, **more))

    def asked(self, method: str) -> list[Json]:
        """Return the parameters of the calls of a method."""
        return [params for name, params in self.calls if name == method]

    def cut(self) -> None:
        """Break the stream."""
        if self._streaming is not None and self._streaming.transport is not None:
            self._streaming.transport.abort()
        self._streaming = None

    def now_ms(self) -> int:
        """Return the time, greater than the last."""
        self._last = max(self._last + 1, time.time_ns() // 1_000_000)
        return self._last

    def says(self, text: str | None, who: str = ADA, group: str | None = None, **more: Any) -> Json:
        """Let somebody write; return the envelope."""
        timestamp = self.now_ms()
        data: Json = {"timestamp": timestamp, "message": text, **more}
        if group is not None:
            name = next((each["name"] for each in self.groups if each["id"] == group), None)
            data["groupInfo"] = {"groupId": group, "groupName": name, "revision": 1, "type": "DELIVER"}
        return self.envelope(dataMessage=data, timestamp=timestamp, sourceUuid=who)

    def envelope(self, **envelope: Any) -> Json:
        """Send an envelope."""
        whole = {"sourceUuid": ADA, "sourceNumber": None, "sourceName": "Ada", "sourceDevice": 1, **envelope}
        self.push(json.dumps({"envelope": whole, "account": self.number}))
        return whole

    def push(self, data: str) -> None:
        """Send an event as it is."""
        self._events.put_nowait(data)

    # --- the daemon ---

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("account") not in (None, self.number):
            return web.Response(status=400)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b":\n\n")
        self.streams += 1
        self.deaf = False
        self._streaming = request
        while True:
            try:
                data = await asyncio.wait_for(self._events.get(), self.keep_alive_s)
            except TimeoutError:
                if request.transport is None or request.transport.is_closing():
                    return response
                if not self.deaf:
                    await response.write(b":\n\n")
                continue
            if self.deaf or self._streaming is not request:
                self._events.put_nowait(data)
                await asyncio.sleep(0.01)
                if self._streaming is not request:
                    return response
                continue
            await response.write(f"event:receive\ndata:{data}\n\n".encode())

    async def _rpc(self, request: web.Request) -> web.StreamResponse:
        if request.content_type != "application/json":
            return web.Response(status=415)
        body = await request.json()
        method, params = body["method"], body["params"]
        self.calls.append((method, params))
        fault = next((each for each in self.faults if each.method == method), None)
        if fault is None:
            return self._answered(body["id"], self._result(method, params))
        self.faults.remove(fault)
        if fault.done:
            self._result(method, params)
        if fault.error is not None:
            return self._answered(body["id"], fault.error, "error")
        if fault.results is not None:
            return self._answered(body["id"], {"timestamp": self.now_ms(), "results": fault.results})
        if not fault.status and request.transport is not None:
            request.transport.abort()
        return web.Response(status=fault.status or 500, text=fault.body)

    def _result(self, method: str, params: Json) -> Any:
        if not self.registered:
            return None
        handlers: dict[str, Callable[[Json], Any]] = {
            "version": lambda _: {"version": "0.14.1"},
            "getUserStatus": lambda _: [
                {"recipient": self.number, "number": self.number, "uuid": self.me, "isRegistered": True}
            ],
            "send": self._send,
            "sendPollCreate": self._send,
            "remoteDelete": self._delete,
            "sendReaction": self._react,
            "sendTyping": lambda _: {},
            "listContacts": lambda _: self.contacts,
            "listGroups": lambda _: self.groups,
            "getAttachment": lambda given: {"data": base64.b64encode(self.attachments[given["id"]]).decode()},
        }
        return handlers[method](params)

    def _send(self, params: Json) -> Json:
        units = len(params.get("message", "").encode("utf-16-le")) // 2
        for style in params.get("textStyle", ()):
            start, length, name = style.split(":")
            assert name in STYLES
            assert int(length) > 0
            assert int(start) + int(length) <= units
        timestamp = self.now_ms()
        if edited := params.get("editTimestamp"):
            next(each for each in self.sent if each["timestamp"] == edited)["message"] = params["message"]
        else:
            for path in params.get("attachments", ()):
                self.uploaded.append(Path(path).read_bytes())
            self.sent.append({**params, "timestamp": timestamp})
        return {"timestamp": timestamp, "results": [{"type": "SUCCESS"}]}

    def _delete(self, params: Json) -> Json:
        self.sent = [each for each in self.sent if each["timestamp"] != params["targetTimestamp"]]
        return {"timestamp": self.now_ms(), "results": [{"type": "SUCCESS"}]}

    def _react(self, params: Json) -> Json:
        shown = self.reactions.setdefault(params["targetTimestamp"], [])
        shown[:] = [] if params.get("remove") else [params["emoji"]]
        return {"timestamp": self.now_ms(), "results": [{"type": "SUCCESS"}]}

    def _answered(self, id: str, result: Any, key: str = "result") -> web.Response:
        if result is None:
            key, result = "error", {"code": -1, "message": "Specified account does not exist"}
        return web.json_response({"jsonrpc": "2.0", "id": id, key: result})
