"""The accounts of Matrix: where each one is logged in, and as whom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Invalid, Optional, Required, Schema, boolean, ensure_list, secret, slug, string, url
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

_USER_ID = re.compile(r"@[^:\s]+:\S+")


def _user_id(value: Any) -> str:
    if not isinstance(value, str) or not _USER_ID.fullmatch(value):
        raise Invalid(f"expected a Matrix id such as @homarus:example.org, got {value!r}"[:200])
    return value


def _one_credential(account: Mapping[str, Any]) -> Mapping[str, Any]:
    if ("access_token" in account) == ("password" in account):
        raise Invalid("state either access_token or password, so that the account can be logged in")
    return account


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
    _one_credential,
)

CONFIG_SCHEMA = Schema(ensure_list(ACCOUNT_SCHEMA))
