"""Configuration of Discord: a list of bots."""

from __future__ import annotations

from hub.core.schema import Described, Invalid, Optional, Required, Schema, ensure_list, secret, show, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://discord.com/api/v10"


def _gateway_url(value: object) -> str:
    if not isinstance(value, str) or not value.startswith(("ws://", "wss://")):
        raise Invalid(f"expected a ws:// or wss:// address, got {show(value)}")
    return value.rstrip("/")


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
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
