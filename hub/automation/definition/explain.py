"""An automation or script in plain words: when it runs, on which conditions, what it does, within which limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hub.automation.conditions.logic import explain_condition
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import all_of, any_of, join_words, span, span_of, value_text
from hub.core.phrases import in_series, phrase
from hub.core.secret import SecretMask

Translate = Callable[[str], str]
IN_A_SENTENCE = 3
_INDENT = "   "
_MODES: Mapping[str, str] = {
    "single": phrase("If triggered while running, the trigger is ignored."),
    "restart": phrase("If triggered while running, it starts over."),
    "queued": phrase("If triggered while running, it runs again afterwards."),
    "parallel": phrase("If triggered while running, it runs a second time in parallel."),
}
_CATCH_UP: Mapping[str, str] = {
    "none": phrase("Runs missed while the hub was down are skipped."),
    "last": phrase("The last of the runs missed while the hub was down is run late."),
    "all": phrase("All runs missed while the hub was down are run late."),
}


def explain(config: Mapping[str, Any], translate: Translate = str) -> str:
    """Return a validated (and expanded) automation in plain words, several lines, without its secrets."""
    return "\n".join(map(translate, _automation(SecretMask(config).data)))


def explain_script(config: Mapping[str, Any], translate: Translate = str) -> str:
    """Return a validated script in plain words, several lines, without its secrets."""
    config = SecretMask(config).data
    lines = _title(config)
    fields = config.get("fields") or {}
    if fields:
        lines.append(phrase("Its fields are {fields}.", fields=join_words(fields)))
    lines += [phrase("It does:"), *_steps(config["sequence"], 1), *_limits(config)]
    return "\n".join(map(translate, lines))


def sentence(config: Mapping[str, Any]) -> str:
    """Return a validated automation as one sentence: when, only if, and what; without its secrets."""
    config = SecretMask(config).data
    when = any_of(_first(explain_trigger(each) for each in config["triggers"])) or phrase("when started by hand")
    what = in_series(_first(_in_short(step) for step in config["actions"])) or phrase("nothing")
    if config["conditions"]:
        conditions = all_of(_first(_condition(each) for each in config["conditions"]))
        return phrase("{when}, only if {condition}: {what}", when=when, condition=conditions, what=what)
    return phrase("{said}: {reason}", said=when, reason=what)


def clause(what: str, config: Mapping[str, Any]) -> str:
    """Return one validated trigger, condition or action as a clause, without its secrets."""
    config = SecretMask(config).data
    match what:
        case "trigger":
            return explain_trigger(config)
        case "condition":
            return _condition(config)
        case _:
            return explain_step(config)


def _in_short(step: Mapping[str, Any]) -> str:
    """Return a step as a clause; what is made of steps is only told to be so."""
    match kinds_in_use().step_key(step):
        case "if" | "choose":
            return phrase("something that depends")
        case "repeat":
            return phrase("something again and again")
        case "sequence" | "parallel":
            return phrase("several things")
        case _:
            return next(_step(step, 0))


def _first(parts: Iterable[str]) -> list[str]:
    """Return the first of what a sentence can hold; what is left out is counted."""
    found = list(parts)
    if len(found) <= IN_A_SENTENCE:
        return found
    more = len(found) - IN_A_SENTENCE + 1
    return [*found[: IN_A_SENTENCE - 1], phrase("{count} more", count=more)]


def explain_trigger(config: Mapping[str, Any]) -> str:
    """Return a trigger in plain words, with its id and whether it is enabled."""
    said: str = config.get("alias") or kinds_in_use().trigger(config["trigger"]).explain(config)
    if "id" in config:
        said = phrase("{said} ({id})", said=said, id=config["id"])
    return phrase("{said} (not enabled)", said=said) if config.get("enabled") is False else said


def explain_step(step: Mapping[str, Any]) -> str:
    """Return in one line what a step does, or the name that it was given."""
    return str(step["alias"]) if step.get("alias") else next(_step(step, 0))


def _automation(config: Mapping[str, Any]) -> Iterator[str]:
    yield from _title(config)
    triggers = [explain_trigger(each) for each in config["triggers"]]
    if len(triggers) == 1:
        yield phrase("Runs {trigger}.", trigger=triggers[0])
    else:
        yield phrase("Runs on any of these:") if triggers else phrase("Runs only when started by hand.")
        yield from _items(triggers)
    conditions = [_condition(each) for each in config["conditions"]]
    if len(conditions) == 1:
        yield phrase("Only if {condition}.", condition=conditions[0])
    elif conditions:
        yield phrase("Only if all of these are true:")
        yield from _items(conditions)
    yield phrase("Then:")
    yield from _steps(config["actions"], 1)
    yield from _limits(config)


def _title(config: Mapping[str, Any]) -> list[str]:
    name = config.get("alias") or config.get("id")
    lines = [str(name)] if name else []
    if config.get("description"):
        lines.append(" ".join(str(config["description"]).split()))
    return lines


def _items(items: Sequence[str], depth: int = 1) -> Iterator[str]:
    return (_line(depth, "-", each) for each in items)


def _line(depth: int, mark: str, text: str) -> str:
    return phrase("{indent}{mark} {text}", indent=_INDENT * depth, mark=mark, text=text)


def _condition(config: Mapping[str, Any]) -> str:
    return config.get("alias") or explain_condition(config)


def _conditions(configs: Sequence[Mapping[str, Any]]) -> str:
    return all_of(map(_condition, configs)) or phrase("anything")


# --- steps ---


def _steps(steps: Sequence[Mapping[str, Any]], depth: int) -> Iterator[str]:
    if not steps:
        yield _line(depth, "-", phrase("nothing"))
    for number, step in enumerate(steps, start=1):
        first, *below = _step(step, depth + 1)
        if step.get("alias"):
            first = phrase("{said}: {reason}", said=step["alias"], reason=first)
        if step.get("enabled") is False:
            first = phrase("{said} (not enabled)", said=first)
        if step.get("continue_on_error"):
            first = phrase("{said} (errors are ignored)", said=first)
        yield _line(depth, f"{number}.", first)
        yield from below


def _step(step: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield a step in words; then, indented, its inner steps."""
    kinds = kinds_in_use()
    key = kinds.step_key(step)
    match key:
        case "delay":
            yield phrase("wait {span}", span=span_of(step["delay"]))
        case "if":
            yield phrase("if {condition}:", condition=_conditions(step["if"]))
            yield from _steps(step["then"], depth)
            if step.get("else"):
                yield phrase("{indent}otherwise:", indent=_INDENT * depth)
                yield from _steps(step["else"], depth)
        case "choose":
            yield phrase("the first of these that fits:")
            yield from _choices(step, depth)
        case "repeat":
            yield phrase("repeat {how_often}:", how_often=_how_often(step["repeat"]))
            yield from _steps(step["repeat"]["sequence"], depth)
        case "sequence":
            yield phrase("in order:")
            yield from _steps(step["sequence"], depth)
        case "parallel":
            yield phrase("at the same time:")
            for branch in step["parallel"]:
                yield _line(depth, "-", phrase("in order:"))
                yield from _steps(branch["sequence"], depth + 1)
        case "condition":
            yield phrase("go on only if {condition}", condition=explain_condition(step))
        case None:
            yield phrase("something unknown")
        case _:
            yield kinds.action(key).explain(step)


def _choices(step: Mapping[str, Any], depth: int) -> Iterator[str]:
    for option in step["choose"]:
        if option.get("alias"):
            yield _line(depth, "-", f"{option['alias']}:")
        else:
            yield _line(depth, "-", phrase("if {condition}:", condition=_conditions(option["conditions"])))
        yield from _steps(option["sequence"], depth + 1)
    if step.get("default"):
        yield _line(depth, "-", phrase("otherwise:"))
        yield from _steps(step["default"], depth + 1)


def _how_often(repeat: Mapping[str, Any]) -> str:
    if "count" in repeat:
        return phrase("{count} times", count=value_text(repeat["count"]))
    if "for_each" in repeat:
        items = repeat["for_each"]
        return phrase(
            "for each of {items}",
            items=join_words(map(value_text, items)) if isinstance(items, list) else value_text(items),
        )
    if "while" in repeat:
        return phrase("while {condition}", condition=_conditions(repeat["while"]))
    return phrase("until {condition}", condition=_conditions(repeat["until"]))


# --- limits ---


def _limits(config: Mapping[str, Any]) -> Iterator[str]:
    mode = config.get("mode", "single")
    yield _MODES[mode]
    if mode in ("queued", "parallel"):
        yield phrase("At most {max} runs wait or run at once.", max=config.get("max"))
    if (catch_up := config.get("catch_up")) is not None:
        yield _CATCH_UP[catch_up["mode"]]
        if catch_up["mode"] != "none" and catch_up.get("within") is not None:
            yield phrase("Runs missed more than {span} ago are skipped.", span=span(catch_up["within"]))
    if config.get("timeout") is not None:
        yield phrase("A run that takes longer than {span} is stopped.", span=span(config["timeout"]))
    if (retry := config.get("retry")) is not None:
        yield phrase(
            "A run that fails is tried {count} times in all, at first after {span}.",
            count=retry["attempts"],
            span=span(retry["delay"]),
        )
    yield from _on_error(config.get("on_error", "stop"))
    if (rate := config.get("rate_limit")) is not None:
        yield phrase("It runs at most {count} times in {span}.", count=rate["runs"], span=span(rate["per"]))
    if (budget := config.get("budget")) is not None:
        amounts = [f"${budget['cost_usd']:g}"] if budget.get("cost_usd") is not None else []
        amounts += [phrase("{count} tokens", count=budget["tokens"])] if budget.get("tokens") is not None else []
        yield phrase(
            "It does not run once its runs have spent {limits} in {span}.",
            limits=join_words(amounts, "or"),
            span=span(budget["per"]),
        )
    if config.get("approval") == "required":
        yield phrase("The owner is asked before each run.")
    if config.get("delete_after_run"):
        yield phrase("It is removed after its run.")
    if config.get("initial_state") is False:
        yield phrase("It is off after each start of the hub.")
    if config.get("made_by"):
        yield phrase("It was made by {maker}.", maker=config["made_by"])


def _on_error(on_error: Any) -> Iterator[str]:
    if on_error == "continue":
        yield phrase("When an action fails, the run continues with the next one.")
    elif not isinstance(on_error, str):
        yield phrase("When it fails:")
        yield from _steps(on_error, 1)
