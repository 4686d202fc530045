"""Explains schema errors to the person who wrote the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import available_timezones

from hub.config.errors import ConfigError
from hub.config.files import SECRETS_FILE
from hub.config.marks import Mark, key_mark_of, mark_of, value_at
from hub.config.paths import Key, KeyPath
from hub.config.schema_walk import A_SECRET, choices_in_words, describe_expected, is_secret_at, keys_at, values_at
from hub.config.suggest import did_you_mean
from hub.core.json_schema import JsonSchema
from hub.core.phrases import Phrase, phrase
from hub.core.schema import REQUIRED_MESSAGE, Marker, SchemaError, as_list, show
from hub.core.secret import Secret

_EXTRA = "extra keys not allowed"
_OF_A_TYPE = re.compile(r"^expected (a |an )?[a-zA-Z]+$")
"""Type errors of the schema library: `expected str`, `expected a dictionary`."""
_LIMITS: Mapping[str, Callable[[str], Phrase]] = {
    "value must be at least ": lambda limit: phrase("value must be at least {limit}", limit=limit),
    "value must be at most ": lambda limit: phrase("value must be at most {limit}", limit=limit),
    "value must be higher than ": lambda limit: phrase("value must be higher than {limit}", limit=limit),
    "value must be lower than ": lambda limit: phrase("value must be lower than {limit}", limit=limit),
    "length of value must be at least ": lambda limit: phrase("length of value must be at least {limit}", limit=limit),
    "length of value must be at most ": lambda limit: phrase("length of value must be at most {limit}", limit=limit),
    "does not match regular expression ": lambda limit: phrase("does not match the pattern {pattern}", pattern=limit),
}
"""Messages of the schema library: how they begin, and what says them in the reader's language."""


_LEAK_LENGTH, _PART_LENGTH = 6, 10


def keys_of(error: SchemaError) -> KeyPath:
    """Return the path of a schema error as plain keys."""
    found: list[Key] = []
    for part in error.path:
        if type(part).__name__ == "VirtualPathComponent":  # the name of a group of keys, which is not a key
            continue
        key = part.schema if isinstance(part, Marker) else part
        found.append(key if isinstance(key, (str, int)) and not isinstance(key, bool) else str(key))
    return tuple(found)


def as_written(root: Any, keys: KeyPath) -> KeyPath:
    """Return a path as written in the files: a single item in place of a list has no index."""
    found: list[Key] = []
    value = root
    for key in keys:
        if isinstance(key, int) and value is not None and not isinstance(value, (list, dict)):
            continue
        if isinstance(key, int) and isinstance(value, dict):
            continue
        found.append(key)
        value = value_at(value, (key,))
    return tuple(found)


def explain(error: SchemaError, root: Any, start: Mark, prefix: KeyPath, schema: JsonSchema) -> ConfigError:
    """Return a schema error with its place, what was expected and what was probably meant.

    Args:
        error: One error, its path relative to the section.
        root: The whole configuration.
        start: The mark of its beginning.
        prefix: The keys that lead to the section (and the item) that was validated.
        schema: JSON Schema of what was validated.
    """
    inner = keys_of(error)
    keys = as_written(root, (*prefix, *inner))
    data = value_at(root, prefix)
    message: str = error.msg
    if message == REQUIRED_MESSAGE:
        wanted = describe_expected(schema, inner, data)
        lacks = phrase("{key} is missing here", key=inner[-1])
        if wanted:
            lacks = phrase("{key} is missing here; expected {wanted}", key=inner[-1], wanted=wanted)
        return ConfigError.at(mark_of(root, keys[:-1], start), keys, lacks)
    if message == _EXTRA:
        known = {key for key in keys_at(schema, inner[:-1], data) if key != inner[-1]}
        return ConfigError.at(
            key_mark_of(root, keys, start),
            keys,
            phrase("there is no key {key} here", key=inner[-1]),
            did_you_mean(str(inner[-1]), known, known=phrase("there are")),
        )
    if message.startswith("there is no key "):
        told, _, hint = message.partition("; ")
        return ConfigError.at(key_mark_of(root, keys, start), keys, told, hint)
    told, hint = _value_error(message, value_at(root, keys), schema, inner, data)
    return ConfigError.at(mark_of(root, keys, start), keys, told, hint)


def _value_error(message: str, value: Any, schema: JsonSchema, inner: KeyPath, data: Any) -> tuple[str, str]:
    if is_secret_at(schema, inner) or isinstance(value, Secret):
        return _secret_error(message, value, describe_expected(schema, inner, data))
    choices = values_at(schema, inner, data)
    if choices and _is_choice(message):
        hint = did_you_mean(value, [str(each) for each in choices]) if isinstance(value, str) else ""
        return _expected(choices_in_words(choices), value), hint
    if message.startswith("expected an IANA time zone") and isinstance(value, str):
        return message, did_you_mean(value, available_timezones())
    if _OF_A_TYPE.match(message):
        wanted = describe_expected(schema, inner, data) or message.removeprefix("expected ").replace(
            "dictionary", "mapping"
        )
        return _expected(wanted, value), ""
    if message.startswith("expected ") and ", got " not in message and not isinstance(value, (dict, list)):
        return _got(message, value), ""
    if message == "not a valid value":
        wanted = describe_expected(schema, inner, data)
        return (_expected(wanted, value) if wanted else phrase("{value} is not valid here", value=show(value))), ""
    if message.startswith(("value must", "length of value", "does not match")):
        return _got(_of_the_library(message), value), ""
    return message, ""


def _secret_error(message: str, value: Any, wanted: str) -> tuple[str, str]:
    """Return what the validator says of a secret, without what it says of the value; else what is expected."""
    given = isinstance(value, Secret)
    if given and value.source:
        wanted = "" if wanted == A_SECRET else wanted
    reason = _without_value(_of_the_library(message), value.reveal() if given else str(value))
    if not reason or reason == "not a valid value" or _OF_A_TYPE.match(reason) or _is_choice(reason):
        reason = phrase("expected {wanted}", wanted=wanted or phrase("another value"))
    if not given or not value.source:
        return reason, ""
    told = phrase("the value of {name} is not valid here: {reason}", name=value.source, reason=reason)
    return told, phrase("change it in {file}", file=SECRETS_FILE)


def _without_value(message: str, secret: str) -> str:
    """Return a message without the value that was got; empty if the secret is in it all the same."""
    if not leaks(secret, message):
        return message
    cut = str(message).partition(", got ")[0]
    return "" if leaks(secret, cut) else cut


def _expected(wanted: str, value: Any) -> Phrase:
    return phrase("expected {wanted}, got {value}", wanted=wanted, value=show(value))


def _got(message: str, value: Any) -> Phrase:
    return phrase("{message}, got {value}", message=message, value=show(value))


def _of_the_library(message: str) -> str:
    """Return the schema library's message about a limit as a phrase."""
    for start, said in _LIMITS.items():
        if message.startswith(start):
            return said(message.removeprefix(start))
    return message


def _is_choice(message: str) -> bool:
    return message.startswith(("value must be one of", "not a valid value", "expected one of", "value is not allowed"))


def leaks(secret: str, message: str) -> bool:
    """Return whether a message contains a secret, its beginning, or a longer part of it, beyond its fixed words.

    Also as a validator shows it, with its backslashes doubled.
    """
    if isinstance(message, Phrase) and message.template:
        filled = [each for value in message.values.values() for each in as_list(value)]
        # A plain number is a limit of ours, so it says nothing of a secret.
        return any(
            leaks(secret, each if isinstance(each, str) else str(each)) for each in filled if type(each) is not int
        )
    return any(_is_told(each, message) for each in (secret, repr(secret)[1:-1]))


def _is_told(secret: str, message: str) -> bool:
    if not secret or secret in message:
        return bool(secret)
    beginning = len(secret) > _LEAK_LENGTH and secret[:_LEAK_LENGTH] in message
    return beginning or any(
        message[start : start + _PART_LENGTH] in secret for start in range(len(message) - _PART_LENGTH + 1)
    )
