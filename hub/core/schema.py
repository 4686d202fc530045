"""The only import of the schema library, and the validators that the hub's schemas share.

Everything that validates configuration, service data or tool arguments imports from here and nothing third-party, so
that the library can be swapped and `homarus check` knows a schema whose integration's extra is missing.
Conversion to JSON Schema is in `hub.core.json_schema`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from voluptuous import (
    ALLOW_EXTRA,
    PREVENT_EXTRA,
    REMOVE_EXTRA,
    UNDEFINED,
    All,
    Coerce,
    Exclusive,
    Extra,
    In,
    Inclusive,
    Invalid,
    Invalid as SchemaError,
    Length,
    Marker,
    Match,
    MultipleInvalid,
    Range,
    Remove,
)

from hub.core.phrases import phrase
from hub.core.schema_bounds import (
    REQUIRED_MESSAGE,
    AnyOf,
    Optional,
    Required,
    Schema,
    describe_error,
    each_error,
)
from hub.core.secret import SHOWN_AS_MASK, Secret
from hub.core.weak_secrets import PASSWORD_LENGTH_MIN, weakness

__all__ = [
    "ALLOW_EXTRA",
    "PATH",
    "PREVENT_EXTRA",
    "PROGRAM",
    "REMOVE_EXTRA",
    "REQUIRED_MESSAGE",
    "UNDEFINED",
    "All",
    "AnyOf",
    "Coerce",
    "Described",
    "DescribedLater",
    "Exclusive",
    "Extra",
    "In",
    "Inclusive",
    "Invalid",
    "Length",
    "Marker",
    "Match",
    "MultipleInvalid",
    "Optional",
    "Range",
    "Remove",
    "Required",
    "Schema",
    "SchemaError",
    "Validator",
    "as_list",
    "boolean",
    "describe_error",
    "duration",
    "each_error",
    "ensure_list",
    "entity_id",
    "entity_or_registry_id",
    "identifier",
    "integer",
    "language_tag",
    "number",
    "numeric",
    "own_secret",
    "path",
    "port",
    "positive_seconds",
    "program",
    "secret",
    "show",
    "slug",
    "string",
    "time_zone",
    "url",
]

Validator = Callable[[Any], Any]

PATH, PROGRAM = "path", "program"
"""Formats of texts that name a file, a folder or a socket of the machine, and a program that is started on it.

Every key that does has one of the two: in a worker, where other homes are beside, `hub.cluster.policy` judges them.
"""
_TRUE = {"true", "yes", "on", "1", "enable"}
_FALSE = {"false", "no", "off", "0", "disable"}
_SHOWN_LENGTH = 60
PATH_LENGTH_MAX = 4_096
_SLUG = re.compile(r"^[a-z0-9][a-z0-9_-]{0,63}$")
REGISTRY_ID = re.compile(r"[0-9a-f]{32}")
"""Ids that Home Assistant's editor writes for entities and devices."""
_ENTITY_ID = re.compile(r"^[a-z0-9_]{1,64}\.[a-z0-9_]{1,128}$")
DURATION_UNITS_S: Mapping[str, float] = {
    "days": 86_400.0,
    "hours": 3_600.0,
    "minutes": 60.0,
    "seconds": 1.0,
    "milliseconds": 0.001,
}
_DURATION = re.compile(r"^\s*(?:(\d+)d\s*)?(?:(\d+)h\s*)?(?:(\d+)m\s*)?(?:(\d+(?:\.\d+)?)s\s*)?$")
# Each run of blanks has one place: several that could share it would try every way of sharing.
_URL = re.compile(r"^https?://[^\s/?#@]+(?:[/?][^\s#]*)?$", re.IGNORECASE)
_USER = re.compile(r"(?<=//)[^/?#]*@")


class Described:
    """A validator with its JSON Schema and description.

    Args:
        check: Returns the valid value or raises `Invalid`.
        json: JSON Schema of what it accepts.
        name: Shown in documentation and errors.
    """

    def __init__(self, check: Validator, json: Mapping[str, Any], name: str) -> None:
        self._check = check
        self.json_schema = dict(json)
        self.__name__ = name

    def __call__(self, value: Any) -> Any:
        return self._check(value)

    def __repr__(self) -> str:
        return self.__name__


class DescribedLater:
    """A validator whose JSON Schema is made on demand, because it is large or recursive.

    Args:
        check: Returns the valid value or raises `Invalid`.
        json: Makes the JSON Schema; where it holds itself, the inner one refers to it.
        name: Shown in documentation and errors.
        type: The JSON type of what it accepts.
    """

    def __init__(self, check: Validator, json: Callable[[], Mapping[str, Any]], name: str, type: str) -> None:
        self._check = check
        self._json = json
        self._type = type
        self._making = False
        self.__name__ = name

    def __call__(self, value: Any) -> Any:
        return self._check(value)

    def __repr__(self) -> str:
        return self.__name__

    @property
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of accepted values."""
        if self._making:
            return {"type": self._type, "$ref": f"#{self.__name__}"}
        self._making = True
        try:
            return {"$anchor": self.__name__, **self._json()}
        finally:
            self._making = False


def _described(json: Mapping[str, Any], name: str) -> Callable[[Validator], Described]:
    return lambda check: Described(check, json, name)


@_described({"type": "boolean"}, "boolean")
def boolean(value: Any) -> bool:
    """Accept true and false, and the words YAML 1.2 leaves as strings: yes, no, on, off."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _TRUE:
        return True
    if isinstance(value, str) and value.strip().lower() in _FALSE:
        return False
    raise Invalid(phrase("expected true or false, got {value}", value=show(value)))


@_described({"type": "string"}, "string")
def string(value: Any) -> str:
    """Accept text; a number is taken as it was written, a list or mapping is not."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(getattr(value, "written", value))  # the YAML reader keeps 0123 and 1.10 as they were written
    raise Invalid(phrase("expected text, got {value}", value=show(value)))


def _name_on_machine(value: Any) -> str:
    text: str = string(value)
    if not text or len(text) > PATH_LENGTH_MAX or "\0" in text:
        raise Invalid(phrase("expected text, got {value}", value=show(value)))
    return text


path = Described(_name_on_machine, {"type": "string", "minLength": 1, "format": PATH}, "path")
program = Described(_name_on_machine, {"type": "string", "minLength": 1, "format": PROGRAM}, "program")


@_described({"type": "integer"}, "integer")
def integer(value: Any) -> int:
    """Accept a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(phrase("expected a whole number, got {value}", value=show(value)))
    return +value


@_described({"type": "number"}, "number")
def number(value: Any) -> float:
    """Accept a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == float("inf"):
        raise Invalid(phrase("expected a number, got {value}", value=show(value)))
    return +value


@_described({"type": ["number", "string"]}, "number")
def numeric(value: Any) -> float:
    """Accept a number, also one that is written as text, as templates make it."""
    try:
        return float(number(float(value) if isinstance(value, str) else value))
    except ValueError:
        raise Invalid(phrase("expected a number, got {value}", value=show(value))) from None


@_described({"type": "integer", "minimum": 0, "maximum": 65535}, "port")
def port(value: Any) -> int:
    """Accept a TCP port; 0 lets the system choose."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        raise Invalid(phrase("expected a port from 0 to 65535, got {value}", value=show(value)))
    return +value


@_described({"type": ["number", "string"]}, "duration")
def positive_seconds(value: Any) -> float:
    """Accept seconds, `HH:MM:SS`, or `1h 30m`; return seconds, more than 0."""
    seconds = _seconds(value)
    if seconds is None or seconds <= 0:
        raise Invalid(phrase("expected a duration such as 90, 10m, 1h 30m or 00:10:00, got {value}", value=show(value)))
    return seconds


_DURATION_SCHEMA = {
    "anyOf": [
        {"type": ["number", "string"]},
        {
            "type": "object",
            "properties": {key: {"type": ["number", "string"]} for key in DURATION_UNITS_S},
            "additionalProperties": False,
        },
    ]
}


@_described(_DURATION_SCHEMA, "duration")
def duration(value: Any) -> float:
    """Accept seconds, `HH:MM:SS`, `1h 30m`, or a mapping of days, hours, minutes, seconds, milliseconds.

    Returns:
        Seconds, 0 or more.
    """
    if value == 0 and not isinstance(value, bool):
        return 0.0
    if isinstance(value, str) and value.strip().strip("0:.") == "" and value.strip():
        return 0.0
    if not isinstance(value, dict):
        return float(positive_seconds(value))
    total = 0.0
    for key, amount in value.items():
        if key not in DURATION_UNITS_S:
            raise Invalid(
                phrase("expected days, hours, minutes, seconds or milliseconds, got {value}", value=show(key)),
                path=[key],
            )
        try:
            total += float(amount) * DURATION_UNITS_S[key]
        except (TypeError, ValueError):
            raise Invalid(
                phrase("expected a number of {key}, got {value}", key=key, value=show(amount)), path=[key]
            ) from None
    if not 0 <= total < float("inf"):
        raise Invalid(phrase("expected a duration of 0 or more"))
    return total


@_described({"type": "string", "pattern": _SLUG.pattern}, "identifier")
def slug(value: Any) -> str:
    """Accept an identifier: a-z, 0-9, _ and -, at most 64, beginning with a letter or digit."""
    if not isinstance(value, str) or not _SLUG.fullmatch(value):
        raise Invalid(
            phrase("expected an identifier of a-z, 0-9, _ and - (at most 64), got {value}", value=show(value))
        )
    return value


identifier = slug
language_tag = Match(r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$", msg="expected a language such as en or zh-CN")


@_described({"type": "string", "pattern": _ENTITY_ID.pattern}, "entity id")
def entity_id(value: Any) -> str:
    """Accept `domain.object_id`."""
    if not isinstance(value, str) or not _ENTITY_ID.fullmatch(value):
        raise Invalid(phrase("expected an entity id such as light.kitchen, got {value}", value=show(value)))
    return value


@_described({"type": "string"}, "entity id")
def entity_or_registry_id(value: Any) -> str:
    """Accept `domain.object_id`, or the id of an entity in a registry, as Home Assistant's editor writes it."""
    if isinstance(value, str) and REGISTRY_ID.fullmatch(value):
        return value
    found: str = entity_id(value)
    return found


@_described({"type": "string"}, "time zone")
def time_zone(value: Any) -> str:
    """Accept the name of an IANA time zone."""
    if isinstance(value, str) and value:
        try:
            ZoneInfo(value)
            return value
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise Invalid(phrase("expected an IANA time zone such as Europe/Berlin, got {value}", value=show(value)))


@_described({"type": "string", "format": "uri"}, "URL")
def url(value: Any) -> str:
    """Accept an http or https address without user name or fragment."""
    if not isinstance(value, str) or not _URL.match(value):
        # A password in an address must not appear in errors, repairs and logs.
        shown = _USER.sub("…@", value) if isinstance(value, str) else value
        raise Invalid(
            phrase("expected an http:// or https:// address without user and password, got {value}", value=show(shown))
        )
    return value.rstrip("/")


@_described({"type": "string", "writeOnly": True}, "secret")
def secret(value: Any) -> Secret:
    """Accept a secret, from `!secret`, `!env_var` or written in place; it does not print."""
    if isinstance(value, Secret):
        return value
    if isinstance(value, str) and value:
        return Secret(value)
    raise Invalid(phrase("expected a secret, best given as !secret NAME"))


def own_secret(length_min: int = PASSWORD_LENGTH_MIN) -> All:
    """Return a validator for a secret that grants access to this hub; guessable ones are refused.

    Secrets that other parties check, such as the key of a provider, are `secret`: their strength is not judged here.
    """

    def strong(value: Secret) -> Secret:
        if (reason := weakness(value.reveal(), length_min)) is not None:
            raise Invalid(
                phrase(
                    "expected a secret that cannot be guessed, random and of at least {limit} characters: {reason}",
                    reason=reason,
                    limit=length_min,
                )
            )
        return value

    return All(secret, strong)


def ensure_list(validator: Any) -> All:
    """Return a validator that takes one item or a list of them and returns a list."""
    return All(as_list, [validator])


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, a single item as a list, and None as an empty list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def show(value: Any) -> str:
    """Return a value as shown in errors; secrets are hidden."""
    if isinstance(value, SHOWN_AS_MASK):
        return phrase("a secret")
    if isinstance(value, dict):
        return phrase("a mapping")
    if isinstance(value, list):
        return phrase("a list")
    if value is None:
        return phrase("nothing")
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value) if isinstance(value, str) else str(getattr(value, "written", value))
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if value == value and abs(value) != float("inf") else None
    if not isinstance(value, str) or not value.strip():
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", value.strip()):
        return float(value)
    if clock := re.fullmatch(r"(\d+):(\d+)(?::(\d+(?:\.\d+)?))?", value.strip()):
        return int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3] or 0)
    if match := _DURATION.match(value):
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    return None
