"""Validated fields posted by forms and scripts."""

from __future__ import annotations

from collections.abc import Collection
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

import orjson

from hub.core.errors import InvalidRequest
from hub.core.schema import Invalid, Schema, describe_error
from hub.gateway.calls.contract import HttpCall

FIELD_LIMIT = 50
LISTED_LIMIT = 5_000
"""Fields of a form whose names are not known beforehand."""


def read_fields(call: HttpCall, schema: Schema, files: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a posted form or JSON object.

    Args:
        call: The request; its body is raw bytes within the route's limit.
        schema: What the fields must be.
        files: The fields of a form that are files, and so bytes; all others are texts.

    Raises:
        InvalidRequest: The body is neither, or a field is not what it must be.
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
        raise InvalidRequest("a JSON object was expected")
    try:
        valid: dict[str, Any] = schema(fields)
    except Invalid as error:
        raise InvalidRequest(describe_error(error)) from error
    return valid


def read_lists(call: HttpCall) -> dict[str, list[str]]:
    """Return the texts of each field of a posted form, in their order; for forms whose fields are made from a schema.

    A file that was chosen is the text in it; JSON is an object of texts, numbers, truths and lists of such.

    Raises:
        InvalidRequest: The body is no form.
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
        raise InvalidRequest("a JSON object was expected")
    return {
        name: [_text(each) for each in value] if isinstance(value, list) else [_text(value)]
        for name, value in fields.items()
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise InvalidRequest("the fields of a form are texts, or lists of texts")


def _of_parts(header: str, body: bytes) -> list[tuple[str, bytes]]:
    """Return name and content of each part of a form with files."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + header.encode("latin-1") + b"\r\n\r\n" + body)
    if not message.is_multipart():
        raise ValueError("its parts cannot be distinguished")
    parts = message.get_payload()
    if not isinstance(parts, list) or len(parts) > FIELD_LIMIT:
        raise ValueError("it has too many parts")
    found = []
    for part in parts:
        if not isinstance(part, Message):
            raise ValueError("a part cannot be read")
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(payload, bytes):
            raise ValueError("a part has no name")
        found.append((name, payload))
    return found
