"""How runs of automations are shown in a terminal: the trigger, each step, and the reason why something did not run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from hub.cli.times import SECOND, local_time

VALUE_CHARS = 100

Plain = Mapping[str, Any]


def when(iso: str | None) -> str:
    """Return a time in the terminal's own time zone; empty if there is none."""
    if iso is None:
        return ""
    try:
        return local_time(datetime.fromisoformat(iso).timestamp() * 1000, SECOND)
    except ValueError:
        return iso


def print_traces(traces: Sequence[Plain]) -> None:
    """Print runs with their steps."""
    if not traces:
        click.echo("No runs are kept. `--not-run` shows triggers that fired while nothing ran.")
    for trace in traces:
        outcome = trace.get("outcome") or "running"
        error = f": {trace['error']}" if trace.get("error") else ""
        click.echo(f"{when(trace['started'])}  {_trigger(trace)}  {outcome}{error}  [{trace['run_id']}]")
        for path, entries in trace.get("steps", {}).items():
            for entry in entries:
                click.echo(f"  {path:<28} {_step(entry)}".rstrip())


def print_not_run(entries: Sequence[Plain]) -> None:
    """Print firings that started no run, and why."""
    if not entries:
        click.echo("No trigger fired without a run.")
    for entry in entries:
        click.echo(f"{when(entry['time'])}  {_trigger(entry)}  {entry['reason']}: {entry['text']}")


def print_test(told: Plain) -> None:
    """Print what a run would do."""
    click.echo("It would run." if told["would_run"] else f"It would not run: {told.get('reason') or 'no reason given'}")
    _print_calls(told["calls"], "  ")
    for each in told.get("skipped", ()):
        click.echo(f"  {each['path']:<28} {each['text']}")
    if told.get("error"):
        click.echo(f"  it would fail: {told['error']}")


def print_backtest(told: Plain) -> None:
    """Print what would have happened."""
    runs, not_run = told["runs"], told["not_run"]
    click.echo(f"It would have run {told.get('run_count', len(runs))} times.")
    for run in runs:
        click.echo(f"{when(run['time'])}  {_trigger(run)}")
        _print_calls(run["calls"], "  ")
    if not_run:
        click.echo(f"It would not have run {told.get('not_run_count', len(not_run))} times:")
    for each in not_run:
        click.echo(f"{when(each['time'])}  {_trigger(each)}  {each.get('reason')}: {each.get('text') or ''}")
    for each in told["unknown"]:
        click.echo(f"Not known: trigger {each['trigger']}: {each['text']}" if isinstance(each, Mapping) else str(each))
    if told.get("truncated"):
        click.echo(f"It ended early: {told['truncated']}")


def _print_calls(calls: Sequence[Plain], indent: str) -> None:
    for call in calls:
        click.echo(f"{indent}{call['path']:<28} {call['service']}  {_short(call['data'])}")


def _trigger(told: Plain) -> str:
    trigger = told.get("trigger") or {}
    if not isinstance(trigger, Mapping):
        return str(trigger)
    return str(trigger.get("alias") or trigger.get("description") or trigger.get("platform") or "by hand")


def _step(entry: Plain) -> str:
    told = []
    if entry.get("duration_ms") is not None:
        told.append(f"{entry['duration_ms']:g} ms")
    result = entry.get("result")
    if isinstance(result, Mapping) and "holds" in result:
        why = f": {result['reason']}" if result.get("reason") else ""
        told.append(f"{'holds' if result['holds'] else 'does not hold'}{why}")
    elif result:
        told.append(_short(result))
    if entry.get("child"):
        told.append(f"-> {_short(entry['child'])}")
    if entry.get("error"):
        told.append(f"error: {entry['error']}")
    return "  ".join(told)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE_CHARS else f"{text[: VALUE_CHARS - 1]}…"
