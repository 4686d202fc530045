"""Configuration of Telegram: one entry for each bot."""

from __future__ import annotations

import re
from typing import Any

from hub.core.schema import (
    All,
    Invalid,
    Match,
    Optional,
    Required,
    Schema,
    as_list,
    ensure_list,
    secret,
    show,
    string,
    url,
)
from hub.core.secret import Secret
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

API_ROOT = "https://api.telegram.org"

_SENDER = re.compile(r"(?:telegram:user:)?([0-9]{1,20})")
_CHAT = re.compile(r"telegram:chat:-[0-9]{1,20}")


def _secret_like(pattern: str, expected: str) -> All:
    def check(given: Secret) -> Secret:
        if not re.fullmatch(pattern, given.reveal()):
            raise Invalid(f"expected {expected}")
        return given

    return All(secret, check)


_token = _secret_like(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,100}", "the token that @BotFather gave, such as 123456:ABC-DEF…")
_webhook_secret = _secret_like(r"[A-Za-z0-9_-]{1,256}", "1 to 256 characters of A-Z, a-z, 0-9, _ and -")


def _sender(value: Any) -> str:
    """Accept who can be recognised: a number never changes hands, a user name does."""
    text: str = string(value)
    if text == "*" or _CHAT.fullmatch(text):
        return text
    if found := _SENDER.fullmatch(text):
        return f"telegram:user:{found[1]}"
    raise Invalid(
        f"expected the number of a Telegram account, such as 123456789 or telegram:user:123456789, got {show(value)}; "
        "user names can change hands and are never trusted (@userinfobot tells your number)"
    )


def _groups(groups: dict[str, Any]) -> dict[str, Any]:
    for name, group in groups.items():
        for index, sender in enumerate(group.get("allow_from", ())):
            try:
                _sender(sender)
            except Invalid as error:
                raise Invalid(error.msg, path=[name, "allow_from", index]) from None
    return groups


_senders = ensure_list(_sender)

ACCOUNT_SCHEMA = Schema(
    {
        **ACCESS_KEYS,
        **OUTBOUND_KEYS,
        Optional("account", default="default", description="A name for this bot."): Match(
            r"^[A-Za-z0-9_-]{1,64}$", msg="expected a name of A-Z, a-z, 0-9, _ and - (at most 64)"
        ),
        Required("token", description="The bot's token, from @BotFather."): _token,
        Optional("api_root", default=API_ROOT, description="The Bot API server, when it is one of your own."): url,
        Optional("allow_from", default=list, description="Numbers of further people who may write."): _senders,
        Optional("group_allow_from", default=list, description="Numbers of those who are answered in groups."): (
            _senders
        ),
        Optional("groups", default=dict, description="Groups by their number."): All(ACCESS_KEYS["groups"], _groups),
        Optional("webhook", description="Let Telegram deliver to this hub instead of asking it."): {
            Required(
                "url", description="The https address of this hub's /telegram/<account>, as Telegram reaches it."
            ): url,
            Required("secret", description="A secret that Telegram repeats in each delivery."): _webhook_secret,
        },
    }
)

EACH_ITEM = True
CONFIG_SCHEMA = Schema(All(as_list, [ACCOUNT_SCHEMA]))
