"""`POST /v1/responses`: the same agents through OpenAI's newer interface."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.agent.run_request import RunRequest, RunResult
from hub.core.errors import InvalidRequest
from hub.core.ids import new_id
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema
from hub.gateway.calls.contract import HttpCall, Route
from hub.gateway.http_api.answers import KEEPALIVE, answered, failed, failure, open_stream
from hub.gateway.http_api.openai_shapes import (
    EFFORT,
    MESSAGES_LIMIT,
    USUAL_KEYS,
    RunFailed,
    answering,
    prompt_tokens,
    read_messages,
    refuse,
    split_new,
    thinking_of,
)
from hub.gateway.http_api.runs import ApiRuns, RunQuery, Target
from hub.models.contract import Message, Role, TextBlock, Usage
from hub.storage.database import Database

PREFIX = "resp_"
PARTS = {"input_text": "text", "output_text": "text", "text": "text", "input_image": "image"}

REQUEST_SCHEMA = Schema(
    {
        **USUAL_KEYS,
        Required("input"): AnyOf(All(str, Length(min=1)), All(list, Length(min=1, max=MESSAGES_LIMIT))),
        Optional("instructions"): AnyOf(None, str),
        Optional("previous_response_id"): AnyOf(None, All(str, Length(min=1, max=128))),
        Optional("reasoning"): AnyOf(None, {Optional("effort"): EFFORT, str: object}),
    },
    extra=ALLOW_EXTRA,
)


class Responses:
    """Answers with runs.

    Args:
        runs: Makes and follows runs.
        db: Knows which session a former response belongs to.
    """

    def __init__(self, runs: ApiRuns, db: Database) -> None:
        self._runs = runs
        self._db = db

    def routes(self) -> list[Route]:
        """Return the route."""
        return [answering("/v1/responses", self.respond, REQUEST_SCHEMA)]

    async def respond(self, call: HttpCall) -> web.StreamResponse:
        """Answer one request; a client that disconnects aborts the run."""
        body = call.body
        refuse(body, ("tools",), "the hub's agents use the hub's own tools; tools of clients are not called")
        refuse(body, ("background", "conversation", "prompt"), "the hub does not keep this for clients")
        target = await self._target(call, body)
        system, messages = _read_input(body["input"])
        history, message = split_new(messages, persistent=target.persistent)
        prompt = "\n\n".join(filter(None, [body.get("instructions"), system])) or None
        thinking = thinking_of((body.get("reasoning") or {}).get("effort"))
        asked = RunQuery(target, message, history, prompt, thinking)
        request = self._runs.request(call, asked)
        shape = _Shape(request, body)
        if body.get("stream"):
            return await self._stream(call, request, shape)
        async with self._runs.follow(request, streaming=False) as run:
            result = await run.result()
        if (error := failure(result)) is not None:
            return failed(error)
        return answered(shape.finished(result))

    async def _target(self, call: HttpCall, body: Mapping[str, Any]) -> Target:
        target = await self._runs.target(call, body["model"], body.get("user"))
        previous = body.get("previous_response_id")
        if not previous:
            return target
        run_id = previous.removeprefix(PREFIX)
        row = await self._db.read(
            lambda conn: conn.execute("SELECT session_key, agent_id FROM runs WHERE id = ?", (run_id,)).fetchone()
        )
        if row is None or self._runs.sessions.get(row[0]) is None:
            raise InvalidRequest(
                "previous_response_id: that conversation was not kept; name a session with `user` or "
                "x-homarus-session from its first request on",
                details={"param": "previous_response_id"},
            )
        if target.persistent and target.session_key != row[0]:
            raise InvalidRequest(
                "previous_response_id: that response belongs to another session than the one that is named",
                details={"param": "previous_response_id"},
            )
        return Target(row[1], row[0])

    async def _stream(self, call: HttpCall, request: RunRequest, shape: _Shape) -> web.StreamResponse:
        response: web.StreamResponse | None = None
        text = ""
        async with self._runs.follow(request, streaming=True) as run:
            async for piece in run.pieces(self._runs.keepalive_s):
                if response is None:
                    response = await open_stream(call)
                    await response.write(shape.opening())
                text += piece
                await response.write(shape.delta(piece) if piece else KEEPALIVE)
            result = await run.result()
        error = failure(result)
        if response is None:
            if error is not None:
                return failed(error)
            response = await open_stream(call)
            text = result.reply
            await response.write(shape.opening() + (shape.delta(text) if text else b""))
        await response.write(shape.failed(error) if error is not None else shape.closing(text, result))
        return response


class _Shape:
    """One response object and its events while it is generated."""

    def __init__(self, request: RunRequest, body: Mapping[str, Any]) -> None:
        self._id = f"{PREFIX}{request.run_id}"
        self._item = f"msg_{new_id()}"
        self._created = int(time.time())
        self._body = body
        self._sequence = -1

    def opening(self) -> bytes:
        """The events before the text."""
        response = self._response("in_progress", [])
        item = {"id": self._item, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        part = {"type": "output_text", "text": "", "annotations": []}
        return (
            self._event("response.created", response=response)
            + self._event("response.in_progress", response=response)
            + self._event("response.output_item.added", output_index=0, item=item)
            + self._event("response.content_part.added", **self._place(), part=part)
        )

    def delta(self, text: str) -> bytes:
        """The event of a piece of text."""
        return self._event("response.output_text.delta", **self._place(), delta=text, logprobs=[])

    def closing(self, text: str, result: RunResult) -> bytes:
        """The events behind the text."""
        part = {"type": "output_text", "text": text, "annotations": []}
        response = self._response("completed", [self._message(text)], result.usage)
        return (
            self._event("response.output_text.done", **self._place(), text=text, logprobs=[])
            + self._event("response.content_part.done", **self._place(), part=part)
            + self._event("response.output_item.done", output_index=0, item=self._message(text))
            + self._event("response.completed", response=response)
        )

    def failed(self, error: RunFailed) -> bytes:
        """The event of a run that failed after it had begun to speak."""
        told = {"code": error.code, "message": error.message}
        return self._event("response.failed", response=self._response("failed", []) | {"error": told})

    def finished(self, result: RunResult) -> dict[str, Any]:
        """The response object."""
        return self._response("completed", [self._message(result.reply)], result.usage)

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item, "output_index": 0, "content_index": 0}

    def _message(self, text: str) -> dict[str, Any]:
        return {
            "id": self._item,
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }

    def _response(self, status: str, output: list[dict[str, Any]], usage: Usage | None = None) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": self._body.get("instructions"),
            "model": self._body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": self._body.get("previous_response_id"),
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "usage": _usage(usage) if usage is not None else None,
        }

    def _event(self, type: str, **data: Any) -> bytes:
        self._sequence += 1
        payload = {"type": type, "sequence_number": self._sequence, **data}
        return b"event: %b\ndata: %b\n\n" % (type.encode(), orjson.dumps(payload))


def _read_input(given: str | list[Any]) -> tuple[str | None, list[Message]]:
    if isinstance(given, str):
        return None, [Message(Role.USER, (TextBlock(given),))]
    return read_messages(given, "input", PARTS, _refuse_items)


def _refuse_items(item: Mapping[str, Any], place: str) -> None:
    if item.get("type", "message") != "message":
        raise InvalidRequest(f"{place}: only messages are taken", details={"param": place})


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = prompt_tokens(usage)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + usage.output_tokens,
    }
