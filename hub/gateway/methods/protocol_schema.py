"""`protocol.schema`: frames and parameters of all methods as JSON Schema, from which clients can be generated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hub import __version__
from hub.core.json_schema import JsonSchema, to_json_schema
from hub.core.schema import Schema
from hub.core.surfaces import READ, Method, MethodCall
from hub.gateway.calls.method_table import MethodTable
from hub.gateway.connection.connect_request import CONNECT_SCHEMA
from hub.gateway.connection.protocol import ID_LIMIT, METHOD_LIMIT, PROTOCOLS
from hub.gateway.connection.welcome import EVENTS

OWNER = "gateway"
CONNECT = "connect"
_ID: JsonSchema = {"type": "string", "minLength": 1, "maxLength": ID_LIMIT}
_ERROR: JsonSchema = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "details": {"type": "object"},
        "retryable": {"type": "boolean"},
        "retryAfterMs": {"type": "integer"},
    },
}


def schema_method(methods: MethodTable) -> Method:
    """Return the method `protocol.schema`, which describes a table of methods."""

    async def handler(call: MethodCall) -> JsonSchema:
        loaded = [await methods.load(name) for name in methods.names()]
        return protocol_schema(each for each in loaded if each is not None)

    return Method("protocol.schema", handler, OWNER, Schema({}), READ)


def protocol_schema(methods: Iterable[Method]) -> JsonSchema:
    """Return the JSON Schema of every frame of the WebSocket protocol.

    Args:
        methods: The methods, imported.

    Returns:
        JSON Schema (2020-12). `$defs` has the frames and, for each method, its parameters; `x-methods` says the scope
        of each, whether it takes an idempotency key, and how many responses it sends.
    """
    known = {each.name: each for each in methods}
    parameters = {type_name(name): to_json_schema(each.schema) for name, each in known.items()}
    parameters[type_name(CONNECT)] = to_json_schema(CONNECT_SCHEMA)
    names = [CONNECT, *known]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:homarus:protocol:{PROTOCOLS[-1]}",
        "title": f"The WebSocket protocol of Homarus {__version__}",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("Request", "Response", "Event", "Cancel")],
        "x-protocols": list(PROTOCOLS),
        "x-methods": {
            name: {
                "params": _reference(name),
                "scope": each.scope,
                "idempotencyKey": each.acts,
                "responses": each.answers,
            }
            for name, each in known.items()
        },
        "$defs": {
            "Request": {
                **_frame("req", {"id": _ID, "method": {"type": "string", "maxLength": METHOD_LIMIT}, "params": {}}),
                "required": ["type", "id", "method"],
                "allOf": [
                    {
                        "if": {"properties": {"method": {"const": name}}, "required": ["method"]},
                        "then": {"properties": {"params": _reference(name)}},
                    }
                    for name in names
                ],
            },
            "Response": {
                **_frame("res", {"id": _ID, "ok": {"type": "boolean"}, "payload": {}, "error": _ERROR}),
                "required": ["type", "id", "ok"],
                "if": {"properties": {"ok": {"const": False}}, "required": ["ok"]},
                "then": {"required": ["error"]},
            },
            "Event": {
                **_frame(
                    "event",
                    {
                        "event": {"type": "string", "examples": list(EVENTS)},
                        "payload": {},
                        "seq": {"type": "integer"},
                        "stateVersion": {"type": "object", "additionalProperties": {"type": "integer"}},
                    },
                ),
                "required": ["type", "event"],
            },
            "Cancel": {**_frame("cancel", {"id": _ID}), "required": ["type", "id"]},
            **parameters,
        },
    }


def type_name(method: str) -> str:
    """Return the name of the type of a method's parameters: `chat.send` has `ChatSendParams`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._-]", method)) + "Params"


def _reference(method: str) -> JsonSchema:
    return {"$ref": f"#/$defs/{type_name(method)}"}


def _frame(kind: str, properties: Mapping[str, Any]) -> JsonSchema:
    return {"type": "object", "properties": {"type": {"const": kind}, **properties}}
