"""Configuration of Feishu and Lark: a list of apps, each with a bot."""

from __future__ import annotations

from hub.core.schema import All, In, Match, Optional, Required, Schema, ensure_list, own_secret, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOTS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this app."): string,
            Required("app_id", description="The App ID, cli_…, from Credentials & Basic Info."): All(
                string, Match(r"^[A-Za-z0-9_-]{5,64}$", msg="expected the App ID, such as cli_a1b2c3d4e5f6")
            ),
            Required("app_secret", description="The App Secret, from the same page."): secret,
            Optional("region", default="feishu", description="feishu in China, lark elsewhere.", asked=True): In(
                list(API_ROOTS)
            ),
            Optional(
                "encrypt_key",
                description="The Encrypt Key of Events & Callbacks. With it, events come to the webhook "
                "/feishu/<account>; without it, over a connection that the hub opens.",
            ): own_secret(),
            Optional("api_root", description="Where the API is, when it is not at the region's address."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
