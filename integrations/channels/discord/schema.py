"""Configuration of Discord: a list of bots."""

from __future__ import annotations

from hub.core.schema import (
    Described,
    Invalid,
    Optional,
    Required,
    Schema,
    ensure_list,
    integer,
    secret,
    show,
    string,
    url,
)
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://discord.com/api/v10"
LINES, FEWEST_LINES = 17, 3


def _gateway_url(value: object) -> str:
    if not isinstance(value, str) or not value.startswith(("ws://", "wss://")):
        raise Invalid(f"expected a ws:// or wss:// address, got {show(value)}")
    return value.rstrip("/")


def _lines(value: object) -> int:
    lines: int = integer(value)
    if lines != 0 and lines < FEWEST_LINES:
        raise Invalid(f"expected 0 or at least {FEWEST_LINES}, got {lines}")
    return lines


CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this bot."): string,
            Required("token", description="The bot's token, from the Developer Portal, Bot, Reset Token."): secret,
            Optional("api_root", default=API_ROOT, description="Where the REST API is."): url,
            Optional("gateway_url", default=None, description="Where the gateway is; the API says it otherwise."): (
                Described(
                    lambda value: value if value is None else _gateway_url(value),
                    {"type": ["string", "null"], "format": "uri"},
                    "WebSocket URL",
                )
            ),
            Optional(
                "max_lines_per_message",
                default=LINES,
                description="The most lines of a message; a longer text comes in several. 0 for any number.",
            ): Described(_lines, {"type": "integer", "minimum": 0}, "integer"),
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
