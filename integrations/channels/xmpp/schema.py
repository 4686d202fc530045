"""The accounts of XMPP: which address, and which rooms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Described,
    Invalid,
    Length,
    Optional,
    Required,
    Schema,
    boolean,
    ensure_list,
    port,
    secret,
    slug,
    string,
)
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

_BARE = re.compile(r"[^\s@/\"&'<>:]{1,256}@[^\s@/]{1,256}")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def _address(value: Any) -> str:
    if not isinstance(value, str) or not _BARE.fullmatch(value):
        raise Invalid(f"expected an address such as homarus@example.org, got {value!r}"[:200])
    return value.lower()


def _consistent(account: Mapping[str, Any]) -> Mapping[str, Any]:
    if account["plaintext"] and account.get("host") not in LOOPBACK:
        raise Invalid(
            "only a server on this machine may be spoken to without TLS (host: 127.0.0.1)", path=["plaintext"]
        )
    if account["plaintext"] and account.get("direct_tls"):
        raise Invalid(phrase("with plaintext there is no TLS"), path=["direct_tls"])
    return account


address = Described(_address, {"type": "string", "pattern": "@"}, "address")

CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional("account", default="default", description="A name for this login."): slug,
                Required("jid", description="Its address, such as homarus@example.org."): address,
                Required("password", description="Its password."): secret,
                Optional("host", description="The server, when it is not at the domain of the address."): string,
                Optional("port", description="Its port; 5222 without it."): port,
                Optional(
                    "direct_tls",
                    description="Whether the port begins with TLS instead of STARTTLS; 5223 does, without it.",
                ): boolean,
                Optional(
                    "plaintext", default=False, description="Whether a server on this machine is spoken to without TLS."
                ): boolean,
                Optional(
                    "rooms", default=list, description="Rooms to join, such as home@rooms.example.org.", asked=True
                ): ensure_list(address),
                Optional(
                    "bookmarks",
                    default=False,
                    description="Whether it also joins the rooms that its account has bookmarked.",
                ): boolean,
                Optional("nick", description="Its name in rooms; the first part of the address without it."): All(
                    string, Length(min=1, max=64)
                ),
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            _consistent,
        )
    )
)
