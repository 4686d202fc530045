"""A scripted server for embeddings: OpenAI's, Gemini's and Voyage's APIs.

In a test: `with EmbeddingServer() as server:`, in a thread of this process. As a process: `python -m
tests.servers.embedding_server --port 0` prints its addresses as one line of JSON; `POST /control/queue` {"faults":
[…]}, `POST /control/set` {…} (fields of `Manner`), `POST /control/reset`, `GET /control/counts`. Vectors come from the
words of the text (`embedding_script.vector_of`). OpenAI: `/v1`; Gemini: `/v1beta`; Voyage: `/voyage/v1`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import orjson
from aiohttp import web

from tests.servers.embedding_script import Asked, EmbeddingScript, Fault, encoded, tokens_of, vector_of
from tests.servers.scripted import ServerProcess, ThreadedServer

BODY_LIMIT_BYTES = 256 * 1024 * 1024


class RequestRefused(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, message: str, code: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class _Handlers:
    """The HTTP face of a script."""

    def __init__(self, script: EmbeddingScript) -> None:
        self._script = script

    def application(self) -> web.Application:
        application = web.Application(client_max_size=BODY_LIMIT_BYTES)
        routes = application.router
        for base in ("/v1", ""):
            routes.add_post(f"{base}/embeddings", self._openai)
            routes.add_get(f"{base}/models", self._models)
        routes.add_post("/voyage/v1/embeddings", self._voyage)
        routes.add_post("/v1beta/models/{model}", self._gemini)
        routes.add_get("/control/counts", self._counts)
        routes.add_post("/control/{what}", self._control)
        return application

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, "openai", request.headers.get("Authorization", "").removeprefix("Bearer "))

    async def _voyage(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, "voyage", request.headers.get("Authorization", "").removeprefix("Bearer "))

    async def _gemini(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, "gemini", request.headers.get("x-goog-api-key", ""))

    async def _answer(self, request: web.Request, api: str, key: str) -> web.StreamResponse:
        body = await _json(request)
        texts = _texts_of(api, body)
        self._script.record(Asked(request.path, dict(request.headers.items()), body, len(texts)))
        self._script.begin()
        try:
            manner = self._script.manner
            fault = self._script.next_fault(texts) or {}
            await asyncio.sleep(manner.delay_s + fault.get("delay_s", 0.0))
            while self._script.busiest < manner.together:  # noqa: ASYNC110  other requests change it
                await asyncio.sleep(0.005)
            if api == "openai" and manner.v1 and not request.path.startswith("/v1/"):
                return web.Response(status=404, text="404 page not found")
            if manner.key is not None and key != manner.key:
                return _error(api, 401, f"Incorrect API key provided: {key}.", "invalid_api_key")
            if "status" in fault:
                return _error(
                    api, fault["status"], fault.get("message", "scripted"), fault.get("code", ""), fault.get("headers")
                )
            if "kind" in fault and (broken := await _broken(request, fault["kind"])) is not None:
                return broken
            return web.Response(
                body=orjson.dumps(self._made(api, request, body, texts, fault), option=orjson.OPT_SERIALIZE_NUMPY)
                if fault.get("kind") not in {"nan", "infinity"}
                else json.dumps(self._made(api, request, body, texts, fault)).encode(),
                content_type="application/json",
            )
        except RequestRefused as error:
            return _error(api, error.status, error.message, error.code)
        finally:
            self._script.end()

    def _made(self, api: str, request: web.Request, body: Any, texts: list[str], fault: Fault) -> Any:
        match api:
            case "gemini":
                return self._made_gemini(request, body, texts, fault)
            case "voyage":
                return self._made_list(body, texts, fault, "output_dimension", 1_000)
            case _:
                return self._made_list(body, texts, fault, "dimensions", self._script.manner.inputs_limit)

    def _made_list(self, body: Any, texts: list[str], fault: Fault, size: str, limit: int) -> Any:
        manner = self._script.manner
        self._check(body.get("model"), texts, limit)
        if body.get("encoding_format") == "base64" and manner.base64 == "refused":
            raise RequestRefused(400, "encoding_format base64 is not supported")
        as_base64 = body.get("encoding_format") == "base64" and manner.base64 == "yes"
        length = manner.dimensions
        if size in body:
            if manner.sizes == "refused":
                raise RequestRefused(400, "This model does not support specifying dimensions.")
            length = body[size] if manner.sizes == "yes" else length
        rows = _spoilt([vector_of(text, length) for text in texts], fault.get("kind"))
        data = [
            {"object": "embedding", "index": index, "embedding": self._one(row, as_base64=as_base64)}
            for index, row in rows
        ]
        answer: dict[str, Any] = {"object": "list", "data": data, "model": body.get("model")}
        if manner.usage:
            count = sum(map(tokens_of, texts))
            answer["usage"] = {"prompt_tokens": count, "total_tokens": count}
        return answer

    def _one(self, row: Any, *, as_base64: bool) -> Any:
        if row is None:
            return None
        match self._script.manner.nested:
            case "once":
                return [encoded(row, as_base64=False)]
            case "tokens":
                return [encoded(row, as_base64=False)] * 3
            case _:
                return encoded(row, as_base64=as_base64)

    def _made_gemini(self, request: web.Request, body: Any, texts: list[str], fault: Fault) -> Any:
        model, _, method = request.match_info["model"].partition(":")
        if method != "batchEmbedContents":
            raise RequestRefused(404, f"{method} is not found", "NOT_FOUND")
        if any(each.get("model") != f"models/{model}" for each in body["requests"]):
            raise RequestRefused(400, "the model of a request differs", "INVALID_ARGUMENT")
        self._check(model, texts, 100)
        length = body["requests"][0].get("outputDimensionality", 3_072)
        rows = _spoilt([vector_of(text, length) for text in texts], fault.get("kind"))
        return {"embeddings": [{"values": None if row is None else row.tolist()} for _, row in rows]}

    def _check(self, model: Any, texts: list[str], limit: int) -> None:
        manner = self._script.manner
        if not isinstance(model, str) or (not manner.any_model and model not in manner.models):
            raise RequestRefused(404, f'model "{model}" not found, try pulling it first', "model_not_found")
        if not texts or any(text == "" for text in texts):
            raise RequestRefused(400, "'$.input' is invalid. Please check the API reference.")
        if len(texts) > limit:
            raise RequestRefused(400, f"at most {limit} requests can be in one batch")
        if any(tokens_of(text) > manner.text_tokens_limit for text in texts):
            raise RequestRefused(
                manner.text_status, "input is too large to process. increase the physical batch size", "server_error"
            )
        total = sum(map(tokens_of, texts))
        if total > manner.tokens_limit:
            raise RequestRefused(
                400, f"Requested {total} tokens, max {manner.tokens_limit} tokens per request", "max_tokens_per_request"
            )

    async def _models(self, request: web.Request) -> web.Response:
        manner = self._script.manner
        self._script.record(Asked(request.path, dict(request.headers.items()), None))
        if manner.v1 and not request.path.startswith("/v1/"):
            return web.Response(status=404, text="404 page not found")
        return web.json_response(
            {"object": "list", "data": [{"id": name, "object": "model"} for name in manner.models]}
        )

    async def _counts(self, request: web.Request) -> web.Response:
        script = self._script
        return web.json_response({"requests": script.requests, "texts": script.texts, "busiest": script.busiest})

    async def _control(self, request: web.Request) -> web.Response:
        data = await _json(request) if request.can_read_body else {}
        match request.match_info["what"]:
            case "queue":
                self._script.queue(*data["faults"])
            case "set":
                self._script.set(**data)
            case "reset":
                self._script.reset()
            case unknown:
                raise web.HTTPNotFound(text=f"no control {unknown}")
        return web.json_response({})


async def _json(request: web.Request) -> Any:
    return orjson.loads(await request.read() or b"{}")


def _texts_of(api: str, body: Any) -> list[str]:
    if api == "gemini":
        return [each["content"]["parts"][0]["text"] for each in body["requests"]]
    given = body["input"]
    return [given] if isinstance(given, str) else list(given)


def _spoilt(rows: list[Any], kind: str | None) -> list[tuple[int, Any]]:
    numbered: list[tuple[int, Any]] = list(enumerate(rows))
    match kind:
        case "nan" | "infinity":
            numbered[0][1][0] = float(kind)
        case "zero":
            numbered[0][1][:] = 0
        case "short":
            numbered[0] = (0, rows[0][:-1])
        case "null":
            numbered[0] = (0, None)
        case "fewer":
            numbered.pop()
        case "more":
            numbered.append((len(rows), rows[0]))
        case "twice":
            numbered[-1] = (0, rows[-1])
        case "shuffled":
            numbered.reverse()
    return numbered


async def _broken(request: web.Request, kind: str) -> web.StreamResponse | None:
    match kind:
        case "html":
            return web.Response(text="<html>It works!</html>", content_type="text/html")
        case "redirect":
            return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"})
        case "disconnect":
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("scripted disconnect")
        case "flood":
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                while True:
                    await response.write(b" " * 1024 * 1024)
            return response
    return None


def _error(api: str, status: int, message: str, code: str, headers: dict[str, str] | None = None) -> web.Response:
    body: Any = {"error": {"message": message, "type": code, "code": code}}
    if api == "gemini":
        body = {"error": {"code": status, "message": message, "status": code}}
    elif api == "voyage":
        body = {"detail": message}
    return web.json_response(body, status=status, headers=headers)


class EmbeddingServer(EmbeddingScript, ThreadedServer):
    """The server in a thread of this process."""

    def __init__(self) -> None:
        EmbeddingScript.__init__(self)
        ThreadedServer.__init__(self, "embedding server")

    def application(self) -> web.Application:
        return _Handlers(self).application()

    @property
    def gemini_url(self) -> str:
        """Where it speaks Gemini's."""
        return f"{self.root_url}/v1beta"

    @property
    def voyage_url(self) -> str:
        """Where it speaks Voyage's."""
        return f"{self.root_url}/voyage/v1"


class EmbeddingServerProcess(ServerProcess):
    """The server in a process of its own."""

    def __init__(self, port: int = 0) -> None:
        super().__init__("tests.servers.embedding_server", port)
        self.gemini_url = str(self.addresses["gemini_url"])
        self.voyage_url = str(self.addresses["voyage_url"])

    def queue(self, *faults: Fault) -> None:
        """See `EmbeddingScript.queue`."""
        self.control("queue", {"faults": list(faults)})

    def set(self, **manner: Any) -> None:
        """See `EmbeddingScript.set`."""
        self.control("set", manner)

    def reset(self) -> None:
        """See `EmbeddingScript.reset`."""
        self.control("reset", {})

    def counts(self) -> dict[str, int]:
        """Return `requests`, `texts` and `busiest` (requests at a time)."""
        return dict(self.control("counts"))


if __name__ == "__main__":
    EmbeddingServer().main("base_url", "gemini_url", "voyage_url")
