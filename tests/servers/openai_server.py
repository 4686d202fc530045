"""A scripted OpenAI-compatible server: real HTTP, real streams, answers as told (see `openai_script`).

In a test: the fixture `openai_server`. As a process: `python -m tests.servers.openai_server --port 0` prints its
address as one line of JSON; `POST /control/queue` {"answers": […]}, `POST /control/rules` {"match", "answer",
"tool_result"?}, `POST /control/default` {"answer"}, `POST /control/release` {"name"}, `POST /control/key` {"key"},
`POST /control/models` {"models": […]}, `POST /control/reset`, `GET /control/requests[?path=…]`.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from tests.servers.openai_script import Answer, Recorded, Script, Step, last_user_text
from tests.servers.scripted import START_LIMIT_S, ServerProcess, ThreadedServer

BODY_LIMIT_BYTES = 64 * 1024 * 1024
HOLD_POLL_S = 0.005
SPEECH = {
    "opus": ("audio/ogg", b"OggS"),
    "mp3": ("audio/mpeg", b"\xff\xf3"),
    "wav": ("audio/wav", b"RIFF\xff\xff\xff\xffWAVE"),
    "flac": ("audio/flac", b"fLaC"),
}


class _Handlers:
    """The HTTP face of a script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._count = 0

    def application(self) -> web.Application:
        application = web.Application(client_max_size=BODY_LIMIT_BYTES)
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/api/tags", self._tags)
        application.router.add_get("/control/requests", self._requests)
        application.router.add_post("/control/{what}", self._control)
        application.router.add_post("/v1/chat/completions", self._complete)
        application.router.add_post("/v1/audio/transcriptions", self._transcribe)
        application.router.add_post("/v1/audio/speech", self._speak)
        return application

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        record = self._record_of(request, await request.read())
        refused = self._refused(request)
        valid = isinstance(record.body, dict) and isinstance(record.body.get("messages"), list)
        # Taken before the request is seen: whoever has seen it may script what comes next.
        steps = self._script.answer_for(record.body) if valid and not refused else []
        self._script.record(record)
        if refused:
            record.ended = "answered"
            return _error(401, {"message": "Incorrect API key provided.", "code": "invalid_api_key"})
        if not valid:
            record.ended = "answered"
            return _error(400, {"message": "messages is required", "type": "invalid_request_error"})
        self._count += 1
        answering = _Answering(request, record.body, self._script, self._count)
        try:
            response = await answering.run(steps)
        except (asyncio.CancelledError, ConnectionError):
            record.ended = "disconnected"
            raise
        record.ended = "answered"
        return response

    async def _transcribe(self, request: web.Request) -> web.Response:
        """Say which model was given which file; `recording` fails as a server does that cannot read it."""
        form = await request.post()
        self._recorded(request, b"")
        if self._refused(request):
            return _error(401, {"message": "Incorrect API key provided.", "code": "invalid_api_key"})
        file = form.get("file")
        if not isinstance(file, web.FileField):
            return _error(400, {"message": "file is required", "type": "invalid_request_error"})
        data = file.file.read()
        if data == b"noise":
            return _error(400, {"message": "the audio file could not be decoded", "type": "invalid_request_error"})
        model = str(form["model"])
        told = ", ".join([model, Path(file.filename).suffix, *map(str, form.getall("language", []))])
        return web.json_response({"text": f" {data.decode(errors='replace')} ({told}) "})

    async def _speak(self, request: web.Request) -> web.Response:
        """Answer with bytes that begin as the asked format does, and say what was said by whom."""
        body = self._recorded(request, await request.read()).body
        if self._refused(request):
            return _error(401, {"message": "Incorrect API key provided.", "code": "invalid_api_key"})
        for name in ("model", "input", "voice"):
            if not isinstance(body, dict) or not isinstance(body.get(name), str):
                return _error(400, {"message": f"Missing required parameter: '{name}'."})
        match self._script.speech.popleft() if self._script.speech else {}:
            case {"status": status, **more}:
                return _whole(
                    more.get("body", {"error": {"message": f"scripted {status}"}}), status, more.get("headers")
                )
            case {"json": whole, **more}:
                return _whole(whole, 200, None, more.get("content_type", "application/json"))
            case {"audio": data}:
                return web.Response(body=data, content_type="audio/ogg")
            case {"disconnect": _} if request.transport is not None:
                request.transport.abort()
        if body["voice"] == "nobody":
            return _error(400, {"message": "voice: nobody is none of alloy, nova", "type": "invalid_request_error"})
        mime_type, begin = SPEECH[body.get("response_format", "mp3")]
        said = f" {body['input']} ({body['voice']})"
        return web.Response(body=begin + said.encode(), content_type=mime_type)

    async def _models(self, request: web.Request) -> web.Response:
        self._recorded(request, b"")
        if self._refused(request):
            return _error(401, {"message": "Incorrect API key provided.", "code": "invalid_api_key"})
        return web.json_response({"object": "list", "data": self._script.models})

    async def _tags(self, request: web.Request) -> web.Response:
        self._recorded(request, b"")
        return web.json_response(
            {"models": [{"name": model["id"], "model": model["id"]} for model in self._script.models]}
        )

    async def _requests(self, request: web.Request) -> web.Response:
        path = request.query.get("path")
        found = self._script.requests() if path is None else self._script.requests(None if path == "*" else path)
        return web.json_response(found)

    async def _control(self, request: web.Request) -> web.Response:
        raw = await request.read()
        data = json.loads(raw) if raw else {}
        match request.match_info["what"]:
            case "queue":
                self._script.queue(*data["answers"])
            case "rules":
                self._script.rule(data["match"], data["answer"], tool_result=data.get("tool_result"))
            case "default":
                self._script.set_default(data["answer"])
            case "release":
                self._script.release(data["name"])
            case "key":
                self._script.key = data["key"]
            case "models":
                self._script.models = data["models"]
            case "reset":
                self._script.reset()
            case unknown:
                raise web.HTTPNotFound(text=f"no control {unknown}")
        return web.json_response({"queued": self._script.queued()})

    def _recorded(self, request: web.Request, raw: bytes) -> Recorded:
        record = self._record_of(request, raw)
        self._script.record(record)
        return record

    def _record_of(self, request: web.Request, raw: bytes) -> Recorded:
        try:
            body = orjson.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in request.headers.items()}
        peer = request.transport.get_extra_info("peername") if request.transport is not None else None
        return Recorded(request.path, headers, body, len(raw), time.monotonic_ns(), peer[1] if peer else 0)

    def _refused(self, request: web.Request) -> bool:
        key = self._script.key
        return key is not None and request.headers.get("Authorization") != f"Bearer {key}"


class _Answering:
    """One answer under way."""

    def __init__(self, request: web.Request, body: dict[str, Any], script: Script, number: int) -> None:
        self._request = request
        self._body = body
        self._script = script
        self._id = f"chatcmpl-{number}"
        self._stream = body.get("stream") is True
        self._response: web.StreamResponse | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._finish: Any = "unset"
        self._usage: Any = "unset"
        self._done = True

    async def run(self, steps: list[Step]) -> web.StreamResponse:
        for step in steps:
            ended = await self._step(step)
            if ended is not None:
                return ended
        return await self._end()

    async def _step(self, step: Step) -> web.StreamResponse | None:
        match step:
            case {"status": status}:
                body = step.get("body", {"error": {"message": f"scripted {status}"}})
                return _whole(body, status, step.get("headers"))
            case {"json": whole}:
                return _whole(whole, 200, None, step.get("content_type", "application/json"))
            case {"error": error}:
                await self._event({"error": error})
                return await self._eof()
            case {"truncate": _}:
                return await self._eof()
            case {"disconnect": _}:
                await self._open()
                if self._request.transport is not None:
                    self._request.transport.abort()
                raise ConnectionResetError("scripted disconnect")
            case {"usage": usage}:
                self._usage = usage
            case {"finish": finish}:
                self._finish = finish
            case {"no_done": _}:
                self._done = False
            case _:
                await self._part(step)
        return None

    async def _part(self, step: Step) -> None:
        match step:
            case {"delay_s": seconds}:
                await asyncio.sleep(seconds)
            case {"hold": name}:
                await self._hold(name)
            case {"text": text}:
                await self._say(text, step.get("chunks", 1))
            case {"echo": _}:
                await self._say(last_user_text(self._body["messages"]), 1)
            case {"thinking": text}:
                self._thinking.append(text)
                await self._delta({"reasoning_content": text})
            case {"reasoning": text}:
                self._thinking.append(text)
                await self._delta({"reasoning": text})
            case {"tool_call": call}:
                await self._call(call, step.get("fragments", 1))
            case {"raw": raw}:
                await self._write(raw.encode())
            case {"event": event}:
                await self._event(event)
            case unknown:
                raise ValueError(f"a step nobody knows: {unknown!r}")

    async def _hold(self, name: str) -> None:
        while not self._script.released(name):  # noqa: ASYNC110  it is released from other threads
            await asyncio.sleep(HOLD_POLL_S)

    async def _say(self, text: str, chunks: int) -> None:
        self._text.append(text)
        for piece in _pieces(text, chunks):
            await self._delta({"content": piece})

    async def _call(self, call: dict[str, Any], fragments: int) -> None:
        index = call.get("index", len(self._calls))
        arguments = call.get("arguments", {})
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        id = call.get("id", f"call_{self._id}_{index}")
        head: dict[str, Any] = {"type": "function", "function": {"name": call["name"], "arguments": ""}}
        if id is not None:
            head["id"] = id
        self._calls.append({**head, "function": {"name": call["name"], "arguments": raw}})
        place = {} if index is None else {"index": index}
        await self._delta({"tool_calls": [{**place, **head}]})
        for piece in _pieces(raw, fragments):
            await self._delta({"tool_calls": [{**place, "function": {"arguments": piece}}]})

    async def _end(self) -> web.StreamResponse:
        finish = ("tool_calls" if self._calls else "stop") if self._finish == "unset" else self._finish
        usage = _usage(self._body, "".join(self._text)) if self._usage == "unset" else self._usage
        if not self._stream:
            message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text) or None}
            if self._thinking:
                message["reasoning_content"] = "".join(self._thinking)
            if self._calls:
                message["tool_calls"] = self._calls
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return web.json_response({**self._head("chat.completion"), "choices": [choice], "usage": usage})
        if finish is not None:
            await self._delta({}, finish)
        if usage is not None and (self._body.get("stream_options") or {}).get("include_usage"):
            await self._event({**self._head("chat.completion.chunk"), "choices": [], "usage": usage})
        if self._done:
            await self._write(b"data: [DONE]\n\n")
        return await self._eof()

    async def _delta(self, delta: dict[str, Any], finish: str | None = None) -> None:
        if self._stream:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            await self._event({**self._head("chat.completion.chunk"), "choices": [choice]})

    async def _event(self, event: dict[str, Any]) -> None:
        await self._write(b"data: " + orjson.dumps(event) + b"\n\n")

    async def _write(self, data: bytes) -> None:
        response = await self._open()
        await response.write(data)

    async def _open(self) -> web.StreamResponse:
        if self._response is None:
            headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
            self._response = web.StreamResponse(headers=headers)
            await self._response.prepare(self._request)
        return self._response

    async def _eof(self) -> web.StreamResponse:
        response = await self._open()
        await response.write_eof()
        return response

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": 1_767_225_600, "model": self._body.get("model", "scripted")}


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _usage(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = max(1, len(json.dumps(body["messages"])) // 4)
    completion = max(1, len(text) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _whole(
    body: Any, status: int, headers: dict[str, str] | None, content_type: str = "application/json"
) -> web.Response:
    text = body if isinstance(body, str) else json.dumps(body)
    return web.Response(status=status, text=text, content_type=content_type, headers=headers)


def _error(status: int, error: dict[str, Any]) -> web.Response:
    return web.json_response({"error": error}, status=status)


class OpenAIServer(Script, ThreadedServer):
    """The server in a thread of this process."""

    def __init__(self) -> None:
        Script.__init__(self)
        ThreadedServer.__init__(self, "model server")

    def application(self) -> web.Application:
        return _Handlers(self).application()

    async def until_arrived(self, count: int = 1) -> None:
        """Wait until so many completions were asked for."""
        async with asyncio.timeout(START_LIMIT_S):
            while len(self.requests()) < count:  # noqa: ASYNC110  they arrive in another thread
                await asyncio.sleep(HOLD_POLL_S)

    async def until_ended(self, number: int = 0) -> str:
        """Wait until an answer ended; return `answered`, or `disconnected` when the client left early."""
        await self.until_arrived(number + 1)
        async with asyncio.timeout(START_LIMIT_S):
            while (ended := self.requests()[number]["ended"]) is None:  # noqa: ASYNC110  it ends in another thread
                await asyncio.sleep(HOLD_POLL_S)
        return str(ended)


class OpenAIServerProcess(ServerProcess):
    """The server in a process of its own."""

    def __init__(self, port: int = 0) -> None:
        super().__init__("tests.servers.openai_server", port)

    def queue(self, *answers: Answer) -> None:
        """See `Script.queue`."""
        self.control("queue", {"answers": list(answers)})

    def rule(self, match: str, answer: Answer, *, tool_result: str | None = None) -> None:
        """See `Script.rule`."""
        self.control("rules", {"match": match, "answer": answer, "tool_result": tool_result})

    def set_default(self, answer: Answer) -> None:
        """See `Script.set_default`."""
        self.control("default", {"answer": answer})

    def release(self, name: str) -> None:
        """See `Script.release`."""
        self.control("release", {"name": name})

    def reset(self) -> None:
        """See `Script.reset`."""
        self.control("reset", {})

    def requests(self, path: str | None = "/v1/chat/completions") -> list[dict[str, Any]]:
        """See `Script.requests`."""
        return list(self.control(f"requests?{urllib.parse.urlencode({'path': path or '*'})}"))


if __name__ == "__main__":
    OpenAIServer().main("base_url")
