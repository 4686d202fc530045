"""Configuration of the ferry: a list of accounts."""

from hub.core.schema import Optional, Required, Schema, ensure_list, secret, string
from hub.messaging.schema import ACCESS_KEYS

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default"): string,
            Required("token", description="What the ferryman gave you."): secret,
            Optional("pier", description="Where it lands."): string,
            **ACCESS_KEYS,
        }
    )
)
