"""The worker's side of the pipe: reads requests, answers each concurrently, and ends when the pipe does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.memory.contract import Filters, Synced
from integrations.memory.notes.index.agent_index import AgentIndex, Shared
from integrations.memory.notes.index.asking import search
from integrations.memory.notes.index.checking import verify
from integrations.memory.notes.index.contract import EmbeddingFailed
from integrations.memory.notes.index.dropping import drop
from integrations.memory.notes.index.embedders import Embedders
from integrations.memory.notes.index.engine_thread import EngineThread
from integrations.memory.notes.index.index_version import IndexVersion
from integrations.memory.notes.index.index_work import IndexUnavailable
from integrations.memory.notes.index.likeness import similar
from integrations.memory.notes.index.reporting import rss_bytes, status
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.job import Job
from integrations.memory.notes.worker import frames
from integrations.memory.notes.worker.preparing import prepare

_log = logging.getLogger(__name__)

READERS = 2
CLOSE_LIMIT_S = 3.0
CACHE = "embeddings.db"
ATTEMPTS = 3

Send = Callable[[dict[str, Any]], None]


class Server:
    """Keeps the indexes of all agents, and answers requests about them.

    Args:
        cache_dir: The cache of vectors that were paid for.
        embedders: The embedders; as configured by default.
    """

    def __init__(self, cache_dir: Path, embedders: Embedders | None = None) -> None:
        self._thread = EngineThread()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="files")
        self._embedders = embedders or Embedders(cache_dir / CACHE)
        self._shared = Shared(self._thread, self._readers, self._embedders)
        self._indexes: dict[str, AgentIndex] = {}
        self._jobs: dict[str, Job] = {}
        self._opening = asyncio.Lock()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self, reader: asyncio.StreamReader, send: Send) -> None:
        """Answer until the pipe ends."""
        try:
            while (message := await frames.read(reader)) is not None:
                self._take(message, send)
        finally:
            await self._close()

    def _take(self, message: dict[str, Any], send: Send) -> None:
        if isinstance(cancelled := message.get("cancel"), int):
            if (known := self._tasks.get(cancelled)) is not None:
                known.cancel()
            return
        id_ = message.get("id")
        if not isinstance(id_, int):
            _log.warning("a message without id was left unanswered")
            return
        task = asyncio.get_running_loop().create_task(self._answer(id_, message, send))
        self._tasks[id_] = task
        task.add_done_callback(lambda _: self._tasks.pop(id_, None))

    async def _answer(self, id_: int, message: dict[str, Any], send: Send) -> None:
        try:
            result = await self._done(message)
        except IndexUnavailable as error:
            reply = {"id": id_, "error": _error("UNAVAILABLE", str(error))}
        except EmbeddingFailed as error:
            reply = {"id": id_, "error": _error("UNAVAILABLE", error.text)}
        except HubError as error:
            reply = {"id": id_, "error": _error(error.code, error.message)}
        except Exception as error:  # the worker serves other agents too: one request that dies is reported and logged
            _log.exception("%s died", message.get("op"))
            reply = {"id": id_, "error": _error("INTERNAL", f"{message.get('op')} died: {error!r}")}
        else:
            reply = {"id": id_, "result": result}
        try:
            send(reply)
        except frames.FrameError as error:
            send({"id": id_, "error": _error("INTERNAL", str(error))})

    async def _done(self, message: dict[str, Any]) -> Any:
        op, args = message.get("op"), message.get("args") or {}
        if op == "ping":
            return {"busy": any(each.busy for each in self._indexes.values()), "rss_bytes": rss_bytes()}
        if op == "job":
            return await self._job(Job.from_plain(args))
        if op == "leave":
            return await self._leave(str(message.get("agent")))
        if op == "prepare":
            wanted = [IndexSettings.from_plain(job.settings) for job in self._jobs.values()]
            return await prepare(wanted, self._embedders)
        operations: dict[str, Callable[[AgentIndex, dict[str, Any]], Awaitable[Any]]] = {
            "search": _search,
            "sync": _sync,
            "verify": _verify,
            "status": _status,
            "similar": _similar,
            "drop": _drop,
            "embed": _embed,
        }
        if not isinstance(op, str) or op not in operations:
            raise InvalidRequest(f"the index worker knows no {op!r}")
        for _ in range(ATTEMPTS):
            index = await self._index(str(message.get("agent")))
            try:
                result = await operations[op](index, args)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not index.closed or (task is not None and task.cancelling()):
                    raise
            except Exception:
                if not index.closed:
                    raise
            else:
                if not index.closed:
                    return result
            # It was closed meanwhile, because of other settings: what it says may be of nothing any more, and the one
            # that takes its place is asked.
        raise Unavailable("the settings of the memory changed several times while it was asked; try again")

    async def _job(self, job: Job) -> None:
        """Apply the hub's data about an agent; another place or other settings make another index."""
        self._jobs[job.agent_id] = job
        known = self._indexes.get(job.agent_id)
        if known is None:
            return
        if known.directory == Path(job.directory) and known.settings == IndexSettings.from_plain(job.settings):
            known.use(job)
            return
        async with self._opening:
            if self._indexes.get(job.agent_id) is known:
                del self._indexes[job.agent_id]
                await known.close()

    async def _leave(self, agent_id: str) -> None:
        """Close the index of an agent that is not there any more, and forget it."""
        self._jobs.pop(agent_id, None)
        async with self._opening:
            if (index := self._indexes.pop(agent_id, None)) is not None:
                await index.close()

    async def _index(self, agent_id: str) -> AgentIndex:
        async with self._opening:
            if (index := self._indexes.get(agent_id)) is None:
                if (job := self._jobs.get(agent_id)) is None:
                    raise Unavailable(f"the index worker does not know {agent_id}")
                index = self._indexes[agent_id] = AgentIndex(job, self._shared)
            return index

    async def _close(self) -> None:
        """Close everything soon; interrupted work is finished at the next start."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_LIMIT_S):
                tasks = list(self._tasks.values())
                for each in tasks:
                    each.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                for index in self._indexes.values():
                    await index.close()
                await self._embedders.close()
        self._readers.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(partial(self._thread.close, CLOSE_LIMIT_S))


async def _search(index: AgentIndex, args: dict[str, Any]) -> dict[str, Any]:
    filters = msgspec.convert(args.get("filters") or {}, Filters)
    today = date.fromisoformat(args["today"])
    within_s = args.get("within_s")
    return _data(await search(index, args["query"], args["areas"], filters, args.get("limit"), today, within_s))


async def _sync(index: AgentIndex, args: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    tally = await index.sync(args.get("paths"), force=bool(args.get("force")))
    files, chunks, waiting = await index.in_version(IndexVersion.numbers) or (0, 0, 0)
    synced = Synced(
        files=files,
        chunks=chunks,
        embedded=tally.embedded,
        requests=tally.requests,
        seconds=round(time.monotonic() - began, 3),
        waiting=waiting if index.wants_vectors else 0,
        problem="; ".join(each.rstrip(". ") for each in index.problems.values()) or None,
    )
    return _data(synced)


async def _verify(index: AgentIndex, args: dict[str, Any]) -> dict[str, Any]:
    return _data(await verify(index))


async def _status(index: AgentIndex, args: dict[str, Any]) -> dict[str, Any]:
    return await status(index)


async def _similar(index: AgentIndex, args: dict[str, Any]) -> list[Any]:
    pairs = await similar(index, args["areas"], float(args["threshold"]), int(args["limit"]))
    return [[_data(one), _data(other), likeness] for one, other, likeness in pairs]


async def _drop(index: AgentIndex, args: dict[str, Any]) -> int:
    return await drop(index, args["texts"])


async def _embed(index: AgentIndex, args: dict[str, Any]) -> dict[str, Any]:
    chosen = await index.shared.embedders.get(index.settings)
    if chosen.embedder is None:
        raise Unavailable(f"no vectors are made here. {' '.join(chosen.notes)}".strip())
    vectors, _ = await chosen.embedder.documents(args["texts"])
    made = [[float(each) for each in vector] for vector in vectors if vector is not None]
    if len(made) < len(vectors):
        raise Unavailable(f"{chosen.embedder.id.model} made no vector of one of the texts")
    return {"model": chosen.embedder.id.model, "vectors": made}


def _data(value: msgspec.Struct) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(value)
    return data


def _error(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": message}
