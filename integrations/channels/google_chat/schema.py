"""Configuration of Google Chat: a list of Chat apps."""

from __future__ import annotations

import json

from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Match, Optional, Required, Schema, ensure_list, secret, string, url
from hub.core.secret import Secret
from hub.messaging.account_fields import OneWay, Way
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://chat.googleapis.com"
PUBSUB_ROOT = "https://pubsub.googleapis.com"
TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105  an address
CALLER = "chat@system.gserviceaccount.com"


def _service_account(value: Secret) -> Secret:
    try:
        held = json.loads(value.reveal())
    except ValueError:
        held = None
    if not isinstance(held, dict) or not all(isinstance(held.get(key), str) for key in ("client_email", "private_key")):
        raise Invalid(phrase("expected the whole JSON of a service account's key, with client_email and private_key"))
    return value


CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional(
                    "account", default="default", description="A name; it is the end of the webhook's address."
                ): All(
                    string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
                ),
                Required("service_account", description="The JSON of the service account's key, whole."): All(
                    secret, _service_account
                ),
                Optional(
                    "audience",
                    description="The app's authentication audience: its project number, or its endpoint's address.",
                ): All(string, Match(r"^([0-9]{5,20}|https?://\S+)$", msg="expected the project number or an address")),
                Optional(
                    "subscription", description="The Pub/Sub subscription: projects/<project>/subscriptions/<name>."
                ): All(
                    string,
                    Match(
                        r"^projects/[^/\s]+/subscriptions/[^/\s]+$",
                        msg="expected projects/<project>/subscriptions/<name>",
                    ),
                ),
                Optional("caller", default=CALLER, description="Who Google calls the endpoint as."): string,
                Optional("api_root", default=API_ROOT, description="Where the Chat API is."): url,
                Optional("pubsub_root", default=PUBSUB_ROOT, description="Where Pub/Sub is."): url,
                Optional("token_url", default=TOKEN_URL, description="Where tokens are issued."): url,
                Optional("certs_url", description="Where the keys are that Google signs deliveries with."): url,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            OneWay(
                Way(phrase("Cloud Pub/Sub, which needs no public address"), ("subscription",)),
                Way(phrase("an HTTP endpoint of the hub, which needs one"), ("audience",)),
            ),
        )
    )
)
