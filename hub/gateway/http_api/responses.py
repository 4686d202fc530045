"""`/v1/responses`: the same agents through OpenAI's newer interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import HubError, NotFound
from hub.core.ids import new_id
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import WRITE, HttpCall, Route
from hub.gateway.connection.server import json_response
from hub.gateway.http_api.answers import AnswerShape, answering_route
from hub.gateway.http_api.client_tools import malformed, read_form, read_tools
from hub.gateway.http_api.kept_runs import Answer, ClientCall, KeptRun
from hub.gateway.http_api.openai_shapes import (
    EFFORT,
    MESSAGES_LIMIT,
    USUAL_KEYS,
    RunFailed,
    enumerate_items,
    prompt_tokens,
    read_messages,
    refuse,
    show_error,
    thinking_level,
)
from hub.gateway.http_api.runs import ApiRequest, ApiRuns
from hub.models.contract import Usage

PREFIX = "resp_"
CUT = {"length": "max_output_tokens", "limit": "max_output_tokens", "refused": "content_filter"}
ECHOED = ("model", "instructions", "previous_response_id", "tools", "tool_choice", "text", "metadata", "user")
"""What of a request is shown in its response."""

REQUEST_SCHEMA = Schema(
    {
        **USUAL_KEYS,
        Required("input"): AnyOf(All(str, Length(min=1)), All(list, Length(min=1, max=MESSAGES_LIMIT))),
        Optional("instructions"): AnyOf(None, str),
        Optional("previous_response_id"): AnyOf(None, All(str, Length(min=1, max=128))),
        Optional("reasoning"): AnyOf(None, {Optional("effort"): EFFORT, str: object}),
        Optional("text"): AnyOf(None, dict),
        Optional("store"): AnyOf(None, boolean),
    },
    extra=ALLOW_EXTRA,
)


class Responses:
    """Answers with runs, and keeps answers for 24 hours.

    Args:
        runs: Makes and follows runs.
    """

    def __init__(self, runs: ApiRuns) -> None:
        self._runs = runs

    def routes(self) -> list[Route]:
        """Return the routes."""
        path = "/v1/responses/{id}"
        return [
            answering_route(self._runs, "/v1/responses", REQUEST_SCHEMA, _read),
            Route("GET", path, self.get, "gateway", scope=WRITE, show_error=show_error),
            Route("DELETE", path, self.delete, "gateway", scope=WRITE, show_error=show_error),
        ]

    async def get(self, call: HttpCall) -> web.StreamResponse:
        """Return a response of the last 24 hours."""
        run = await self._kept(call)
        if run.answer is None:
            raise _not_kept(call)
        shape = _ResponseShape({"created_at": run.answer.created_s, **run.echo})
        shape.run_id = run.id
        if run.answer.error is not None:
            return json_response(shape.failed(RunFailed(run.answer.error, run.answer.status)))
        return json_response(shape.whole(run.answer))

    async def delete(self, call: HttpCall) -> web.StreamResponse:
        """Forget a response."""
        run = await self._kept(call)
        await self._runs.kept.forget(run.id)
        return json_response({"id": f"{PREFIX}{run.id}", "object": "response", "deleted": True})

    async def _kept(self, call: HttpCall) -> KeptRun:
        principal = call.known_caller.authority.principal
        run = await self._runs.kept.get(call.params["id"].removeprefix(PREFIX), principal)
        if run is None or not run.shown:
            raise _not_kept(call)
        return run


def _read(body: Mapping[str, Any], clock: Clock) -> tuple[ApiRequest, AnswerShape]:
    refuse(body, ("background", "conversation", "prompt"), "the hub does not keep this for clients")
    given, previous = body["input"], body.get("previous_response_id")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    system, messages = read_messages(_messages(given))
    asked = ApiRequest(
        body["model"],
        messages,
        "\n\n".join(filter(None, [body.get("instructions"), system])) or None,
        user=body.get("user"),
        tools=read_tools(body.get("tools"), body.get("tool_choice")),
        form=read_form((body.get("text") or {}).get("format"), "text.format"),
        thinking=thinking_level((body.get("reasoning") or {}).get("effort")),
        stream=bool(body.get("stream")),
        previous=previous.removeprefix(PREFIX) if previous else None,
        shown=body.get("store") is not False,
        echo={
            "created_at": int(clock.time()),
            **{name: body[name] for name in ECHOED if body.get(name) is not None},
        },
    )
    return asked, _ResponseShape(asked.echo)


class _ResponseShape(AnswerShape):
    """One response object, or its events."""

    def __init__(self, echo: Mapping[str, Any]) -> None:
        self._echo = echo
        self._item = f"msg_{new_id()}"
        self._sequence = -1
        self._opened = False

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        return self._finished(answer.text, answer)

    def opening(self) -> bytes:
        response = self._response("in_progress", [])
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def delta(self, text: str) -> bytes:
        said = b""
        if not self._opened:
            self._opened = True
            item = {"id": self._item, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
            part = {"type": "output_text", "text": "", "annotations": []}
            said = self._event("response.output_item.added", output_index=0, item=item)
            said += self._event("response.content_part.added", **self._place(), part=part)
        return said + self._event("response.output_text.delta", **self._place(), delta=text, logprobs=[])

    def closing(self, text: str, answer: Answer) -> bytes:
        said = b""
        if self._opened:
            part = {"type": "output_text", "text": text, "annotations": []}
            said += self._event("response.output_text.done", **self._place(), text=text, logprobs=[])
            said += self._event("response.content_part.done", **self._place(), part=part)
            said += self._event("response.output_item.done", output_index=0, item=self._message(text))
        for index, call in enumerate(answer.calls, start=int(self._opened)):
            item = _call(call)
            place = {"item_id": item["id"], "output_index": index}
            begun = item | {"arguments": "", "status": "in_progress"}
            said += self._event("response.output_item.added", output_index=index, item=begun)
            said += self._event("response.function_call_arguments.delta", **place, delta=call.arguments)
            done = {"name": call.name, "arguments": call.arguments}
            said += self._event("response.function_call_arguments.done", **place, **done)
            said += self._event("response.output_item.done", output_index=index, item=item)
        response = self._finished(text, answer)
        return said + self._event(f"response.{response['status']}", response=response)

    def broken(self, error: HubError) -> bytes:
        return self._event("response.failed", response=self.failed(error))

    def failed(self, error: HubError) -> Mapping[str, Any]:
        """Return the object of a run without an answer."""
        return self._response("failed", []) | {"error": {"code": error.code, "message": error.message}}

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

    def _finished(self, text: str, answer: Answer) -> dict[str, Any]:
        output = [self._message(text)] if text or not answer.calls else []
        output += [_call(call) for call in answer.calls]
        cut = CUT.get(answer.stop)
        response = self._response("incomplete" if cut else "completed", output)
        return response | {
            "usage": _usage(answer.usage),
            "incomplete_details": {"reason": cut} if cut else None,
            **answer.beside,
        }

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "object": "response",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "usage": None,
            **self._echo,
            "id": f"{PREFIX}{self.run_id}",
            "status": status,
            "output": output,
        }

    def _event(self, type: str, **data: Any) -> bytes:
        self._sequence += 1
        payload = {"type": type, "sequence_number": self._sequence, **data}
        return b"event: %b\ndata: %b\n\n" % (type.encode(), orjson.dumps(payload))


def _messages(given: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield items as messages of Chat Completions."""
    for place, item in enumerate_items(given, "input"):
        match item.get("type", "message"):
            case "message":
                yield place, item
            case "reasoning":
                pass  # the hub shows none of its own, and another model's means nothing to its agents
            case "function_call":
                if not isinstance(item.get("call_id"), str):
                    raise malformed(f"{place}.call_id", "expected the id of the call")
                call = {"id": item["call_id"], "function": item}
                yield place, {"role": "assistant", "tool_calls": [call]}
            case "function_call_output":
                yield place, {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
            case kind:
                raise malformed(
                    place,
                    f"an item of the type {str(kind)[:40]!r} is not supported; send message, function_call and "
                    "function_call_output",
                )


def _call(call: ClientCall) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id.removeprefix('call_')}",
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _not_kept(call: HttpCall) -> NotFound:
    return NotFound(f"there is no response {call.params['id'][:64]!r}, or no longer", details={"param": "id"})


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = prompt_tokens(usage)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + usage.output_tokens,
    }
