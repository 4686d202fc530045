"""Runs, firings without a run, and traces as pages show them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hub.automation.definition.kinds import OUR_KINDS, Kinds
from hub.core.phrases import PHRASE, phrase_from_data, stored_phrase
from web.automations.entity_names import EntityNames
from web.automations.trace_graph import graph_of, state_of, step_id, verdict_of
from web.automations.trigger_texts import fired_text, trigger_text
from web.core.durations import duration_text
from web.core.moments import time_of_day
from web.core.render import Renderer
from web.core.texts import NOT_RUN_REASONS, OUTCOMES

RUNNING = "running"
TONES = {
    "finished": "good",
    "stopped": "good",
    RUNNING: "",
    "failed": "danger",
    "timed_out": "danger",
    "denied": "warn",
    "cancelled": "warn",
    "interrupted": "warn",
}
VALUE_LIMIT = 20_000
_PLACE = re.compile(r"^(?:[a-z_]+/)[\w/]*: ")
"""Where a run failed, before what is said of it."""


def automation_path(automation_id: str, rest: str = "") -> str:
    """Return the page of an automation, or one below it."""
    return f"/automations/{quote(automation_id, safe='')}{rest}"


def outcome_chip(outcome: str | None) -> dict[str, str]:
    """Return how a run ended, in words and as a tone of a chip."""
    name = outcome or RUNNING
    tone = TONES.get(name, "")
    return {"outcome": name, "outcome_text": OUTCOMES.get(name, name), "tone": tone}


def seconds_of(iso: Any) -> float | None:
    """Return ISO 8601 as seconds since the epoch."""
    try:
        return datetime.fromisoformat(iso).timestamp()
    except (TypeError, ValueError):
        return None


class TraceView:
    """Formats traces.

    Args:
        renderer: Formats times.
        names: Names entities in sentences.
        kinds: The kinds of steps that there are.
    """

    def __init__(self, renderer: Renderer, names: EntityNames, kinds: Kinds = OUR_KINDS) -> None:
        self._renderer = renderer
        self._names = names
        self._kinds = kinds

    def run(self, trace: Mapping[str, Any]) -> dict[str, Any]:
        """Return a run as a row of a list."""
        started, finished = seconds_of(trace.get("started")), seconds_of(trace.get("finished"))
        id = str(trace.get("automation_id") or "")
        run_id = str(trace.get("run_id") or "")
        duration = None if started is None or finished is None else max(0.0, finished - started)
        return {
            "run_id": run_id,
            "automation_id": id,
            "alias": str(trace.get("alias") or id),
            "path": automation_path(id, f"/traces?run={quote(run_id, safe='')}"),
            "trigger": self.fired(trace.get("trigger"), started),
            **outcome_chip(trace.get("outcome")),
            "error": self.error(trace),
            **self.moment(started),
            "duration": None if duration is None else duration_text(duration),
            "imported": bool(trace.get("imported")),
        }

    def error(self, told: Mapping[str, Any]) -> str:
        """Return what went wrong in a run or a step, with things by their names, without the place in its trace."""
        plain = _PLACE.sub("", str(told.get("error") or ""))
        return self._names.with_names(phrase_from_data(plain, told.get(f"error{PHRASE}")))

    def fired(self, trigger: Any, seconds: float | None) -> str:
        """Return what a trigger waited for, by the time at which it fired."""
        if seconds is None:
            return self._names.with_names(trigger_text(trigger))
        at = time_of_day(self._renderer.local(seconds * 1000), twelve=self._renderer.has_twelve_hours())
        return self._names.with_names(fired_text(trigger, at))

    def not_run(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return a firing without a run as a row of a list."""
        id, reason = str(entry.get("automation_id") or ""), str(entry.get("reason") or "")
        return {
            "automation_id": id,
            "alias": str(entry.get("alias") or id),
            "path": automation_path(id, "/traces#not-run"),
            "trigger": self.fired(entry.get("trigger"), seconds_of(entry.get("time"))),
            "reason": reason,
            "reason_text": NOT_RUN_REASONS.get(reason, reason),
            "text": self._names.with_names(stored_phrase(entry, "text")),
            **self.moment(seconds_of(entry.get("time"))),
            "conditions": [
                {"path": path, "holds": verdict_of(entries), "reason": self._names.with_names(_reason(entries))}
                for path, entries in (entry.get("steps") or {}).items()
            ],
        }

    def trace(self, trace: Mapping[str, Any]) -> dict[str, Any]:
        """Return one trace: its run, its graph, and each step with its entries."""
        steps: Mapping[str, Sequence[Mapping[str, Any]]] = trace.get("steps") or {}
        config = trace.get("config")
        fired = (trace.get("trigger") or {}).get("idx")
        with self._kinds.in_use():
            graph = graph_of(
                config if isinstance(config, Mapping) else {}, steps, None if fired is None else str(fired)
            )
        for box in graph.boxes:
            box.label = self._names.with_names(box.label)
        nodes = [box.as_dict() | self._node(box.path, box.state, steps) for box in graph.boxes]
        drawn = {box.path for box in graph.boxes}
        nodes += [
            {"path": path, "id": step_id(path), "label": path, "kind": "", "depth": path.count("/") - 1, "count": 1}
            | self._node(path, state_of(entries), steps)
            for path, entries in steps.items()
            if path not in drawn
        ]
        return self.run(trace) | {
            "graph": graph.as_dict(),
            "nodes": nodes,
            "variables": pretty(trace.get("variables")),
            "trigger_data": pretty(trace.get("trigger")),
            "config": pretty(config) if config is not None else None,
            "truncated": bool(trace.get("truncated") or trace.get("dropped")),
        }

    def moment(self, seconds: float | None) -> dict[str, str]:
        """Return a time for people and for machines."""
        ts_ms = None if seconds is None else int(seconds * 1000)
        return {
            "when": self._renderer.when(ts_ms, seconds=True),
            "spoken": self._renderer.spoken(ts_ms),
            "iso": self._renderer.iso(ts_ms),
        }

    def _node(self, path: str, state: str, steps: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
        return {"state": state, "entries": [self._entry(entry) for entry in steps.get(path, ())]}

    def _entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        child = entry.get("child") or {}
        duration = entry.get("duration_ms")
        return {
            **self.moment(seconds_of(entry.get("started"))),
            "duration": None if duration is None else duration_text(float(duration) / 1000),
            "holds": verdict_of([entry]),
            "reason": self._names.with_names(_reason([entry])),
            "result": pretty(entry["result"]) if entry.get("result") else None,
            "changed": pretty(entry["changed_variables"]) if entry.get("changed_variables") else None,
            "error": self.error(entry),
            "skipped": entry.get("skipped") or 0,
            "child": _child(child),
        }


def pretty(value: Any) -> str:
    """Return plain data as indented JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return text if len(text) <= VALUE_LIMIT else f"{text[:VALUE_LIMIT]}…"


def _child(child: Mapping[str, Any]) -> dict[str, str | None] | None:
    if not child:
        return None
    automation_id, run_id, key = child.get("automation_id"), str(child.get("run_id") or ""), child.get("session_key")
    if automation_id:
        rest = f"/traces?run={quote(run_id, safe='')}" if run_id else ""
        return {"text": str(automation_id), "path": automation_path(str(automation_id), rest)}
    if key:
        return {"text": str(key), "path": f"/chat?session={quote(str(key), safe='')}"}
    return {"text": run_id, "path": None}


def _reason(entries: Sequence[Mapping[str, Any]]) -> str:
    for entry in reversed(entries):
        result = entry.get("result")
        if isinstance(result, Mapping) and result.get("reason"):
            return stored_phrase(result, "reason")
    return ""
