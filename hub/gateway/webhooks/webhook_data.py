"""The data of a webhook: JSON, a form or text, within bounds on size, depth and number of fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from hub.core.errors import InvalidRequest

JSON_DEPTH_LIMIT = 32
JSON_VALUES_LIMIT = 20_000
NUMBER_DIGITS_LIMIT = 100
FIELDS_LIMIT = 200
TOLD_HEADERS = frozenset(
    {
        *("content-type", "user-agent", "x-request-id", "x-event-type", "x-event-id", "x-webhook-id"),
        *("x-github-event", "x-github-delivery", "x-gitlab-event", "x-gitea-event", "x-gitea-delivery"),
    }
)
"""Headers that templates see as `trigger.headers`; those that may hold a secret are not among them."""

_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)


def read_body(content_type: str, body: bytes) -> dict[str, Any]:
    """Return the body as templates see it: `json`, or `data` (a form's fields, or nothing) and other text.

    Raises:
        InvalidRequest: It claims to be JSON or a form and is not, or it is beyond a bound.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return {"json": read_json(body), "data": {}}
    if kind == "application/x-www-form-urlencoded":
        return {"json": None, "data": _form(body)}
    return {"json": None, "data": {}, "text": body.decode("utf-8", "replace")}


def fields_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the fields of a query or a form by name; of duplicates, the first.

    Raises:
        InvalidRequest: There are too many.
    """
    found: dict[str, str] = {}
    for count, (name, value) in enumerate(pairs, 1):
        if count > FIELDS_LIMIT:
            raise InvalidRequest(f"there are more than {FIELDS_LIMIT} fields")
        found.setdefault(_text(name), _text(value))
    return found


def _text(value: str) -> str:
    """Return a body as text, with invalid bytes replaced."""
    return value.encode("utf-8", "replace").decode()


def visible_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers visible to templates."""
    return {name: _text(value) for name, value in headers.items() if name in TOLD_HEADERS}


def read_json(body: bytes) -> Any:
    """Return parsed JSON from outside; None for an empty text.

    Raises:
        InvalidRequest: It is none, or it is beyond a bound.
    """
    if not body.strip():
        return None
    try:
        text = body.decode("utf-8")
        _judge(text)
        found = json.loads(text, parse_int=_whole, parse_constant=_refuse)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half a character is not text: nothing could keep it
        return found
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the body is not valid JSON: {error}") from error


def _form(body: bytes) -> dict[str, str]:
    try:
        return fields_of(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=FIELDS_LIMIT))
    except ValueError as error:
        raise InvalidRequest(f"the body is not a form: {error}") from error


def _judge(text: str) -> None:
    """Refuse JSON that is nested too deep or has too many values, before parsing; quoted parts are skipped."""
    depth = values = 0
    for match in _MARKS.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        elif mark == ",":
            values += 1
        if depth > JSON_DEPTH_LIMIT:
            raise ValueError(f"it is nested more than {JSON_DEPTH_LIMIT} deep")
        if values > JSON_VALUES_LIMIT:
            raise ValueError(f"it has more than {JSON_VALUES_LIMIT} values")


def _whole(digits: str) -> int:
    if len(digits) > NUMBER_DIGITS_LIMIT:
        raise ValueError(f"a number has more than {NUMBER_DIGITS_LIMIT} digits")
    return int(digits)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON allows")
