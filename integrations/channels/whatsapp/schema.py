"""Configuration of WhatsApp: a list of phone numbers of the Cloud API."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, own_secret, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://graph.facebook.com/v23.0"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this number."): string,
            Required("phone_number_id", description="The number's id, from API Setup; not the number itself."): All(
                string, Match(r"^[0-9]{5,20}$", msg="expected the phone number id: digits alone, from API Setup")
            ),
            Required("access_token", description="The token of a system user who may send messages."): secret,
            Required("app_secret", description="The app's secret; Meta signs what it delivers with it."): own_secret(),
            Required("verify_token", description="Long random words; Meta shows them at set-up."): own_secret(),
            Optional("api_root", default=API_ROOT, description="Where the Graph API is, with its version."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
