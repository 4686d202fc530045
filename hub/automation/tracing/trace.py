"""The trace of one run: what each step did, when, and with what result. Writing it costs a list entry a step.

Times are taken on the monotonic clock; they become wall times, in the home's zone, when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from itertools import islice
from types import TracebackType
from typing import Any, Self

from hub.automation.contract import ConditionVerdict, RunOutcome
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.phrases import beside_phrases
from hub.core.secret import MASK, Secret, SecretMask

REPEATS_KEPT = 20
"""Entries of one path: the first ten and the last ten; what lies between is counted."""
ENTRIES_LIMIT = 2_000
"""Entries of one trace; further steps are counted and not kept."""
TEXT_LIMIT = 2_000
ITEMS_LIMIT = 100
VALUES_LIMIT = 2_000
DEPTH_LIMIT = 8
NUMBER_LIMIT = 2**63
"""Whole numbers from here on, which no file of traces can hold, become text."""
_HEAD = REPEATS_KEPT // 2
_NO_SECRETS = SecretMask()


class StepTrace:
    """One execution of one step. As a context manager, it ends on exit and records a raised error."""

    __slots__ = ("_changed", "_child", "_clock", "_ended", "_error", "_result", "_started", "skipped")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._ended: float | None = None
        self._result: dict[str, Any] | None = None
        self._changed: dict[str, Any] | None = None
        self._error: str | None = None
        self._child: dict[str, str] | None = None
        self.skipped = 0
        """How many executions of this path before this one were not kept."""

    def result(self, **values: Any) -> Self:
        """Record the result; a second call adds its values."""
        self._result = values if self._result is None else {**self._result, **values}
        return self

    def error(self, text: str) -> Self:
        """Record an error."""
        self._error = text
        return self

    def child(
        self, *, run_id: str | None = None, automation_id: str | None = None, session_key: str | None = None
    ) -> Self:
        """Record a run that it started (of an agent, a script, an automation), its owner and its conversation."""
        told = {"run_id": run_id, "automation_id": automation_id, "session_key": session_key}
        self._child = {key: value for key, value in told.items() if value is not None}
        return self

    @property
    def begun_run(self) -> str | None:
        """The run that it started."""
        return self._child.get("run_id") if self._child is not None else None

    def record_variables(self, variables: Mapping[str, Any]) -> Self:
        """Record the current values of variables."""
        if variables:
            self._changed = {**(self._changed or {}), **variables}
        return self

    def end(self) -> None:
        """Record the end; only the first call counts."""
        if self._ended is None:
            self._ended = self._clock.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._error is None and isinstance(error, HubError):
            self._error = error.message
        self.end()

    def as_dict(self, wall_offset: float, zone: tzinfo, mask: SecretMask = _NO_SECRETS) -> dict[str, Any]:
        """Return the entry with the secrets of `mask` replaced.

        Args:
            wall_offset: The wall clock minus the monotonic one, in seconds.
        """
        shown: dict[str, Any] = {
            "started": iso_time(self._started + wall_offset, zone),
            "duration_ms": None if self._ended is None else round((self._ended - self._started) * 1000, 3),
        }
        if self._result is not None:
            shown["result"] = plain_value(self._result, mask)
        if self._changed is not None:
            shown["changed_variables"] = plain_value(self._changed, mask)
        if self._error is not None:
            shown |= _told({"error": self._error}, mask)
        if self._child:
            shown["child"] = self._child
        if self.skipped:
            shown["skipped"] = self.skipped
        return shown


class TraceWriter:
    """Collects the steps of one run.

    Args:
        run_id: The id of the run.
        automation_id: Whose run it is; a script's is `script.<key>`.
        alias: The alias shown to people.
        trigger: The trigger that fired, as templates see it.
        context: The cause of the run.
        clock: The clock of the hub.
        zone: The home's time zone.
        config: The configuration that runs, for reading the trace after later edits; not to be changed.
            Its secrets are hidden in the whole trace.
    """

    __slots__ = (
        "_clock",
        "_config",
        "_entries",
        "_finished",
        "_started",
        "_steps",
        "_zone",
        "alias",
        "automation_id",
        "context",
        "dropped",
        "error",
        "outcome",
        "run_id",
        "started",
        "trigger",
        "variables",
    )

    def __init__(
        self,
        run_id: str,
        automation_id: str,
        alias: str,
        trigger: Mapping[str, Any],
        context: Context,
        *,
        clock: Clock,
        zone: tzinfo,
        config: SecretMask = _NO_SECRETS,
    ) -> None:
        self.run_id = run_id
        self.automation_id = automation_id
        self.alias = alias
        self.trigger = trigger
        self.context = context
        self._config = config
        self.outcome: RunOutcome | None = None
        self.error: str | None = None
        self.variables: Mapping[str, Any] = {}
        self.dropped = 0
        self._clock = clock
        self._zone = zone
        self.started = clock.time()
        self._started = clock.monotonic()
        self._finished: float | None = None
        self._steps: dict[str, list[StepTrace]] = {}
        self._entries = 0

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return self._finished is not None

    @property
    def last_begun_run(self) -> str | None:
        """The last run that a step of it started."""
        for steps in reversed(self._steps.values()):
            for step in reversed(steps):
                if (run := step.begun_run) is not None:
                    return run
        return None

    def step(self, path: str) -> StepTrace:
        """Begin an execution of the step at `path`, such as `action/0/choose/1`."""
        step = StepTrace(self._clock)
        entries = self._steps.get(path)
        if entries is None:
            if self._entries >= ENTRIES_LIMIT:
                self.dropped += 1
                return step
            self._entries += 1
            self._steps[path] = [step]
            return step
        if len(entries) >= REPEATS_KEPT:
            gone = entries.pop(_HEAD)
            entries[_HEAD].skipped += gone.skipped + 1
            entries.append(step)
            return step
        if self._entries >= ENTRIES_LIMIT:
            self.dropped += 1
            return step
        self._entries += 1
        entries.append(step)
        return step

    def verdict(self, path: str, verdict: ConditionVerdict) -> None:
        """Record the verdict of the condition at `path`, and of its parts."""
        for place, each in each_verdict(path, verdict):
            self.step(place).result(**verdict_result(each)).end()

    def end(self, outcome: RunOutcome, error: str | None = None, variables: Mapping[str, Any] | None = None) -> None:
        """End the run now; only the first call counts."""
        if self._finished is not None:
            return
        self._finished = self._clock.monotonic()
        self.outcome = outcome
        self.error = error
        self.variables = variables if variables is not None else self.variables

    def plain_copy(self, value: Any) -> Any:
        """Return a bounded plain copy of a value; secrets of what runs are replaced."""
        return plain_value(value, self._config)

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain data, bounded, which shares nothing but `config` with the run."""
        offset, mask = self.started - self._started, self._config
        shown: dict[str, Any] = {
            "run_id": self.run_id,
            "automation_id": self.automation_id,
            "alias": self.alias,
            "trigger": plain_value(self.trigger, mask),
            "started": iso_time(self.started, self._zone),
            "finished": None if self._finished is None else iso_time(self._finished + offset, self._zone),
            "outcome": None if self.outcome is None else self.outcome.value,
            **_told({"error": self.error}, mask),
            "context": {"id": self.context.id, "parent_id": self.context.parent_id},
            "steps": {
                path: [entry.as_dict(offset, self._zone, mask) for entry in entries]
                for path, entries in self._steps.items()
            },
            "variables": plain_value(self.variables, mask),
            "config": mask.data,
        }
        if self.dropped:
            shown["dropped"] = self.dropped
        return shown


def _told(texts: Mapping[str, str | None], mask: SecretMask) -> dict[str, Any]:
    told: dict[str, Any] = plain_value({**texts, **beside_phrases(texts)}, mask)
    return told


def each_verdict(path: str, verdict: ConditionVerdict) -> Iterator[tuple[str, ConditionVerdict]]:
    """Yield a verdict and its parts, each with its path."""
    yield path, verdict
    for below, child in verdict.children.items():
        yield from each_verdict(f"{path}/{below}", child)


def verdict_result(verdict: ConditionVerdict) -> dict[str, Any]:
    """Return a verdict as a trace shows it; its parts have entries of their own."""
    return {"holds": verdict.holds, "reason": verdict.reason, **verdict.details}


def verdict_steps(verdicts: Mapping[str, ConditionVerdict]) -> dict[str, list[dict[str, Any]]]:
    """Return verdicts by path as the `steps` of a trace of something that did not run."""
    return {
        place: [{"result": plain_value(verdict_result(each))}]
        for path, verdict in verdicts.items()
        for place, each in each_verdict(path, verdict)
    }


def iso_time(when: float, zone: tzinfo) -> str:
    """Return seconds since the epoch as ISO 8601 with milliseconds and the zone's offset."""
    return datetime.fromtimestamp(when, zone).isoformat(timespec="milliseconds")


def plain_value(value: Any, mask: SecretMask = _NO_SECRETS) -> Any:
    """Return a bounded plain copy of any value: long text, long lists and deep data are cut.

    Args:
        mask: Hides the secrets of what runs.
    """
    return _Shown(mask).of(value, 0)


class _Shown:
    """Copies one value; the copy has at most `VALUES_LIMIT` values."""

    __slots__ = ("_left", "_mask")

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._left = VALUES_LIMIT

    def of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if value is None or isinstance(value, bool):
            return value
        kind = value.__class__
        if kind is str:
            return _cut(self._mask.text(value))
        if kind is dict and depth < DEPTH_LIMIT and self._left > 0:
            return self._mapping(value, depth)
        if isinstance(value, (int, float)) and self._mask.hides(value):
            return MASK
        if isinstance(value, float):
            return value
        if isinstance(value, int):
            return value if -NUMBER_LIMIT <= value < NUMBER_LIMIT else _cut(str(value))
        if isinstance(value, str):
            return _cut(self._mask.text(value))
        if isinstance(value, Secret):
            return MASK
        if isinstance(value, datetime):
            return value.isoformat()
        as_dict = getattr(value, "as_dict", None)
        if callable(as_dict) and not isinstance(value, type):
            value = as_dict()
        if depth >= DEPTH_LIMIT or self._left <= 0:
            return "…"
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = [self.of(each, depth + 1) for each in islice(value, self._room())]
            return items if len(items) == len(value) else [*items, f"… ({len(value)} items)"]
        return _cut(self._mask.text(repr(value)))

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        shown = {_cut(str(key)): self.of(each, depth + 1) for key, each in islice(value.items(), self._room())}
        for key, each in beside_phrases(dict(islice(value.items(), len(shown)))).items():
            shown[key] = self.of(each, depth)
        return shown if len(shown) >= len(value) else {**shown, "…": f"{len(value)} items"}

    def _room(self) -> int:
        return max(0, min(ITEMS_LIMIT, self._left))


def _cut(text: str) -> str:
    """Return a text cut to the limit; invalid characters are replaced, so that they hide nothing."""
    shown = text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}… ({len(text)} characters)"
    # Plain text is all characters; this is done for each key and each value of every run.
    return shown if shown.__class__ is str and shown.isascii() else shown.encode("utf-8", "replace").decode()
