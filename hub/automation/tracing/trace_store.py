"""Stores and finds traces: the newest of each automation and each outcome; runs without effect evict nothing.

They are written behind into the history database. While that is off, a bounded number is held in memory.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from functools import partial
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from hub.automation.contract import ConditionVerdict, NotRun, RunOutcome
from hub.automation.tracing.trace import TraceWriter, iso_time, plain_value, verdict_steps
from hub.core.errors import InvalidRequest, NotFound
from hub.core.ids import new_id
from hub.core.phrases import PHRASE
from hub.core.secret import Secret
from hub.security.redaction import Redactor
from hub.storage.history import HistoryStore
from hub.storage.trace_rows import TRACE_BYTES_LIMIT, NotRunRow, TraceRow

_log = logging.getLogger(__name__)

DEFAULT_KEPT = 5
IMPORTED_KEPT = 50
NOT_RUN_KEPT = 20
"""For each automation and each reason."""
MEMORY_BYTES_LIMIT = 8 * 1024 * 1024
"""What is held while history is off, all together."""
LIST_LIMIT = 500
NOTHING: Mapping[str, str | None] = {}
FORMAT = "homarus_trace"
VERSION = 1
_BRIEF = (
    "run_id",
    "automation_id",
    "alias",
    "trigger",
    "started",
    "finished",
    "outcome",
    "error",
    f"error{PHRASE}",
    "context",
    "imported",
)

Bucket = tuple[str, str, str]
Plain = dict[str, Any]
Many = list[Plain]


class TraceStore:
    """Keeps traces.

    Args:
        history: Stores them; None keeps them in memory.
        redactor: Removes secrets from what is shown.
        wall_time: Seconds since the epoch.
        zone: The home's time zone.
    """

    def __init__(
        self,
        history: HistoryStore | None,
        redactor: Redactor,
        wall_time: Callable[[], float],
        zone: Callable[[], tzinfo],
    ) -> None:
        self._history = history
        self._redactor = redactor
        self._wall_time = wall_time
        self._zone = zone
        self._running: dict[str, TraceWriter] = {}
        self._memory = _Memory()

    # --- writing ---

    def begin(self, writer: TraceWriter) -> None:
        """Record that a run has begun; it is shown as running until its trace is added."""
        self._running[writer.run_id] = writer

    def add(self, trace: TraceWriter | Mapping[str, Any], kept: int = DEFAULT_KEPT) -> None:
        """Store the trace of an ended run; returns at once and never raises.

        Args:
            trace: The trace; not changed any more.
            kept: How many of this automation and this outcome are kept (`trace: stored_traces`); 0 keeps none.
        """
        if isinstance(trace, TraceWriter):
            self._running.pop(trace.run_id, None)
            if kept <= 0:
                return
            if (history := self._recording()) is not None:
                outcome = "unknown" if trace.outcome is None else trace.outcome.value
                started = int(trace.started * 1000)
                later = partial(_encoded_later, trace)
                history.record_trace(TraceRow(started, trace.run_id, trace.automation_id, outcome, kept, False, later))
                return
            trace = trace.as_dict()
        elif kept <= 0:
            return
        self._keep(trace, kept, imported=False)

    def add_not_run(
        self,
        automation_id: str,
        alias: str,
        trigger: Mapping[str, Any],
        reason: NotRun,
        text: str,
        verdicts: Mapping[str, ConditionVerdict],
        about: Mapping[str, str | None] = NOTHING,
    ) -> None:
        """Store that a trigger fired and nothing ran; returns at once and never raises.

        Args:
            trigger: The trigger that fired, as templates see it.
            reason: Why nothing ran; each reason of each automation has a bucket of its own.
            text: The reason, for people.
            verdicts: The verdicts of the conditions that were asked, by their index.
            about: Further facts: the `kind` of automation, and the context that was the `cause`.
        """
        now = self._wall_time()
        data = encode_trace(
            {
                "automation_id": automation_id,
                "alias": alias,
                "time": iso_time(now, self._zone()),
                "trigger": plain_value(trigger),
                "reason": reason.value,
                **about,
                **plain_value({"text": text}),
                "steps": verdict_steps({f"condition/{index}": verdict for index, verdict in verdicts.items()}),
            }
        )
        if (history := self._recording()) is not None:
            history.record_trace(NotRunRow(int(now * 1000), automation_id, reason.value, NOT_RUN_KEPT, data))
        else:
            self._memory.add(("not_run", automation_id, reason.value), NOT_RUN_KEPT, "", data)

    def forget(self, run_id: str) -> None:
        """Forget a begun run that ends without a trace, because the hub stops and resumes it later."""
        self._running.pop(run_id, None)

    # --- looking up ---

    async def list(self, automation_id: str, limit: int = LIST_LIMIT) -> Many:
        """Return the traces of an automation, newest first; active runs have no `finished`."""
        return await self._find(automation_id, limit)

    async def recent(self, limit: int = 50) -> Many:
        """Return recent runs of all automations, newest first, without steps and variables."""
        found = await self._find(None, limit)
        return [{key: trace[key] for key in _BRIEF if key in trace} for trace in found]

    async def not_run(self, automation_id: str | None, limit: int = LIST_LIMIT) -> Many:
        """Return firings that started no run, of one automation or all (None), newest first, with reasons."""
        limit = _bounded(limit)
        found = self._memory.of("not_run", automation_id)
        if self._history is not None:
            found += await self._history.not_run(automation_id, limit)
        return self._shown(sorted(found, key=lambda each: _moment(each.get("time")), reverse=True)[:limit])

    async def get(self, run_id: str) -> dict[str, Any]:
        """Return the trace of a run.

        Raises:
            NotFound: There is none (any more).
        """
        if run_id in self._running:
            return self._shown_one(self._running[run_id].as_dict())
        found = self._memory.get(run_id)
        if found is None and self._history is not None:
            found = await self._history.trace(run_id)
        if found is None:
            raise NotFound(
                f"there is no trace of the run {run_id[:64]!r}; of each automation only the newest are kept",
                details={"run_id": run_id[:64]},
            )
        return self._shown_one(found)

    # --- files ---

    async def export(self, run_id: str) -> dict[str, Any]:
        """Return a trace in its export format.

        Raises:
            NotFound: It does not exist.
        """
        return {FORMAT: VERSION, "trace": await self.get(run_id)}

    def import_(self, data: Any) -> str:
        """Import an exported trace; return its new run id.

        It gets an id of its own and is marked `imported`: a file proves nothing that happened here.

        Raises:
            InvalidRequest: It is none, or too large.
        """
        trace = _checked(data)
        trace["run_id"] = f"imported-{new_id()}"
        trace["imported"] = True
        if len(orjson.dumps(trace)) > TRACE_BYTES_LIMIT:
            raise InvalidRequest(f"the trace is larger than {TRACE_BYTES_LIMIT // 1024} KiB")
        self._keep(trace, IMPORTED_KEPT, imported=True)
        return str(trace["run_id"])

    # --- inside ---

    def _recording(self) -> HistoryStore | None:
        return self._history if self._history is not None and self._history.off is None else None

    def _keep(self, trace: Mapping[str, Any], kept: int, *, imported: bool) -> None:
        automation_id, run_id = str(trace["automation_id"]), str(trace["run_id"])
        outcome = str(trace.get("outcome") or "unknown")
        data = encode_trace(trace)
        if (history := self._recording()) is not None:
            started = int((_moment(trace.get("started")) or self._wall_time()) * 1000)
            history.record_trace(TraceRow(started, run_id, automation_id, outcome, kept, imported, data))
        else:
            self._memory.add(("imported" if imported else "trace", automation_id, outcome), kept, run_id, data)

    async def _find(self, automation_id: str | None, limit: int) -> Many:
        limit = _bounded(limit)
        found = [
            writer.as_dict()
            for writer in self._running.values()
            if automation_id is None or writer.automation_id == automation_id
        ]
        found += self._memory.of("trace", automation_id) + self._memory.of("imported", automation_id)
        if self._history is not None:
            known = {trace.get("run_id") for trace in found}
            stored = await self._history.traces(automation_id, limit)
            found += [trace for trace in stored if trace.get("run_id") not in known]
        return self._shown(sorted(found, key=lambda trace: _moment(trace.get("started")), reverse=True)[:limit])

    def _shown(self, found: Many) -> Many:
        return [self._shown_one(each) for each in found]

    def _shown_one(self, found: dict[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = self._redactor.redact_data(orjson.loads(_dumped(found)))
        return clean


class _Memory:
    """Traces by bucket, newest last; above the byte limit, the oldest of the fullest buckets are dropped."""

    def __init__(self) -> None:
        self._buckets: dict[Bucket, deque[tuple[str, bytes]]] = {}
        self._bytes = 0

    def add(self, bucket: Bucket, kept: int, run_id: str, data: bytes) -> None:
        held = self._buckets.pop(bucket, None) or deque()
        self._buckets[bucket] = held  # behind all others: the bucket that was written to last
        held.append((run_id, bytes(memoryview(data))))  # a copy of its size: what the encoder gives has room behind it
        self._bytes += len(data)
        while len(held) > kept:
            self._bytes -= len(held.popleft()[1])
        while self._bytes > MEMORY_BYTES_LIMIT:
            self._evict()

    def of(self, what: str, automation_id: str | None) -> Many:
        return [
            orjson.loads(data)
            for bucket, held in self._buckets.items()
            if bucket[0] == what and automation_id in (None, bucket[1])
            for _, data in held
        ]

    def get(self, run_id: str) -> dict[str, Any] | None:
        for bucket, held in self._buckets.items():
            for id, data in held:
                if id == run_id and bucket[0] != "not_run":
                    found: dict[str, Any] = orjson.loads(data)
                    return found
        return None

    def _evict(self) -> None:
        bucket = next((each for each, held in self._buckets.items() if len(held) > 1), next(iter(self._buckets)))
        held = self._buckets[bucket]
        self._bytes -= len(held.popleft()[1])
        if not held:
            del self._buckets[bucket]


def encode_trace(trace: Mapping[str, Any]) -> bytes:
    """Return a trace as JSON of at most 64 KiB; the least informative parts are dropped first."""
    data = _dumped(trace)
    if len(data) <= TRACE_BYTES_LIMIT:
        return data
    cut = {**trace, "truncated": True}
    for leave_out in (_without_config, _without_variables, _without_results, _first_steps):
        cut = leave_out(cut)
        data = _dumped(cut)
        if len(data) <= TRACE_BYTES_LIMIT:
            return data
    brief = {key: cut[key] for key in (*_BRIEF, "time", "reason", "text") if key in cut}
    return _dumped({**brief, "trigger": {}, "steps": {}, "truncated": True})


def _encoded_later(trace: TraceWriter) -> bytes:
    """Return the trace of an ended run, encoded in the writer's thread; a bad value does not stop the others."""
    try:
        return encode_trace(trace.as_dict())
    except Exception as error:  # it holds whatever an automation put into its variables
        _log.exception("the trace of the run %s cannot be written", trace.run_id)
        return _dumped({"run_id": trace.run_id, "automation_id": trace.automation_id, "unreadable": repr(error)[:200]})


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError) as error:
        return orjson.dumps({"unreadable": repr(error)[:200]})


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return "[redacted]"
    if isinstance(value, Struct):
        return asdict(value)
    return (
        [*value]
        if isinstance(value, (set, frozenset, tuple))
        else repr(value)[:200].encode("utf-8", "replace").decode()
    )


def _without_config(trace: dict[str, Any]) -> dict[str, Any]:
    return {**trace, "config": None}


def _without_variables(trace: dict[str, Any]) -> dict[str, Any]:
    return {**trace, "variables": {}, "steps": _each_step(trace, ("changed_variables",))}


def _without_results(trace: dict[str, Any]) -> dict[str, Any]:
    return {**trace, "steps": _each_step(trace, ("changed_variables", "result"))}


def _first_steps(trace: dict[str, Any]) -> dict[str, Any]:
    return {**trace, "steps": dict(list(_each_step(trace, ("changed_variables", "result")).items())[:200])}


def _each_step(trace: Mapping[str, Any], without: tuple[str, ...]) -> dict[str, Any]:
    steps: Mapping[str, Any] = trace.get("steps") or {}
    return {
        path: [{key: value for key, value in entry.items() if key not in without} for entry in entries]
        for path, entries in steps.items()
    }


def _checked(data: Any) -> dict[str, Any]:
    """Return the trace in a file, reduced to known fields; raises `InvalidRequest`."""
    if not isinstance(data, Mapping) or data.get(FORMAT) != VERSION or not isinstance(data.get("trace"), Mapping):
        raise InvalidRequest(f'this is not a trace; expected {{"{FORMAT}": {VERSION}, "trace": {{…}}}}')
    raw: Mapping[str, Any] = data["trace"]
    for key in ("automation_id", "started", "outcome"):
        if not isinstance(raw.get(key), str) or not raw[key]:
            raise InvalidRequest(f"this is not a trace; trace.{key} is not text")
    if raw["outcome"] not in {outcome.value for outcome in RunOutcome}:
        raise InvalidRequest(f"this is not a trace; trace.outcome is {raw['outcome'][:40]!r}")
    if _moment(raw["started"]) == 0.0:
        raise InvalidRequest("this is not a trace; trace.started is not a date-time with a time zone")
    steps = raw.get("steps")
    if not isinstance(steps, Mapping) or not all(
        isinstance(entries, list) and all(isinstance(entry, Mapping) for entry in entries) for entries in steps.values()
    ):
        raise InvalidRequest("this is not a trace; trace.steps is not a list of entries by path")
    kept = (*_BRIEF, "steps", "variables", "config", "truncated", "dropped")
    return {"alias": "", "trigger": {}, **{key: raw[key] for key in kept if key in raw}}


def _moment(value: Any) -> float:
    """Return ISO 8601 with a zone as seconds since the epoch; 0 if invalid."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return 0.0
    return moment.timestamp() if moment.tzinfo is not None else 0.0


def _bounded(limit: int) -> int:
    return max(0, min(limit, LIST_LIMIT))
