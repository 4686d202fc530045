"""Configuration of QQ: a list of bots."""

from __future__ import annotations

from hub.core.schema import Optional, Required, Schema, ensure_list, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://api.sgroup.qq.com"
TOKEN_URL = "https://bots.qq.com/app/getAppAccessToken"  # noqa: S105  an address

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this bot."): string,
            Required("app_id", description="The AppID of the page Development settings at q.qq.com."): string,
            Required("app_secret", description="The AppSecret of the same page."): secret,
            Optional("api_root", default=API_ROOT, description="Where the API is, such as that of the sandbox."): url,
            Optional("token_url", default=TOKEN_URL, description="Where the secret is changed for tokens."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
