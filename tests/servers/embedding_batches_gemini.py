"""Batch jobs of the scripted embedding server as Gemini has them: long-running operations that carry everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
from aiohttp import web

from tests.servers.embedding_batches import Book, Job, Make, broken_off
from tests.servers.embedding_script import Asked, EmbeddingScript

INLINE_LIMIT_BYTES = 20 * 1024 * 1024
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.EmbedContentBatch"
_STATES = {"validating": "PENDING", "in_progress": "RUNNING", "completed": "SUCCEEDED"}
_ERRORS = {"cancelled": (1, "The operation was cancelled."), "expired": (4, "The batch expired.")}


class GeminiBatches:
    """Speaks `asyncBatchEmbedContent` and `/batches`.

    Args:
        script: What is to happen.
        make: Makes the answer to one request.
        error: Makes an error answer: status, message, code.
    """

    def __init__(self, script: EmbeddingScript, *, make: Make, error: Callable[[int, str, str], web.Response]) -> None:
        self._script = script
        self._make = make
        self._error = error
        self.book = Book(script)

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add its routes."""
        for method, path, handler in (
            ("POST", "/models/{model}:asyncBatchEmbedContent", self._begin),
            ("GET", "/batches", self._list),
            ("GET", "/batches/{id}", self._look),
            ("POST", "/batches/{id}:cancel", self._cancel),
            ("DELETE", "/batches/{id}", self._delete),
        ):
            router.add_route(method, f"/v1beta{path}", self._checked(handler))

    def _checked(self, handler: Any) -> Any:
        async def checked(request: web.Request) -> web.StreamResponse:
            key, manner = request.headers.get("x-goog-api-key", ""), self._script.manner
            raw = await request.read()
            body = orjson.loads(raw) if raw else None
            self._script.record(Asked(f"{request.method} {request.path}", dict(request.headers.items()), body))
            if manner.key is not None and key != manner.key:
                return self._error(400, f"API key not valid. Please pass a valid API key. ({key})", "INVALID_ARGUMENT")
            if not manner.batches:
                return self._error(404, "Requested entity was not found.", "NOT_FOUND")
            answer: web.StreamResponse = await handler(request)
            return answer

        return checked

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        fault = self._script.next_fault(["/batches"]) or {}
        if "status" in fault:
            return self._error(fault["status"], fault.get("message", "scripted"), "")
        if fault.get("kind") == "lost":
            await asyncio.sleep(fault.get("delay_s", 0.0))
            broken_off(request)
        if len(raw) > INLINE_LIMIT_BYTES:
            return self._error(400, "Request payload size exceeds the limit: 20971520 bytes.", "INVALID_ARGUMENT")
        model = f"models/{request.match_info['model']}"
        try:
            batch = orjson.loads(raw)["batch"]
            requests = [self._request(model, each) for each in batch["inputConfig"]["requests"]["requests"]]
            if not batch["displayName"] or not requests:
                raise ValueError("displayName and requests are required")
        except (KeyError, TypeError, ValueError) as error:
            return self._error(400, f"Invalid JSON payload received. {error!r}", "INVALID_ARGUMENT")
        job = self.book.begun({"displayName": batch["displayName"], "model": model}, requests)
        await asyncio.sleep(fault.get("delay_s", 0.0))
        if fault.get("kind") == "disconnect":
            broken_off(request)
        if fault.get("kind") == "null":
            return web.json_response({"metadata": {}})
        return web.json_response(_shown(job))

    def _request(self, model: str, each: dict[str, Any]) -> tuple[Any, Any, list[str]]:
        if set(each) - {"request", "metadata"} or each["request"]["model"] != model:
            raise ValueError("the model of a request differs, or a field is unknown")
        return each.get("metadata"), each["request"], [each["request"]["content"]["parts"][0]["text"]]

    async def _list(self, request: web.Request) -> web.Response:
        jobs = [] if self._script.manner.batch_forgets else [*reversed(self.book.jobs.values())]
        at = int(request.query.get("pageToken", "p/0").removeprefix("p/"))
        end = at + min(int(request.query.get("pageSize", "50")), self._script.manner.batch_page)
        answer: dict[str, Any] = {"operations": [_shown(job) for job in jobs[at:end]]}
        if end < len(jobs):
            answer["nextPageToken"] = f"p/{end}"
        return web.json_response(answer)

    async def _look(self, request: web.Request) -> web.StreamResponse:
        job = self.book.found(request.match_info["id"])
        if job is None:
            return self._error(404, "Requested entity was not found.", "NOT_FOUND")
        self.book.looked(job, self._make)
        if job.state != "completed":
            return web.json_response(_shown(job, self._script.manner.batch_reason))
        await asyncio.sleep(self._script.manner.file_delay_s)
        output = {"inlinedResponses": {"inlinedResponses": _responses(job)}}
        shown = _shown(job)
        shown["metadata"]["output"] = output
        shown["response"] = {"@type": f"{_TYPE}Output", **output}
        # As long as it is indented by default.
        options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2
        return web.Response(body=orjson.dumps(shown, option=options), content_type="application/json")

    async def _cancel(self, request: web.Request) -> web.Response:
        job = self.book.found(request.match_info["id"])
        if job is None:
            return self._error(404, "Requested entity was not found.", "NOT_FOUND")
        job.state = "cancelling"
        return web.json_response({})

    async def _delete(self, request: web.Request) -> web.Response:
        if self.book.jobs.pop(request.match_info["id"], None) is None:
            return self._error(404, "Requested entity was not found.", "NOT_FOUND")
        return web.json_response({})


def _responses(job: Job) -> list[dict[str, Any]]:
    done = [{"response": made, "metadata": key if isinstance(key, dict) else {"key": key}} for key, made in job.done]
    return [*done, *({"error": error, "metadata": key} for key, error in job.refused)]


def _shown(job: Job, reason: str = "") -> dict[str, Any]:
    state = _STATES.get(job.state, job.state.upper()) if job.state != "cancelling" else "RUNNING"
    name = f"batches/{job.id}"
    shown: dict[str, Any] = {
        "name": name,
        "metadata": {
            "@type": _TYPE,
            "model": job.begun["model"],
            "displayName": job.begun["displayName"],
            "createTime": "2026-07-25T00:15:48.588771827Z",
            "batchStats": {"requestCount": str(len(job.requests))},
            "state": f"BATCH_STATE_{state}",
            "name": name,
        },
    }
    if job.state in {"completed", "failed", "expired", "cancelled"}:
        shown["done"] = True
        if job.state != "completed":
            code, message = _ERRORS.get(job.state, (13, reason))
            shown["error"] = {"code": code, "message": message}
    return shown
