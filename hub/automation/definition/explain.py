"""A whole automation or script in plain words: when it runs, on which conditions, what it does, within which limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hub.automation.conditions.logic import explain_condition
from hub.automation.definition.kinds import action_kind, step_key, trigger_kind
from hub.automation.definition.phrases import listed, shown, span, span_of
from hub.core.secret import SecretMask

_INDENT = "   "
_MODES: Mapping[str, str] = {
    "single": "While it runs, further triggers are ignored.",
    "restart": "Triggered again while it runs, it starts over.",
    "queued": "Triggered again while it runs, it runs again afterwards (at most {max} in all).",
    "parallel": "It may run several times at once (at most {max}).",
}
_CATCH_UP: Mapping[str, str] = {
    "none": "Runs that were missed while the hub was down are let go.",
    "last": "Of runs that were missed while the hub was down, the last is made up for{within}.",
    "all": "All runs that were missed while the hub was down are made up for{within}.",
}


def explain(config: Mapping[str, Any]) -> str:
    """Return a validated (and expanded) automation in plain English, several lines, without its secrets."""
    return "\n".join(_automation(SecretMask(config).data))


def explain_script(config: Mapping[str, Any]) -> str:
    """Return a validated script in plain English, several lines, without its secrets."""
    config = SecretMask(config).data
    lines = _title(config)
    fields = config.get("fields") or {}
    if fields:
        lines.append(f"It is given {listed(fields)}.")
    lines += ["It does:", *_steps(config["sequence"], 1), *_limits(config)]
    return "\n".join(lines)


def explain_trigger(config: Mapping[str, Any]) -> str:
    """Say a trigger in plain words, with its own name and whether it is watched."""
    told = config.get("alias") or trigger_kind(config["trigger"]).explain(config)
    if "id" in config:
        told = f"{told} ({config['id']})"
    return f"{told} (not enabled)" if config.get("enabled") is False else str(told)


def _automation(config: Mapping[str, Any]) -> Iterator[str]:
    yield from _title(config)
    triggers = [explain_trigger(each) for each in config["triggers"]]
    yield from _listed("Runs", "Runs on any of these:", triggers) if triggers else ["Runs only when somebody runs it."]
    yield from _listed("Only if", "Only if all of these hold:", [_condition(each) for each in config["conditions"]])
    yield "Then:"
    yield from _steps(config["actions"], 1)
    yield from _limits(config)


def _title(config: Mapping[str, Any]) -> list[str]:
    name = config.get("alias") or config.get("id")
    lines = [str(name)] if name else []
    if config.get("description"):
        lines.append(" ".join(str(config["description"]).split()))
    return lines


def _listed(one: str, many: str, items: Sequence[str]) -> Iterator[str]:
    if len(items) == 1:
        yield f"{one} {items[0]}."
    elif items:
        yield many
        yield from (f"{_INDENT}- {each}" for each in items)


def _condition(config: Mapping[str, Any]) -> str:
    return str(config.get("alias") or explain_condition(config))


def _conditions(configs: Sequence[Mapping[str, Any]]) -> str:
    return " and ".join(map(_condition, configs)) or "anything"


# --- steps ---


def _steps(steps: Sequence[Mapping[str, Any]], depth: int) -> Iterator[str]:
    if not steps:
        yield f"{_INDENT * depth}- nothing"
    for number, step in enumerate(steps, start=1):
        first, *below = _step(step, depth + 1)
        notes = " (not enabled)" if step.get("enabled") is False else ""
        notes += " (errors do not matter)" if step.get("continue_on_error") else ""
        yield f"{_INDENT * depth}{number}. {first}{notes}"
        yield from below


def _step(step: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield what a step does; then, further in, what it is made of."""
    key = step_key(step)
    alias = f"{step['alias']}: " if step.get("alias") else ""
    match key:
        case "delay":
            yield f"{alias}wait {span_of(step['delay'])}"
        case "if":
            yield f"{alias}if {_conditions(step['if'])}:"
            yield from _steps(step["then"], depth)
            if step.get("else"):
                yield f"{_INDENT * depth}otherwise:"
                yield from _steps(step["else"], depth)
        case "choose":
            yield f"{alias}the first of these that fits:"
            yield from _choices(step, depth)
        case "repeat":
            yield f"{alias}repeat {_how_often(step['repeat'])}:"
            yield from _steps(step["repeat"]["sequence"], depth)
        case "sequence":
            yield f"{alias}in order:"
            yield from _steps(step["sequence"], depth)
        case "parallel":
            yield f"{alias}at the same time:"
            for branch in step["parallel"]:
                yield f"{_INDENT * depth}- in order:"
                yield from _steps(branch["sequence"], depth + 1)
        case "condition":
            yield f"{alias}go on only if {explain_condition(step)}"
        case None:
            yield f"{alias}something unknown"
        case _:
            yield f"{alias}{action_kind(key).explain(step)}"


def _choices(step: Mapping[str, Any], depth: int) -> Iterator[str]:
    for option in step["choose"]:
        told = option.get("alias") or f"if {_conditions(option['conditions'])}"
        yield f"{_INDENT * depth}- {told}:"
        yield from _steps(option["sequence"], depth + 1)
    if step.get("default"):
        yield f"{_INDENT * depth}- otherwise:"
        yield from _steps(step["default"], depth + 1)


def _how_often(repeat: Mapping[str, Any]) -> str:
    if "count" in repeat:
        return f"{shown(repeat['count'])} times"
    if "for_each" in repeat:
        items = repeat["for_each"]
        return f"for each of {listed(map(shown, items)) if isinstance(items, list) else shown(items)}"
    word = "while" if "while" in repeat else "until"
    return f"{word} {_conditions(repeat[word])}"


# --- limits ---


def _limits(config: Mapping[str, Any]) -> Iterator[str]:
    yield _MODES[config.get("mode", "single")].format(max=config.get("max"))
    if (catch_up := config.get("catch_up")) is not None:
        within = catch_up.get("within")
        told = f", if they are not older than {span(within)}" if within is not None else ""
        yield _CATCH_UP[catch_up["mode"]].format(within=told)
    if config.get("timeout") is not None:
        yield f"A run that takes longer than {span(config['timeout'])} is ended."
    if (retry := config.get("retry")) is not None:
        yield f"A run that fails is tried {retry['attempts']} times in all, after {span(retry['delay'])} at first."
    yield from _on_error(config.get("on_error", "stop"))
    if (rate := config.get("rate_limit")) is not None:
        yield f"It runs at most {rate['runs']} times in {span(rate['per'])}."
    if (budget := config.get("budget")) is not None:
        amounts = [f"${budget['cost_usd']:g}"] if budget.get("cost_usd") is not None else []
        amounts += [f"{budget['tokens']} tokens"] if budget.get("tokens") is not None else []
        yield f"It does not run once its runs have spent {listed(amounts, 'or')} in {span(budget['per'])}."
    if config.get("approval") == "required":
        yield "Before each run the owner is asked."
    if config.get("delete_after_run"):
        yield "Once it ran it removes itself."
    if config.get("initial_state") is False:
        yield "It is off after each start of the hub."
    if config.get("made_by"):
        yield f"It was made by {config['made_by']}."


def _on_error(on_error: Any) -> Iterator[str]:
    if on_error == "continue":
        yield "When an action fails, the next one is done nevertheless."
    elif not isinstance(on_error, str):
        yield "When it fails:"
        yield from _steps(on_error, 1)
