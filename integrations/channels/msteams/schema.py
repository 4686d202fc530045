"""Configuration of Microsoft Teams: a list of bots."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

LOGIN_ROOT = "https://login.microsoftonline.com"
OPENID_URL = "https://login.botframework.com/v1/.well-known/openidconfiguration"
SERVICE_ROOT = "https://smba.trafficmanager.net/teams/"
_ID = All(string, Match(r"^[0-9A-Za-z.-]{1,128}$", msg="expected the id, as the Azure portal shows it"))

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name; it is the end of the webhook's address."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Required("app_id", description="The bot's Microsoft App ID."): _ID,
            Required("app_password", description="A client secret of the app: its value, not its id."): secret,
            Required("tenant_id", description="The directory (tenant) that the bot belongs to."): _ID,
            Optional("login_root", default=LOGIN_ROOT, description="Where tokens are issued."): url,
            Optional("openid_url", default=OPENID_URL, description="Where the keys of deliveries are described."): url,
            Optional(
                "service_root", default=SERVICE_ROOT, description="The Bot Connector, for chats that named none yet."
            ): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
