"""The accounts of IRC: which server, under which nick, in which channels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.core.schema import (
    All,
    Described,
    Invalid,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    number,
    port,
    secret,
    slug,
    string,
)
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

_NICK = re.compile(r"[^\s,:!@#&\x00-\x20-][^\s,!@\x00-\x20]{0,63}")
_CHANNEL = re.compile(r"[#&+][^\s,\x00-\x20\x07]{1,199}")
LINES_PER_S = 1.0


def _nick(value: Any) -> str:
    if not isinstance(value, str) or not _NICK.fullmatch(value):
        raise Invalid(f"expected a nick such as homarus, without spaces, got {value!r}"[:200])
    return value


def _channel(value: Any) -> str:
    if not isinstance(value, str) or not _CHANNEL.fullmatch(value):
        raise Invalid(f"expected a channel such as '#home' (in quotes, as # begins a comment), got {value!r}"[:200])
    return value


def _consistent(account: Mapping[str, Any]) -> Mapping[str, Any]:
    weak = [each for each in account["allow_from"] if each.startswith("irc:nick:")]
    if weak and not account["trust_nicks"]:
        why = "anybody can take a nick; list irc:account:NAME, or set trust_nicks: true"
        raise Invalid(f"{weak[0]} proves nothing: {why}", path=["allow_from"])
    if "sasl_user" in account and "sasl_password" not in account:
        raise Invalid("sasl_user needs sasl_password", path=["sasl_user"])
    return account


CHANNEL = Described(_channel, {"type": "string", "pattern": "^[#&+]"}, "channel")

ACCOUNT_SCHEMA = All(
    {
        Optional("account", default="default", description="A name for this login."): slug,
        Required("host", description="Name of the server, such as irc.libera.chat."): string,
        Optional("port", description="6697, or 6667 without TLS."): port,
        Optional("tls", default=True, description="Whether the connection is encrypted."): boolean,
        Required("nick", description="Its nick; when it is taken, _ is added to it."): All(string, _nick),
        Optional("password", description="Password of the server, where it has one."): secret,
        Optional("sasl_user", description="Services account to log in to (SASL PLAIN); the nick without it."): string,
        Optional("sasl_password", description="Password of the services account."): secret,
        Optional("channels", default=list, description="Channels to join, such as '#home'.", asked=True): ensure_list(
            CHANNEL
        ),
        Optional("trust_nicks", default=False, description="Whether irc:nick:NICK!USER@HOST is an identity."): (
            boolean
        ),
        Optional("lines_per_second", default=LINES_PER_S, description="How fast it writes after a burst."): All(
            number, Range(min=0.1, max=100)
        ),
        **ACCESS_KEYS,
        **OUTBOUND_KEYS,
    },
    _consistent,
)

CONFIG_SCHEMA = Schema(ensure_list(ACCOUNT_SCHEMA))
