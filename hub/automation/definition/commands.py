"""`shell_command:` and `rest_command:`: commands and requests by name, each a service, with Home Assistant's keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.definition.fields import dynamic_text
from hub.config.sections import Section
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    number,
    secret,
    string,
)

COMMANDS_LIMIT = 500
TIMEOUT_S = 10.0
_NAME = All(string, Match(r"^[a-z0-9_]{1,64}$", msg=phrase("expected a name of a-z, 0-9 and _")))
_TEXT = All(dynamic_text, Length(min=1, max=8_000))


def request_fields(methods: tuple[str, ...]) -> dict[Any, Any]:
    """Return the keys of a request beside its address, which `send_request` sends.

    Args:
        methods: Those that it may have; the first is its method by default.
    """
    return {
        Optional("method", default=methods[0], description=f"One of {', '.join(methods)}."): All(
            string, str.lower, In(methods)
        ),
        Optional("headers", default=dict, description="Headers, which may be templates or secrets."): {
            string: AnyOf(dynamic_text, secret)
        },
        Optional("payload", description="The body."): dynamic_text,
        Optional("content_type", description="What the body is, such as application/json."): string,
        Optional("authentication", default="basic", description="How the password is told: basic or digest."): In(
            ("basic", "digest")
        ),
        Optional("username", description="Who signs in."): string,
        Optional("password", description="Its password."): secret,
        Optional("timeout", default=TIMEOUT_S, description="Seconds until it is given up."): All(
            number, Range(min=1, max=300)
        ),
        Optional("verify_ssl", default=True, description="Whether its certificate is verified; false at home only."): (
            boolean
        ),
    }


_REQUEST: Mapping[Any, Any] = {
    Required("url", description="The address; templates see what the call says."): AnyOf(_TEXT, secret),
    **request_fields(("get", "patch", "post", "put", "delete")),
}

SECTIONS = (
    Section(
        "shell_command",
        All(Schema({_NAME: _TEXT}), Length(max=COMMANDS_LIMIT)),
        default={},
        description="Commands by name, each a service, which run under the rules of exec",
        each_item=True,
    ),
    Section(
        "rest_command",
        All(Schema({_NAME: Schema(dict(_REQUEST))}), Length(max=COMMANDS_LIMIT)),
        default={},
        description="Requests by name, each a service",
        each_item=True,
    ),
)
NAMES = tuple(section.name for section in SECTIONS)
