"""Configuration of Mattermost: a list of bots, each on one server."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this bot."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Required("url", description="The address of the server, such as https://chat.example.org."): url,
            Required("token", description="The access token of the bot, or of a user."): secret,
            Optional(
                "callback_url",
                description="Where the Mattermost server reaches this hub, for buttons; without it choices are text.",
                asked=True,
            ): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
