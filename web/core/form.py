"""Validated fields posted by forms and scripts."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qsl

import orjson

from hub.core.errors import HubError, InvalidRequest
from hub.core.lazy_pattern import LazyPattern
from hub.core.schema import Invalid, Schema, describe_error
from hub.core.surfaces import HttpCall

FIELD_LIMIT = 50
_BOUNDARY = LazyPattern(r";\s*boundary=(?:\"([ -!#-~]{1,70})\"|([!-!#-:<-~]{1,70}))", re.IGNORECASE)
_NAME = re.compile(rb"\r\ncontent-disposition:[ \t]*form-data;[ \t]*name=\"([^\"\r\n]{0,200})\"", re.IGNORECASE)
LISTED_LIMIT = 5_000
"""Fields of a form whose names are not known beforehand."""


def wrong_fields(error: HubError | None, fields: Collection[str]) -> dict[str, str]:
    """Return the error of each field, empty where there is none; an error of no field has an empty name.

    Args:
        error: As a method of the gateway raised it, which names its field in `details`.
    """
    wrong = dict.fromkeys(("", *fields), "")
    if error is not None:
        field = str(error.details.get("field") or "")
        at = field if field in wrong else ""
        wrong[at] = (at and error.details.get("problem")) or error.message
    return wrong


def read_fields(call: HttpCall, schema: Schema, files: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a posted form or JSON object.

    Args:
        call: The request; its body is raw bytes within the route's limit.
        schema: The schema of the fields.
        files: The fields of a form that are files, and so bytes; all others are texts.

    Raises:
        InvalidRequest: The body is neither, or a field is not valid.
    """
    header = call.request.headers.get("Content-Type", "")
    kind = header.split(";")[0].strip().lower()
    try:
        if kind == "application/json":
            fields = orjson.loads(call.body or b"{}")
        elif kind == "multipart/form-data":
            parts = _of_parts(header, bytes(call.body))
            fields = {name: data if name in files else data.decode("utf-8") for name, data in parts}
        elif kind == "application/x-www-form-urlencoded" or not call.body:
            text = bytes(call.body).decode("utf-8")
            fields = dict(
                parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=FIELD_LIMIT)
            )
        else:
            raise InvalidRequest(f"a form or JSON was expected, not {kind!r}")
    except ValueError as error:
        raise InvalidRequest(f"the form cannot be read: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidRequest("expected a JSON object")
    try:
        valid: dict[str, Any] = schema(fields)
    except Invalid as error:
        raise InvalidRequest(describe_error(error)) from error
    return valid


def read_lists(call: HttpCall) -> dict[str, list[str]]:
    """Return the texts of each field of a posted form, in their order; for forms whose fields are made from a schema.

    A file that was chosen is the text in it; JSON is an object of texts, numbers, truths and lists of such.

    Raises:
        InvalidRequest: The body is not a form.
    """
    header = call.request.headers.get("Content-Type", "")
    kind = header.split(";")[0].strip().lower()
    body = bytes(call.body or b"")
    try:
        if kind == "application/json":
            return _of_json(orjson.loads(body or b"{}"))
        if kind == "multipart/form-data":
            pairs = [(name, data.decode("utf-8")) for name, data in _of_parts(header, body)]
        elif kind == "application/x-www-form-urlencoded" or not body:
            text = body.decode("utf-8")
            pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=LISTED_LIMIT)
        else:
            raise InvalidRequest(f"a form or JSON was expected, not {kind!r}")
    except ValueError as error:
        raise InvalidRequest(f"the form cannot be read: {error}") from error
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return found


def _of_json(fields: Any) -> dict[str, list[str]]:
    if not isinstance(fields, dict) or len(fields) > LISTED_LIMIT:
        raise InvalidRequest("expected a JSON object")
    return {
        name: [_text(each) for each in value] if isinstance(value, list) else [_text(value)]
        for name, value in fields.items()
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise InvalidRequest("expected texts or lists of texts as fields of the form")


def _of_parts(header: str, body: bytes) -> list[tuple[str, bytes]]:
    """Return name and content of each part of a form with files (RFC 7578), as browsers write it.

    Before signing in, the sender is unknown: parts are counted as they are cut, and nothing is read twice.
    """
    boundary = _BOUNDARY.search(header)
    if boundary is None:
        raise ValueError("its boundary is missing or damaged")
    mark = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1")
    before, *parts = (b"\r\n" + body).split(mark, FIELD_LIMIT + 2)
    if len(parts) > FIELD_LIMIT + 1:
        raise ValueError("it has too many parts")
    if before or not parts or not parts[-1].startswith(b"--"):
        raise ValueError("its boundary is missing or damaged")
    found = []
    for part in parts[:-1]:
        head, _, data = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if name is None:
            raise ValueError("a part has no name")
        found.append((name[1].decode("utf-8"), data))
    return found
