"""Configuration of Zalo: one entry for each bot."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, own_secret, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://bot-api.zaloplatforms.com"

_https = All(url, Match("^https://", msg="expected an https:// address"))

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name; it is the end of the webhook's address."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Required("token", description="The bot's token, from the chat Zalo Bot Manager."): secret,
            Optional(
                "webhook_secret",
                description="Long random words; with them Zalo delivers to a webhook below public_url.",
            ): own_secret(),
            Optional(
                "public_url",
                description="The hub's https address, where Zalo fetches pictures that are sent.",
                asked=True,
            ): _https,
            Optional("api_root", default=API_ROOT, description="Where the Bot API is."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
