"""Configuration of Signal: a list of accounts of a signal-cli daemon."""

from __future__ import annotations

import re

from hub.core.schema import Described, Invalid, Optional, Required, Schema, ensure_list, show, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

_NUMBER = re.compile(r"^\+[1-9]\d{5,14}$")


def _number(value: object) -> str:
    text = str(getattr(value, "written", value))
    if not _NUMBER.fullmatch(text):
        raise Invalid(
            f"expected a phone number with its country, in quotation marks: '+4915112345678', got {show(value)}"
        )
    return text


CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this account."): string,
            Optional(
                "url", default="http://127.0.0.1:8080", description="Where signal-cli's daemon listens.", asked=True
            ): url,
            Required("number", description="The account's phone number, such as '+4915112345678'."): Described(
                _number, {"type": "string", "pattern": _NUMBER.pattern}, "phone number"
            ),
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
