"""Runs as answers to requests: shared by all APIs, each with its own request reader and answer shape.

An answer is one JSON object, an error, or a stream of events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.schema import Schema
from hub.core.surfaces import HttpCall, Route
from hub.gateway.access.cross_origin import allow_origin
from hub.gateway.http_api.kept_runs import Answer
from hub.gateway.http_api.openai_shapes import RunFailed, ShowError, post_route, show_error
from hub.gateway.http_api.run_stream import RunStream
from hub.gateway.http_api.runs import ApiRequest, ApiRuns

KEEPALIVE_S = 15.0


class AnswerShape(Protocol):
    """The answer shape of one API: a stream of events, and errors in OpenAI's form, unless overridden.

    Attributes:
        run_id: The run that answers.
    """

    content_type: str = "text/event-stream"
    run_id: str = ""

    def keepalive(self) -> bytes:
        """Return a keepalive for a stream without text."""
        return b": keep-alive\n\n"

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        """Return the answer as one object."""
        ...

    def opening(self) -> bytes:
        """Return the events before the text."""
        ...

    def delta(self, text: str) -> bytes:
        """Return the event of a piece of text."""
        ...

    def closing(self, text: str, answer: Answer) -> bytes:
        """Return the events after the text."""
        ...

    def broken(self, error: HubError) -> bytes:
        """Return the event of an answer that fails after it has begun."""
        return b"data: %b\n\n" % orjson.dumps(self.error(error))

    def error(self, error: HubError) -> Mapping[str, Any]:
        """Return an error as one object."""
        return show_error(error)


Read = Callable[[Mapping[str, Any], Clock], tuple[ApiRequest, AnswerShape]]
"""Returns what a body asks for, and the shape of its answer."""


def answering_route(runs: ApiRuns, path: str, body: Schema, read: Read, show_error: ShowError = show_error) -> Route:
    """Return an API route whose requests are answered by runs."""

    async def answer(call: HttpCall) -> web.StreamResponse:
        return await serve(runs, call, *read(call.body, runs.clock))

    return post_route(path, answer, body, show_error)


async def serve(runs: ApiRuns, call: HttpCall, asked: ApiRequest, shape: AnswerShape) -> web.StreamResponse:
    """Answer one request with a run; a client that disconnects aborts it.

    Raises:
        HubError: No run was begun.
    """
    begun = await runs.begin(call, asked)
    shape.run_id = begun.run_id
    if isinstance(begun, Answer):
        return await _send(call, asked, shape, begun)
    async with begun:
        if asked.stream:
            return await _stream(call, asked, shape, begun)
        answer = await begun.answer()
    return await _send(call, asked, shape, answer)


async def _stream(call: HttpCall, asked: ApiRequest, shape: AnswerShape, run: RunStream) -> web.StreamResponse:
    response: web.StreamResponse | None = None
    text = ""
    async for piece in run.pieces(KEEPALIVE_S):
        if piece and asked.form is not None:
            continue  # it is sent once it is known to have the form
        if response is None:
            response = await open_stream(call, shape.content_type)
            run.sent = True
            await response.write(shape.opening())
        text += piece
        await response.write(shape.delta(piece) if piece else shape.keepalive())
    return await _send(call, asked, shape, await run.answer(), response, text)


async def _send(
    call: HttpCall,
    asked: ApiRequest,
    shape: AnswerShape,
    answer: Answer,
    response: web.StreamResponse | None = None,
    text: str = "",
) -> web.StreamResponse:
    """Send an answer, or the unsent rest of it."""
    error = RunFailed(answer.error, answer.status) if answer.error is not None else None
    if error is not None and response is None:
        return _json(shape.error(error), error.http_status, {"x-should-retry": "false"})
    if not asked.stream:
        return _json(shape.whole(answer))
    if response is None:
        response = await open_stream(call, shape.content_type)
        await response.write(shape.opening())
    if error is not None:
        await response.write(shape.broken(error))
        return response
    if not text and answer.text:
        text = answer.text
        await response.write(shape.delta(text))
    await response.write(shape.closing(text, answer))
    return response


def _json(data: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    told = {"Cache-Control": "no-store", **(headers or {})}
    return web.Response(body=orjson.dumps(data), status=status, content_type="application/json", headers=told)


async def open_stream(call: HttpCall, content_type: str) -> web.StreamResponse:
    """Begin a streamed answer."""
    headers = {
        "Cache-Control": "no-store",
        "Server": "homarus",
        "X-Accel-Buffering": "no",
        "X-Content-Type-Options": "nosniff",
        **allow_origin(call.request),
    }
    response = web.StreamResponse(headers=headers)
    response.content_type = content_type
    response.charset = "utf-8"
    await response.prepare(call.request)
    return response
