"""What a form or a script posts, validated."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import orjson

from hub.core.errors import InvalidRequest
from hub.core.schema import Invalid, Schema, describe_error
from hub.gateway.contract import HttpCall

FIELD_LIMIT = 50


def read_fields(call: HttpCall, schema: Schema) -> dict[str, Any]:
    """Return the fields of a posted form or JSON object.

    Args:
        call: The request; its body is raw bytes within the route's limit.
        schema: What the fields must be.

    Raises:
        InvalidRequest: The body is neither, or a field is not what it must be.
    """
    kind = call.request.headers.get("Content-Type", "").split(";")[0].strip().lower()
    try:
        if kind == "application/json":
            fields = orjson.loads(call.body or b"{}")
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
