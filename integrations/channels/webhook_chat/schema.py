"""Configuration of webhook channels: a list of programs that talk and are answered over HTTP."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Required, Schema, ensure_list, own_secret, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

SECRET_CHARS = 16


CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name; it is the end of the address."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Required("secret", description="What both sides sign with, 16 characters at least."): own_secret(
                SECRET_CHARS
            ),
            Required("url", description="Where answers are posted."): url,
            **ACCESS_KEYS,
            **OUTBOUND_KEYS,
        }
    )
)
