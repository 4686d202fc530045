"""The accounts of Matrix: where each one is logged in, and as whom."""

from __future__ import annotations

import re
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Optional, Required, Schema, boolean, ensure_list, secret, slug, string, url
from hub.messaging.account_fields import OneWay, Way
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

_USER_ID = re.compile(r"@[^:\s]+:\S+")


def _user_id(value: Any) -> str:
    if not isinstance(value, str) or not _USER_ID.fullmatch(value):
        raise Invalid(f"expected a Matrix id such as @homarus:example.org, got {value!r}"[:200])
    return value


ACCOUNT_SCHEMA = All(
    {
        Optional("account", default="default", description="A name for this login."): slug,
        Required("homeserver", description="Address of the homeserver, such as https://matrix.example.org."): url,
        Required("user_id", description="Id of the account, such as @homarus:example.org."): All(string, _user_id),
        Optional("access_token", description="Access token of a login that is the assistant's alone."): secret,
        Optional("password", description="Instead of a token; the hub logs in once and keeps the login."): secret,
        Optional("device_id", description="Device to log in as; with a token, the device that it must belong to."): (
            string
        ),
        Optional("encryption", default=False, description="Whether encrypted rooms are read and written."): boolean,
        **ACCESS_KEYS,
        **OUTBOUND_KEYS,
    },
    OneWay(Way(phrase("a password"), ("password",)), Way(phrase("an access token"), ("access_token",))),
)

CONFIG_SCHEMA = Schema(ensure_list(ACCOUNT_SCHEMA))
