"""Configuration of DingTalk: a list of apps, each with a robot."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT, OLD_API_ROOT = "https://api.dingtalk.com", "https://oapi.dingtalk.com"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this app."): string,
            Required("client_id", description="The Client ID (AppKey), ding…, from Credentials."): All(
                string, Match(r"^[A-Za-z0-9_-]{5,64}$", msg="expected the Client ID, such as dingabc123")
            ),
            Required("client_secret", description="The Client Secret (AppSecret), from the same page."): secret,
            Optional("robot_code", description="The robotCode, when it is not the Client ID."): string,
            Optional(
                "card_template",
                description="The id of an AI card template, ….schema. With it, answers are cards that grow.",
            ): string,
            Optional("api_root", default=API_ROOT, description="Where the API is."): url,
            Optional("oapi_root", default=OLD_API_ROOT, description="Where the old API is, which takes files."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
