"""Configuration of LINE: a list of channels of the Messaging API."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, own_secret, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT, DATA_ROOT = "https://api.line.me", "https://api-data.line.me"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name; it is the end of the webhook's address."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Required("access_token", description="The channel access token (long-lived)."): secret,
            Required("channel_secret", description="The channel secret; LINE signs what it delivers."): own_secret(),
            Optional(
                "public_url", description="The hub's https address, where LINE fetches files that are sent.", asked=True
            ): All(url, Match("^https://", msg="expected an https:// address")),
            Optional("api_root", default=API_ROOT, description="Where the Messaging API is."): url,
            Optional("data_root", default=DATA_ROOT, description="Where LINE gives the files of messages."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
