"""Filling in: from an item with `use_blueprint` to an automation or script that the grammar has accepted.

Each error is reported where it can be fixed: at the value of an input, or at the line in the blueprint's file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from hub.automation.blueprints.document import Blueprint
from hub.automation.blueprints.metadata import InputField
from hub.automation.blueprints.selectors import check_value
from hub.automation.definition.grammar import automation, script
from hub.config.paths import KeyPath
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.core.schema import Invalid, MultipleInvalid, each_error

USE = "use_blueprint"

Grammar: TypeAlias = Callable[[Any], dict[str, Any]]
_GRAMMARS: Mapping[str, Grammar] = {"automation": automation, "script": script}
_NEW_WORDS = {"trigger": "triggers", "condition": "conditions", "action": "actions"}


def fill_in(item: Mapping[str, Any], blueprint: Blueprint, grammar: Grammar | None = None) -> dict[str, Any]:
    """Return what an item makes of its blueprint; the item's own keys take precedence.

    Args:
        grammar: Accepts the result; by default that of automations and scripts.

    Raises:
        Invalid: With paths in the item, and the file and line of what is wrong in the blueprint.
    """
    given = {key: each for key, each in (item[USE].get("input") or {}).items() if each is not None}
    values = _values(given, blueprint)
    own = {key: each for key, each in item.items() if key != USE}
    filled = {**blueprint.fill(values), **own}
    try:
        found = (grammar or _GRAMMARS[blueprint.metadata.domain])(filled)
    except Invalid as error:
        raise _gathered(_placed(each, own, given, blueprint) for each in each_error(error)) from error
    if blueprint.metadata.source_url and _runs_programs(found):
        raise Invalid(
            phrase(
                "a blueprint that was imported may not run programs (the trigger command); write that automation "
                "yourself"
            ),
            path=[USE, "path"],
        )
    return found


def _runs_programs(value: Any) -> bool:
    """Whether a trigger anywhere in it starts a program: it would be started as soon as the automation is armed."""
    if isinstance(value, list):
        return any(_runs_programs(each) for each in value)
    if isinstance(value, dict):
        return value.get("trigger") == "command" or any(_runs_programs(each) for each in value.values())
    return False


def _values(given: Mapping[str, Any], blueprint: Blueprint) -> dict[str, Any]:
    """Return the value of each input: what was given, else its default."""
    errors: list[Invalid] = []
    known = blueprint.inputs
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known, known=phrase("there are")) or phrase("it has no inputs")
            errors.append(
                Invalid(
                    phrase("the blueprint has no input {key}; {hint}", key=key, hint=hint), path=[USE, "input", key]
                )
            )
    missing = [field for field in known.values() if field.required and field.key not in given]
    errors += [Invalid(_told_missing(field), path=[USE, "input"]) for field in missing]
    values: dict[str, Any] = {}
    for key, field in known.items():
        if key not in given:
            values[key] = field.default
            continue
        try:
            values[key] = _value(given[key], field)
        except Invalid as error:
            error.prepend([USE, "input", key])
            errors += each_error(error)
    if errors:
        raise _gathered(errors)
    return values


def _value(value: Any, field: InputField) -> Any:
    """Check a value; the author's default is accepted even where the selector would refuse it."""
    if not field.required and value == field.default and type(value) is type(field.default):
        return value
    return check_value(value, field.selector, field.options)


def _told_missing(field: InputField) -> str:
    about = f": {field.description.splitlines()[0]}" if field.description else ""
    return phrase("the input {key} is missing ({name})", key=field.key, name=f"{field.name}{about}")


def _placed(error: Invalid, own: Mapping[str, Any], given: Mapping[str, Any], blueprint: Blueprint) -> Invalid:
    keys: KeyPath = tuple(key if isinstance(key, int) else str(key) for key in error.path)
    if keys and keys[0] in own:
        return error
    way = blueprint.input_path(keys) or blueprint.input_path(_old_words(keys, blueprint))
    if way is not None and way[0] in given:
        return Invalid(error.msg, path=[USE, "input", way[0], *way[1]])
    message: str = error.msg
    if way is not None:
        message = phrase("{message} (the default of the input {name})", message=message, name=way[0])
    return Invalid(phrase("{place}: {text}", place=blueprint.where(keys), text=message), path=[USE, "path"])


def _old_words(keys: KeyPath, blueprint: Blueprint) -> KeyPath:
    """Return a path with the key as written in the file: `trigger` where the grammar says `triggers`."""
    for old, new in _NEW_WORDS.items():
        if keys[:1] == (new,) and old in blueprint.root:
            return (old, *keys[1:])
    return keys


def _gathered(errors: Iterable[Invalid]) -> Invalid:
    found = list(errors)
    return found[0] if len(found) == 1 else MultipleInvalid(found)
