"""Batch jobs of the scripted embedding server: OpenAI's and Voyage's files and batches, and what all jobs do.

A job goes through its states as it is looked at (`Manner.batch_looks`, `batch_end`), works on a share of its requests
(`batch_share`), and each of its requests may be one of the queued faults. What is refused is in a file of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import BodyPartReader, web

from tests.servers.embedding_script import Asked, EmbeddingScript, Fault

FOREIGN = ("00" * 32, "not a hash", None)
"""Keys of results that nobody asked for."""
Make = Callable[[Any, Fault], Any]
"""Makes the answer to one request of a job; raises `RequestRefused`."""


class RequestRefused(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, message: str, code: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


@dataclass(slots=True)
class Job:
    """A job: what it was begun with, its requests (key, body, texts), how far it is."""

    id: str
    begun: dict[str, Any]
    requests: list[tuple[Any, Any, list[str]]]
    state: str = "validating"
    looks: int = 0
    done: list[tuple[Any, Any]] = field(default_factory=list)
    refused: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)


class Book:
    """Files and jobs of one API."""

    def __init__(self, script: EmbeddingScript) -> None:
        self._script = script
        self._number = 0
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.jobs: dict[str, Job] = {}

    def kept(self, data: bytes, name: str) -> str:
        """Keep a file, and return its id."""
        self._number += 1
        id = f"file-{self._number}"
        self.files[id], self.names[id] = data, name
        return id

    def begun(self, body: dict[str, Any], requests: list[tuple[Any, Any, list[str]]]) -> Job:
        """Begin a job."""
        self._number += 1
        job = self.jobs[f"batch-{self._number}"] = Job(f"batch-{self._number}", body, requests)
        return job

    def found(self, id: str) -> Job | None:
        """Return a job; None when there is none, or it was forgotten."""
        return None if self._script.manner.batch_forgets else self.jobs.get(id)

    def looked(self, job: Job, make: Make) -> None:
        """Bring a job on, as it is looked at."""
        manner = self._script.manner
        job.looks += 1
        if job.state == "cancelling":
            self._end(job, "cancelled", make)
        elif job.state in {"validating", "in_progress"}:
            if job.looks < manner.batch_looks or manner.batch_end == "in_progress":
                job.state = "in_progress"
            else:
                self._end(job, manner.batch_end, make)

    def _end(self, job: Job, state: str, make: Make) -> None:
        job.state = state
        manner = self._script.manner
        share = 0 if state == "failed" else round(len(job.requests) * manner.batch_share)
        for key, body, texts in job.requests[:share]:
            fault = self._script.next_fault(texts) or {}
            if "status" in fault:
                job.refused.append((key, {"code": fault["status"], "message": "scripted"}))
                continue
            try:
                job.done.append((key, make(body, fault)))
            except RequestRefused as error:
                job.refused.append((key, {"code": error.status, "message": error.message}))
        if state != "failed":
            unfinished = {"code": "batch_expired", "message": "not executed before the completion window expired"}
            job.refused += [(key, unfinished) for key, _, _ in job.requests[share:]]
        if manner.batch_shuffled:
            job.done.reverse()
        if manner.batch_foreign and job.done:
            job.done += [(key, job.done[0][1]) for key in FOREIGN]


class FileBatches:
    """Speaks `/files` and `/batches` as OpenAI or Voyage does.

    Args:
        script: What is to happen.
        voyage: Whether as Voyage: `request_params` are the job's, and there is no state `expired`.
        make: Makes the answer to one request.
        error: Makes an error answer in the API's form.
    """

    def __init__(
        self,
        script: EmbeddingScript,
        *,
        voyage: bool,
        make: Make,
        error: Callable[[int, str], web.Response],
    ) -> None:
        self._script = script
        self._voyage = voyage
        self._make = make
        self._error = error
        self.book = Book(script)

    def add_to(self, router: web.UrlDispatcher, base: str) -> None:
        """Add its routes."""
        for method, path, handler in (
            ("POST", "/files", self._upload),
            ("GET", "/files", self._list_files),
            ("GET", "/files/{id}/content", self._content),
            ("GET", "/files/{id}/stored", self._stored),
            ("DELETE", "/files/{id}", self._delete),
            ("POST", "/batches", self._begin),
            ("GET", "/batches", self._list),
            ("GET", "/batches/{id}", self._look),
            ("POST", "/batches/{id}/cancel", self._cancel),
        ):
            router.add_route(method, f"{base}{path}", self._checked(handler))

    def _checked(self, handler: Any) -> Any:
        async def checked(request: web.Request) -> web.StreamResponse:
            key = request.headers.get("Authorization", "").removeprefix("Bearer ")
            manner = self._script.manner
            body = orjson.loads(await request.read()) if request.content_type == "application/json" else None
            self._script.record(Asked(f"{request.method} {request.path}", dict(request.headers.items()), body))
            if manner.key is not None and key != manner.key:
                return self._error(401, f"Incorrect API key provided: {key}.")
            if not manner.batches:
                return web.Response(status=404, text="404 page not found")
            answer: web.StreamResponse = await handler(request)
            return answer

        return checked

    async def _upload(self, request: web.Request) -> web.Response:
        data, purpose, name = b"", "", ""
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                return self._error(400, "a file cannot hold further parts")
            if part.name == "purpose":
                purpose = await part.text()
            else:
                name, data = str(part.filename), bytes(await part.read())
        fault = self._script.next_fault(["/files"]) or {}
        if fault.get("kind") == "lost":
            await asyncio.sleep(fault.get("delay_s", 0.0))
            broken_off(request)
        if purpose != "batch":
            return self._error(400, "purpose must be batch")
        id = self.book.kept(data, name)
        await asyncio.sleep(fault.get("delay_s", 0.0))
        if fault.get("kind") == "disconnect":
            broken_off(request)
        return web.json_response({"id": id, "bytes": len(data), "filename": name, "purpose": purpose})

    async def _list_files(self, request: web.Request) -> web.Response:
        files = [
            {"id": id, "object": "file", "filename": self.book.names[id], "bytes": len(data)}
            for id, data in reversed(self.book.files.items())
        ]
        return web.json_response(self._page(request, files))

    async def _content(self, request: web.Request) -> web.StreamResponse:
        id, manner = request.match_info["id"], self._script.manner
        await asyncio.sleep(manner.file_delay_s)
        match manner.batch_moved:
            case "here":
                return web.Response(status=302, headers={"Location": f"stored?signed=a%2Fb&id={id}"})
            case "plain":
                return web.Response(status=302, headers={"Location": "http://127.0.0.1:9/stored"})
            case "round":
                return web.Response(status=302, headers={"Location": str(request.rel_url)})
        data = self.book.files.get(id)
        return self._error(404, "No such File object") if data is None else web.Response(body=data)

    async def _stored(self, request: web.Request) -> web.Response:
        if "signed=a%2Fb" not in request.raw_path:
            return self._error(403, "the signature does not fit")
        return web.Response(body=self.book.files[request.match_info["id"]])

    async def _delete(self, request: web.Request) -> web.Response:
        id = request.match_info["id"]
        if self.book.files.pop(id, None) is None:
            return self._error(404, "No such File object")
        return web.json_response({"id": id, "object": "file", "deleted": True})

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        fault = self._script.next_fault(["/batches"]) or {}
        if "status" in fault:
            return self._error(fault["status"], fault.get("message", "scripted"))
        if fault.get("kind") == "lost":
            await asyncio.sleep(fault.get("delay_s", 0.0))
            broken_off(request)
        window = "12h" if self._voyage else "24h"
        if body.get("endpoint") != "/v1/embeddings" or body.get("completion_window") != window:
            return self._error(400, "endpoint and completion_window are wrong")
        try:
            requests = self._requests(body)
        except (KeyError, TypeError, ValueError) as error:
            return self._error(400, f"the request is not valid: {error!r}")
        job = self.book.begun(body, requests)
        await asyncio.sleep(fault.get("delay_s", 0.0))
        if fault.get("kind") == "disconnect":
            broken_off(request)
        if fault.get("kind") == "null":
            return web.json_response({"object": "batch"})
        return web.json_response(self._shown(job))

    def _requests(self, body: dict[str, Any]) -> list[tuple[Any, Any, list[str]]]:
        parameters = body["request_params"] if self._voyage else {}
        if self._voyage and not parameters["model"]:
            raise ValueError("model")
        requests = []
        for line in map(orjson.loads, self.book.files[body["input_file_id"]].splitlines()):
            if self._voyage and (set(line) != {"custom_id", "body"} or set(line["body"]) != {"input"}):
                raise ValueError("a line has only custom_id and body.input")
            if not self._voyage and (line["method"], line["url"]) != ("POST", "/v1/embeddings"):
                raise ValueError("method and url")
            requests.append((line["custom_id"], {**parameters, **line["body"]}, list(line["body"]["input"])))
        if len({key for key, _, _ in requests}) != len(requests):
            raise ValueError("custom_id is not unique")
        return requests

    async def _list(self, request: web.Request) -> web.Response:
        jobs = [] if self._script.manner.batch_forgets else [*reversed(self.book.jobs.values())]
        return web.json_response(self._page(request, [self._shown(job) for job in jobs]))

    def _page(self, request: web.Request, entries: list[dict[str, Any]]) -> dict[str, Any]:
        after, limit = request.query.get("after"), int(request.query.get("limit", "20"))
        if after is not None:
            entries = entries[[each["id"] for each in entries].index(after) + 1 :]
        page = entries[: min(limit, self._script.manner.batch_page)]
        return {"object": "list", "data": page, "has_more": len(page) < len(entries)}

    async def _look(self, request: web.Request) -> web.Response:
        job = self.book.found(request.match_info["id"])
        if job is None:
            return self._error(404, "No batch found")
        before = job.state
        self.book.looked(job, self._make)
        if job.state != before and job.state in {"completed", "expired", "cancelled"}:
            self._write(job)
        return web.json_response(self._shown(job))

    async def _cancel(self, request: web.Request) -> web.Response:
        job = self.book.found(request.match_info["id"])
        if job is None:
            return self._error(404, "No batch found")
        if job.state not in {"validating", "in_progress"}:
            return self._error(400, f"a batch that is {job.state} cannot be cancelled")
        job.state = "cancelling"
        return web.json_response(self._shown(job))

    def _write(self, job: Job) -> None:
        """Write the files of results; neither API writes an empty one."""
        lines = [
            {"id": "x", "custom_id": key, "response": {"status_code": 200, "body": made}, "error": None}
            for key, made in job.done
        ]
        if lines:
            job.begun["output_file_id"] = self.book.kept(_jsonl(lines), f"{job.id}_output.jsonl")
        if job.refused:
            job.begun["error_file_id"] = self.book.kept(
                _jsonl([_refusal(key, error) for key, error in job.refused]), f"{job.id}_error.jsonl"
            )

    def _shown(self, job: Job) -> dict[str, Any]:
        failed = job.state == "failed"
        state = "completed" if self._voyage and job.state == "expired" else job.state
        return {
            "id": job.id,
            "object": "batch",
            "endpoint": job.begun["endpoint"],
            "completion_window": job.begun["completion_window"],
            "metadata": job.begun.get("metadata"),
            "input_file_id": job.begun["input_file_id"],
            "output_file_id": job.begun.get("output_file_id"),
            "error_file_id": job.begun.get("error_file_id"),
            "status": state,
            "errors": {"object": "list", "data": [{"message": self._script.manner.batch_reason}]} if failed else None,
            "created_at": 1_700_000_000,
            "request_counts": {"total": len(job.requests), "completed": len(job.done), "failed": len(job.refused)},
        }


def _refusal(key: Any, error: dict[str, Any]) -> dict[str, Any]:
    if error["code"] == "batch_expired":
        return {"custom_id": key, "response": None, "error": error}
    return {"custom_id": key, "response": {"status_code": error["code"], "message": error["message"]}, "error": None}


def _jsonl(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n" for line in lines)


def broken_off(request: web.Request) -> None:
    """Break the connection off."""
    if request.transport is not None:
        request.transport.abort()
    raise ConnectionResetError("scripted disconnect")
