"""Runs and their steps as pages show them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from web.core.durations import duration_text
from web.core.texts import RUN_STATES, SUBAGENT_STATES

PATH = "/timeline"
_GOOD, _BAD, _WARN = ("good", "✓"), ("bad", "✗"), ("warn", "!")
MARKS = {
    "answered": _GOOD,
    "failed": _BAD,
    "aborted": _WARN,
    "interrupted": _WARN,
    "completed": _GOOD,
    "timed_out": _BAD,
    "killed": _WARN,
}
"""How a run ended: a tone, and a mark that says the same."""
GOING_ON = ("queued", "running")
BRIEF_CHARS = 120
CHART_WIDTH, CHART_HEIGHT = 600.0, 120.0
THINNEST = 2.0

Plain = Mapping[str, Any]
Moment = Callable[[int | None], dict[str, str]]


def run_path(run_id: str) -> str:
    """Return the page of a run."""
    return f"{PATH}/run?{urlencode({'run': run_id})}"


def shown_run(run: Plain, moment: Moment) -> dict[str, Any]:
    """Return a run as a row of a list."""
    return _row(run, RUN_STATES, moment) | _spent(run)


def shown_subagent(subagent: Plain, moment: Moment) -> dict[str, Any]:
    """Return a subagent as a row of a list."""
    return _row(subagent, SUBAGENT_STATES, moment) | _spent(subagent) | {"brief": _brief(subagent["task"])}


def shown_side(side: Plain) -> dict[str, Any]:
    """Return one of two answers to be compared."""
    spent = _spent(side)
    return {**side, **spent, "tokens": spent["tokens"] or "0"}


def shown_step(step: Plain, moment: Moment) -> dict[str, Any]:
    """Return a step: its kind, a status mark, a summary line, and its details."""
    usage = step.get("usage") or {}
    failed = bool(step.get("error") or step.get("isError") or step.get("state") in ("dead", "unknown"))
    is_open = step["kind"] in ("model", "tool") and step.get("durationMs") is None
    return {
        **step,
        **moment(step["at"]),
        "took": took(step.get("durationMs")),
        "first": took(step.get("firstMs")),
        "mark": "error" if failed else "running" if is_open else "done",
        "brief": _brief(step.get("text") or step.get("output") or ", ".join(step.get("calls") or ())),
        "tokens_in": f"{_sum(usage, 'input', 'cache_read', 'cache_write'):,}" if usage else "",
        "tokens_out": f"{_sum(usage, 'output'):,}" if usage else "",
        "cost": cost(usage),
        "waited": took((step.get("approval") or step).get("waitedMs")),
    }


def bars(steps: Sequence[Plain]) -> list[dict[str, Any]]:
    """Return a bar for each step that took time, one below the other, from when it began to when it ended."""
    timed = [step for step in steps if step.get("durationMs") is not None]
    if not timed:
        return []
    begin = min(step["at"] for step in timed)
    whole = max(max(step["at"] + step["durationMs"] for step in timed) - begin, 1)
    height = CHART_HEIGHT / len(timed)
    return [
        {
            "x": round(min((step["at"] - begin) / whole * CHART_WIDTH, CHART_WIDTH - THINNEST), 2),
            "y": round(row * height, 2),
            "width": round(max(step["durationMs"] / whole * CHART_WIDTH, THINNEST), 2),
            "height": round(height * 0.8, 2),
            **{name: step.get(name) for name in ("kind", "name", "model")},
            "took": took(step["durationMs"]),
        }
        for row, step in enumerate(timed)
    ]


def took(ms: float | None) -> str:
    """Return a duration; empty when there is none."""
    return "" if ms is None else duration_text(ms / 1_000)


def cost(usage: Plain) -> str:
    """Return a cost; empty if it is zero or unknown."""
    dollars = usage.get("cost_usd")
    return "" if not dollars else f"${dollars:.4f}" if dollars < 1 else f"${dollars:,.2f}"


def _row(run: Plain, states: Mapping[str, str], moment: Moment) -> dict[str, Any]:
    state = run["state"]
    tone, mark = MARKS.get(state, ("", "…"))
    told = {"path": run_path(run["runId"]), "state_text": states.get(state, state), "tone": tone, "mark": mark}
    return {**run, **moment(run["createdAt"]), **told}


def _spent(run: Plain) -> dict[str, str]:
    usage, error = run["usage"] or {}, run.get("error") or {}
    return {
        "took": took(run["durationMs"]),
        "tokens": f"{usage['total_tokens']:,}" if usage.get("total_tokens") else "",
        "cost": cost(usage),
        "error_text": str(error.get("message") or error.get("code") or ""),
    }


def _brief(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= BRIEF_CHARS else f"{line[:BRIEF_CHARS]}…"


def _sum(usage: Plain, *names: str) -> int:
    return sum(int(usage.get(f"{name}_tokens") or 0) for name in names)
