"""Configuration of Nextcloud Talk: a list of accounts, each on one Nextcloud."""

from __future__ import annotations

from hub.core.schema import Optional, Required, Schema, ensure_list, secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this account."): string,
            Required("url", description="The address of the Nextcloud, such as https://cloud.example.org."): url,
            Required("user", description="The name that the assistant's user signs in with."): string,
            Required("app_password", description="An app password of that user, from Settings, Security."): secret,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
