"""Configuration of the buoy: a list of accounts."""

from hub.core.schema import Optional, Required, Schema, ensure_list, string
from hub.messaging.schema import ACCESS_KEYS

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default"): string,
            Required("colour", description="What it is painted in; nobody links a black one."): string,
            **ACCESS_KEYS,
        }
    )
)
