"""An automation's run whole, from its trace; and a firing after which nothing ran. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from hub.automation.conditions.logic import explain_condition
from hub.automation.definition.explain import explain_step
from hub.core.errors import HubError
from hub.core.phrases import PHRASE, phrase, stored_phrase
from hub.timeline.detail import Condition, Detail, Lane, Step
from hub.timeline.happening import Cause, Happening, Kind, Outcome

Plain = Mapping[str, Any]
_LISTS = {"action": "actions", "condition": "conditions", "sequence": "sequence"}
_NOT_VALUES = frozenset({"holds", "reason", f"reason{PHRASE}"})


def automation_detail(row: Happening, trace: Plain | None, children: Sequence[Cause]) -> Detail:
    """Return an automation's run as one happening.

    Args:
        row: Its row.
        trace: Its trace; None when it is not kept any more.
        children: Runs of agents that it started.
    """
    entries = sorted(_entries((trace or {}).get("steps") or {}), key=lambda each: each[2])
    config = (trace or {}).get("config") or {}
    conditions = list(_conditions((trace or {}).get("steps") or {}, config))
    own = next((place for place, each in enumerate(row.causes) if each.is_self), 0)
    effects = [each for each in row.causes[own + 1 :] if each.kind is Kind.DEVICE and each.at_ms is not None]
    steps = [_begun(row), *(_asked(each, row.at_ms) for each in conditions)]
    acted = [each for each in entries if not _is_condition(each[0])]
    owners = [_owner(each.at_ms or 0, each.entity_id, acted) for each in effects]
    takers = [_owner(each["at"], each["entityId"], acted) for each in row.pictures]
    for place, (path, entry, at) in enumerate(acted):
        changes = [each for each, owner in zip(effects, owners, strict=True) if owner == place]
        taken = [number for number, owner in enumerate(takers) if owner == place]
        steps.append(_step(path, entry, at, config, changes, taken))
    steps += [Step(row.at_ms, "model", each.title, data={"id": each.id}) for each in children if not entries]
    if row.duration_ms is not None:
        steps.append(_ended(row))
    lanes = [
        Lane(step.title, step.kind, step.at_ms, step.duration_ms, step=index)
        for index, step in enumerate(steps)
        if step.kind == "action" and step.duration_ms is not None
    ]
    actions: list[Mapping[str, Any]] = [
        {"do": "run_again", "method": "automation.trigger", "params": {"id": row.automation_id}},
    ]
    if trace is not None:
        actions.append({"do": "download", "method": "automation.trace.export", "params": {"run_id": row.run_id}})
    return Detail(
        row,
        facts={
            "durationMs": row.duration_ms,
            "model": row.model,
            "tokens": row.tokens,
            "costUsd": row.cost_usd,
            "stepCount": sum(step.kind == "action" for step in steps),
        },
        lanes=lanes,
        steps=steps,
        conditions=conditions,
        actions=actions,
        trace={"method": "automation.trace.get", "runId": row.run_id or ""} if trace is not None else None,
    )


def skipped_detail(row: Happening, data: Plain, config: Plain) -> Detail:
    """Return a firing after which nothing ran as one happening.

    Args:
        row: Its row.
        data: Its stored data.
        config: Its automation as it is now; empty when it no longer exists.
    """
    conditions = list(_conditions(data.get("steps") or {}, config))
    steps = [_begun(row)]
    steps += [_asked(each, row.at_ms) for each in sorted(conditions, key=lambda each: each.holds is not False)]
    reason = None if any(each.reason == row.reason for each in conditions) else row.reason
    steps.append(Step(row.at_ms, "note", phrase("It did not run"), reason, tone="bad"))
    force = {"id": row.automation_id, "skip_conditions": True}
    return Detail(
        row,
        facts={"reason": row.reason_code},
        steps=steps,
        conditions=conditions,
        actions=[{"do": "run_anyway", "method": "automation.trigger", "params": force}],
    )


def _begun(row: Happening) -> Step:
    before = row.causes[0] if row.causes and not row.causes[0].is_self else None
    if before is None:
        return Step(row.at_ms, "note", phrase("It was set off"), icon="zap")
    data = {"id": before.id, "trigger": before.trigger, "entity": before.entity_id}
    at_ms = row.at_ms if before.at_ms is None else before.at_ms
    return Step(at_ms, "note", before.title, icon=before.kind.value, data=data)


def _asked(condition: Condition, at_ms: int) -> Step:
    """Return a condition as a step: what was asked, and the value that decided."""
    return Step(
        at_ms,
        "condition",
        condition.title or condition.reason or condition.path,
        condition.reason if condition.title else None,
        tone=None if condition.holds is None else "good" if condition.holds else "bad",
        data={"path": condition.path, "values": dict(condition.values) or None},
    )


def _ended(row: Happening) -> Step:
    good = row.outcome is Outcome.DONE
    title = phrase("It finished") if good else phrase("It ended early")
    tone = "good" if good else "bad"
    return Step(row.at_ms + (row.duration_ms or 0), "note", title, row.reason, tone=tone)


def _owner(at_ms: int, entity_id: str | None, acted: Sequence[tuple[str, Plain, float]]) -> int | None:
    """Return which step did something to a device: of those begun by then, the last that names it, else the last."""
    begun = [place for place, (_, _, at) in enumerate(acted) if at <= at_ms]
    named = [place for place in begun if entity_id in _entities(acted[place][1])]
    return next(iter((named or begun)[-1:]), None)


def _entities(entry: Plain) -> Sequence[Any]:
    result = entry.get("result")
    data = result.get("data") if isinstance(result, Mapping) else None
    found = data.get("entity_id") if isinstance(data, Mapping) else None
    return found if isinstance(found, (list, tuple)) else [found]


def _entries(steps: Mapping[str, Sequence[Plain]]) -> Iterator[tuple[str, Plain, float]]:
    for path, entries in steps.items():
        for entry in entries:
            yield path, entry, _moment(entry.get("started"))


def _step(
    path: str, entry: Plain, at_ms: float, config: Plain, effects: Sequence[Cause], pictures: Sequence[int]
) -> Step:
    found, error = _found(config, path), stored_phrase(entry, "error") or None
    result = entry.get("result") or {}
    holds = result.get("holds")
    is_test = isinstance(holds, bool)
    return Step(
        round(at_ms),
        "condition" if is_test else "action",
        _explained(found, is_test=is_test) or path,
        stored_phrase(result, "reason") or error,
        duration_ms=entry.get("duration_ms"),
        tone="bad" if error or holds is False else None,
        data={
            "path": path,
            "result": result or None,
            "changed": entry.get("changed_variables"),
            "child": entry.get("child"),
            "error": error,
            "skipped": entry.get("skipped"),
            "effects": [each.as_dict() for each in effects] or None,
            "pictures": list(pictures) or None,
        },
    )


def _conditions(steps: Mapping[str, Sequence[Plain]], config: Plain) -> Iterator[Condition]:
    for path, entries in steps.items():
        if not _is_condition(path) or not entries:
            continue
        result: Plain = entries[-1].get("result") or {}
        yield Condition(
            path,
            result.get("holds"),
            stored_phrase(result, "reason") or None,
            _explained(_found(config, path), is_test=True),
            {key: value for key, value in result.items() if key not in _NOT_VALUES},
        )


def _is_condition(path: str) -> bool:
    return path.startswith("condition/")


def _found(config: Plain, path: str) -> Plain | None:
    """Return the step of an automation at a path of its trace; None when it is not found."""
    node: Any = config
    for place, name in enumerate(path.split("/")):
        if isinstance(node, (list, tuple)):
            node = node[int(name)] if name.isdecimal() and int(name) < len(node) else None
        elif isinstance(node, Mapping):
            key = _LISTS.get(name, name) if place == 0 else name
            # A condition within a step has the path `if/condition/0`: the word in between is not a key.
            node = node.get(key, node if name in ("condition", "conditions") else None)
    return node if isinstance(node, Mapping) else None


def _explained(found: Plain | None, *, is_test: bool) -> str | None:
    if found is None:
        return None
    try:
        if found.get("alias"):
            return str(found["alias"])
        return explain_condition(found) if is_test and "condition" in found else explain_step(found)
    except (HubError, KeyError, TypeError, ValueError, AttributeError):  # the trace has a cut copy of what ran
        return None


def _moment(iso: Any) -> float:
    try:
        return datetime.fromisoformat(iso).timestamp() * 1000
    except (TypeError, ValueError):
        return 0.0
