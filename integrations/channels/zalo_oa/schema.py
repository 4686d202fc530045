"""Configuration of Zalo's official accounts: one entry for each."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, own_secret, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT, OAUTH_ROOT = "https://openapi.zalo.me", "https://oauth.zaloapp.com"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name; it is the end of the webhook's address."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Required("app_id", description="The id of the app at developers.zalo.me."): All(
                string, Match(r"^[0-9]{5,30}$", msg="expected digits alone")
            ),
            Required("app_secret", description="The app's secret key; access tokens are renewed with it."): secret,
            Required("refresh_token", description="From the API Explorer; Zalo replaces it at each use."): secret,
            Required("oa_secret", description="The OA secret key of the webhook; Zalo signs with it."): own_secret(),
            Optional(
                "public_url", description="The hub's https address, for files that Zalo does not take.", asked=True
            ): All(url, Match("^https://", msg="expected an https:// address")),
            Optional("api_root", default=API_ROOT, description="Where the Official Account API is."): url,
            Optional("oauth_root", default=OAUTH_ROOT, description="Where access tokens are renewed."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
