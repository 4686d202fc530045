"""`/api/tags`, `/api/show`, `/api/version` and `/api/chat`: the hub's agents for clients of Ollama's API."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, In, Length, Optional, Schema, boolean
from hub.core.surfaces import READ, WRITE, HttpCall, Route
from hub.gateway.connection.server import json_response
from hub.gateway.http_api.answers import AnswerShape, serve
from hub.gateway.http_api.client_tools import malformed, read_tools
from hub.gateway.http_api.kept_runs import Answer
from hub.gateway.http_api.openai_shapes import (
    BODY_LIMIT_BYTES,
    MESSAGES_LIMIT,
    MODEL,
    agent_of,
    enumerate_items,
    model_names,
    prompt_tokens,
    read_messages,
)
from hub.gateway.http_api.runs import ApiRequest, ApiRuns
from hub.models.answer_form import AnswerForm
from hub.models.images import image_type
from hub.models.thinking import WORDS
from hub.tools.json_check import check_schema

VERSION = "0.13.0"
"""The version of Ollama's interface that is spoken; some programs ask for a least one."""
LATEST = ":latest"
_DETAILS = {"parent_model": "", "format": "", "family": MODEL, "families": [MODEL]}
_DETAILS |= {"parameter_size": "", "quantization_level": ""}
_NAME = All(str, Length(min=1, max=200))

CHAT_SCHEMA = Schema(
    {
        Optional("model", default=MODEL): _NAME,
        Optional("messages", default=list): All(list, Length(max=MESSAGES_LIMIT)),
        Optional("stream", default=True): AnyOf(boolean, None),
        Optional("format"): AnyOf(None, str, dict),
        Optional("think"): AnyOf(None, boolean, In(list(WORDS))),
    },
    extra=ALLOW_EXTRA,
)
_NAME_OR_NONE = All(str, Length(max=200))
SHOW_SCHEMA = Schema({Optional("model"): _NAME_OR_NONE, Optional("name"): _NAME_OR_NONE}, extra=ALLOW_EXTRA)
"""Clients send the older `name` too, and leave it empty."""


class OllamaApi:
    """Answers the requests of Ollama's clients with runs.

    Args:
        agents: The agents.
        runs: Makes and follows runs.
    """

    def __init__(self, agents: Agents, runs: ApiRuns) -> None:
        self._agents = agents
        self._runs = runs

    def routes(self) -> list[Route]:
        """Return the routes."""
        limits: dict[str, Any] = {"body": CHAT_SCHEMA, "body_limit": BODY_LIMIT_BYTES}
        return [
            Route("GET", "/api/version", self.version, "gateway", scope=READ, show_error=show_error),
            Route("GET", "/api/tags", self.tags, "gateway", scope=READ, show_error=show_error),
            Route("POST", "/api/show", self.show, "gateway", scope=READ, show_error=show_error, body=SHOW_SCHEMA),
            Route("POST", "/api/chat", self.chat, "gateway", scope=WRITE, show_error=show_error, **limits),
        ]

    async def version(self, call: HttpCall) -> web.StreamResponse:
        """Return the emulated version."""
        return json_response({"version": VERSION})

    async def tags(self, call: HttpCall) -> web.StreamResponse:
        """Return the agents, as models."""
        told = {"modified_at": self._now(), "size": 0, "digest": "0" * 64, "details": _DETAILS}
        return json_response(
            {
                "models": [
                    {"name": f"{name}{LATEST}", "model": f"{name}{LATEST}", **told}
                    for name in model_names(self._agents)
                ]
            }
        )

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """Return the capabilities of the agent that a name means: the default one for other names."""
        name = call.body.get("model") or call.body.get("name")
        if not name:
            raise malformed("model", "expected the name of a model")
        agent_of(name.removesuffix(LATEST), self._agents)
        told = {"modelfile": "", "parameters": "", "template": "", "details": _DETAILS, "modified_at": self._now()}
        info = {"general.architecture": MODEL}
        return json_response(
            {**told, "model_info": info, "capabilities": ["completion", "tools", "vision", "thinking"]}
        )

    async def chat(self, call: HttpCall) -> web.StreamResponse:
        """Answer one request; one without messages is a request to load the model, which needs nothing."""
        body = call.body
        model, think = body["model"], body.get("think")
        shape = _ChatLines(model, self._runs.clock)
        if not body["messages"]:
            agent_of(model.removesuffix(LATEST), self._agents)
            return json_response(shape.line(done=True, done_reason="load"))
        system, messages = read_messages(_messages(body["messages"]))
        asked = ApiRequest(
            model.removesuffix(LATEST),
            messages,
            system,
            tools=read_tools(body.get("tools"), None),
            form=_form(body.get("format")),
            thinking=("medium" if think else "off") if isinstance(think, bool) else WORDS.get(think or ""),
            stream=body.get("stream") is not False,
        )
        return await serve(self._runs, call, asked, shape)

    def _now(self) -> str:
        return self._runs.clock.now().isoformat()


class _ChatLines(AnswerShape):
    """One answer, or its lines; a line without text is a keepalive."""

    content_type = "application/x-ndjson"

    def __init__(self, model: str, clock: Clock) -> None:
        self._model = model
        self._clock = clock
        self._begun_s = clock.monotonic()

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        took_ns = int((self._clock.monotonic() - self._begun_s) * 1e9)
        usage = answer.usage
        counts = {"prompt_eval_count": prompt_tokens(usage), "eval_count": usage.output_tokens}
        spent = {"total_duration": took_ns, "load_duration": 0, "prompt_eval_duration": 0, "eval_duration": took_ns}
        reason = "length" if answer.stop in ("length", "limit") else "stop"
        calls = [_call(call.id, call.name, call.arguments) for call in answer.calls]
        return self.line(answer.text, calls, done=True, done_reason=reason, **counts, **spent, **answer.beside)

    def keepalive(self) -> bytes:
        return self.delta("")

    def opening(self) -> bytes:
        return b""

    def delta(self, text: str) -> bytes:
        return orjson.dumps(self.line(text)) + b"\n"

    def closing(self, text: str, answer: Answer) -> bytes:
        said = b""
        if answer.calls:
            calls = [_call(call.id, call.name, call.arguments) for call in answer.calls]
            said = orjson.dumps(self.line("", calls)) + b"\n"
        end = {**self.whole(answer), "message": {"role": "assistant", "content": ""}}
        return said + orjson.dumps(end) + b"\n"

    def broken(self, error: HubError) -> bytes:
        return orjson.dumps(self.error(error)) + b"\n"

    def error(self, error: HubError) -> Mapping[str, Any]:
        return show_error(error)

    def line(
        self, text: str = "", calls: list[dict[str, Any]] | None = None, *, done: bool = False, **more: Any
    ) -> dict[str, Any]:
        """Return one object of the answer."""
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return {
            "model": self._model,
            "created_at": self._clock.now().isoformat(),
            "message": message,
            "done": done,
            **more,
        }


def show_error(error: HubError) -> Mapping[str, Any]:
    """Return an error in Ollama's shape."""
    return {"error": error.message}


def _messages(given: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield messages in the Chat Completions form: pictures are parts, and calls and results have ids.

    Where the client has none, results follow their calls in order.
    """
    waiting: list[str] = []
    for at, (place, each) in enumerate(enumerate_items(given, "messages")):
        calls, content, images = each.get("tool_calls"), each.get("content"), each.get("images") or []
        if each.get("role") == "tool":
            yield place, {"tool_call_id": waiting.pop(0) if waiting else f"of_{at}", **each}
            continue
        if isinstance(calls, list) and calls:
            calls = [
                {"id": f"of_{at}_{number}", **call} if isinstance(call, Mapping) else call
                for number, call in enumerate(calls)
            ]
            waiting = [call["id"] for call in calls if isinstance(call, Mapping)]
        if not isinstance(images, list):
            raise malformed(f"{place}.images", "expected a list")
        if images and isinstance(content, str | None):
            text = [{"type": "text", "text": content}] if content else []
            content = [*text, *(_image(image, f"{place}.images") for image in images)]
        yield place, {**each, "content": content, "tool_calls": calls}


def _image(given: Any, place: str) -> Mapping[str, Any]:
    try:
        kind = image_type(b64decode(given, validate=True)) if isinstance(given, str) else None
    except (binascii.Error, ValueError):
        kind = None
    if kind is None:
        raise malformed(place, "expected a PNG, JPEG, GIF or WebP in base64")
    return {"type": "image_url", "image_url": f"data:{kind};base64,{given}"}


def _form(given: Any) -> AnswerForm | None:
    if isinstance(given, Mapping):
        check_schema(given)
        return AnswerForm(given)
    if given not in (None, "", "json"):
        raise malformed("format", "expected json, or a JSON schema")
    return AnswerForm() if given else None


def _call(id: str, name: str, arguments: str) -> dict[str, Any]:
    try:
        read = orjson.loads(arguments or "{}")
    except ValueError:
        read = {"malformed_arguments": arguments}
    return {"id": id, "function": {"name": name, "arguments": read if isinstance(read, dict) else {}}}
