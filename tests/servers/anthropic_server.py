"""A server with the Messages API of Anthropic that answers what a `Script` says, for the steps that a run meets.

The form of its events is that of platform.claude.com/docs/en/build-with-claude/streaming, that of its errors the one of
docs/en/api/errors.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.servers.openai_script import Recorded, Script, Step

HOLD_POLL_S = 0.005
ERRORS = {401: "authentication_error", 402: "billing_error", 429: "rate_limit_error", 529: "overloaded_error"}
USAGE = {"input_tokens": 10, "output_tokens": 1}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "c", "usage": USAGE}


class AnthropicServer(Script):
    """The server, in the event loop of the test."""

    async def __aenter__(self) -> Self:
        """Start it."""
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.router.add_post("/v1/messages", self._answer)
        self._server = TestServer(application)
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop it."""
        await self._server.close()

    @property
    def base_url(self) -> str:
        """What goes into `base_url`."""
        return str(self._server.make_url("")).rstrip("/")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.record(Recorded(request.path, {}, body, 0, 0))
        steps = self.answer_for(body)
        if (status := steps[0].get("status")) is not None:
            error = {
                "type": ERRORS.get(status, "invalid_request_error"),
                "message": steps[0]["body"]["error"]["message"],
            }
            return web.json_response({"type": "error", "error": error}, status=status)
        stream = _MessageStream(web.StreamResponse(headers={"Content-Type": "text/event-stream"}))
        await stream.response.prepare(request)
        await stream.send({"type": "message_start", "message": MESSAGE})
        for step in steps:
            if "hold" in step:
                while not self.released(step["hold"]):  # noqa: ASYNC110  as in the other double
                    await asyncio.sleep(HOLD_POLL_S)
            elif "disconnect" in step:
                assert request.transport is not None
                request.transport.abort()
                return stream.response
            else:
                await stream.step(step)
        await stream.end()
        return stream.response


class _MessageStream:
    """One answer under way."""

    def __init__(self, response: web.StreamResponse) -> None:
        self.response = response
        self._blocks = 0
        self._stop = "end_turn"

    async def send(self, event: dict[str, Any]) -> None:
        await self.response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    async def step(self, step: Step) -> None:
        if "text" in step:
            await self._block({"type": "text", "text": ""}, {"type": "text_delta", "text": step["text"]})
            return
        call = step["tool_call"]
        raw = call["arguments"] if isinstance(call["arguments"], str) else json.dumps(call["arguments"])
        self._stop = "tool_use"
        block = {"type": "tool_use", "id": f"toolu_{id(step)}_{self._blocks}", "name": call["name"], "input": {}}
        await self._block(block, {"type": "input_json_delta", "partial_json": raw})

    async def end(self) -> None:
        await self.send({"type": "message_delta", "delta": {"stop_reason": self._stop}, "usage": {"output_tokens": 3}})
        await self.send({"type": "message_stop"})
        await self.response.write_eof()

    async def _block(self, start: dict[str, Any], delta: dict[str, Any]) -> None:
        index, self._blocks = self._blocks, self._blocks + 1
        await self.send({"type": "content_block_start", "index": index, "content_block": start})
        await self.send({"type": "content_block_delta", "index": index, "delta": delta})
        await self.send({"type": "content_block_stop", "index": index})
