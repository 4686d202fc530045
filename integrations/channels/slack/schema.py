"""Configuration of Slack: a list of apps, each installed in one workspace."""

from __future__ import annotations

from hub.core.schema import Optional, Required, Schema, ensure_list, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://slack.com/api"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this app."): string,
            Required("bot_token", description="The bot token, xoxb-…, from OAuth & Permissions."): secret,
            Required("app_token", description="An app-level token, xapp-…, with the scope connections:write."): secret,
            Optional("api_root", default=API_ROOT, description="Where the Web API is."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
