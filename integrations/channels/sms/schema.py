"""Configuration of SMS: one entry for each number at Twilio."""

from __future__ import annotations

from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Match,
    Optional,
    Required,
    Schema,
    boolean,
    ensure_list,
    own_secret,
    string,
    url,
)
from hub.messaging.account_fields import OneWay, Way
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://api.twilio.com"


CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional(
                    "account", default="default", description="A name; it is the end of the webhook's address."
                ): All(
                    string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
                ),
                Required("account_sid", description="The Account SID of the Twilio account."): All(
                    string, Match(r"^AC[0-9a-f]{32}$", msg="expected AC and 32 hexadecimal digits")
                ),
                Required("auth_token", description="Its Auth Token; Twilio signs what it delivers with it."): (
                    own_secret()
                ),
                Optional(
                    "signature_secret",
                    description="The secret of a shared key, where a webhook rule of Twilio signs with HMAC-SHA256.",
                ): own_secret(),
                Optional("number", description="The number that writes, such as +4915712345678."): All(
                    string, Match(r"^\+[0-9]{5,15}$", msg="expected a number such as +4915712345678")
                ),
                Optional(
                    "messaging_service_sid", description="A messaging service that writes, in place of a number."
                ): (All(string, Match(r"^MG[0-9a-f]{32}$", msg="expected MG and 32 hexadecimal digits"))),
                Required("public_url", description="The hub's https address, as Twilio calls it."): All(
                    url, Match("^https://", msg="expected an https:// address")
                ),
                Optional(
                    "mms", default=False, description="Send pictures as MMS; without it, files are links."
                ): boolean,
                Optional("api_root", default=API_ROOT, description="Where the API is."): url,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            OneWay(
                Way(phrase("a number"), ("number",)), Way(phrase("a messaging service"), ("messaging_service_sid",))
            ),
        )
    )
)
