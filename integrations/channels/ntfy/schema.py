"""Configuration of ntfy: a list of accounts, each with topics of one server."""

from __future__ import annotations

import re

from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Optional, Required, Schema, ensure_list, secret, string, url
from hub.core.secret import Secret
from hub.messaging.account_fields import OneWay, Way
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

SERVER = "https://ntfy.sh"
TOPICS_LIMIT = 20

_TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")


def _topics(value: Secret) -> Secret:
    names = value.reveal().split(",")
    if len(names) > TOPICS_LIMIT or not all(_TOPIC.fullmatch(each.strip()) for each in names):
        raise Invalid("expected names of topics: up to 64 letters, digits, - and _ each, with commas between them")
    return value


CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional("account", default="default", description="A name for this account."): string,
                Optional("url", default=SERVER, description="The address of the server.", asked=True): url,
                Required(
                    "topics",
                    description="A topic for each person, with commas between; who knows one reads and writes it.",
                ): All(secret, _topics),
                Optional("token", description="An access token, where the server asks for one."): secret,
                Optional("user", description="A user name, in place of a token."): string,
                Optional("password", description="The password of that user."): secret,
                Optional(
                    "button_token",
                    description="An access token that may only write to the topics, for buttons; their readers see it.",
                ): secret,
                Optional(
                    "notify",
                    default=list,
                    description="Phones that are notified on a topic of their own, by `notify.mobile_app_<phone>`.",
                ): ensure_list(
                    {
                        Required("phone", description="The phone's name, which may be that of a paired one."): string,
                        Required("topic", description="The topic; who knows it reads it."): All(secret, _topics),
                    }
                ),
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            OneWay(
                Way(phrase("no sign-in")),
                Way(phrase("an access token"), ("token",)),
                Way(phrase("a user name and a password"), ("user", "password")),
            ),
        )
    )
)
