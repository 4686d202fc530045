"""Configuration of WeCom: a list of AI bots."""

from __future__ import annotations

from hub.core.schema import Match, Optional, Required, Schema, ensure_list, secret, string
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

WS_URL = "wss://openws.work.weixin.qq.com"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this bot."): string,
            Required("bot_id", description="The Bot ID of the page API mode, long connection."): string,
            Required("secret", description="The Secret of the same page."): secret,
            Optional("ws_url", default=WS_URL, description="Where the long connection is."): Match(
                r"^wss?://", msg="expected an address that begins with wss://"
            ),
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
