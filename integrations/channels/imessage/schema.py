"""Configuration of iMessage: a list of Macs."""

from __future__ import annotations

from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Length,
    Match,
    Optional,
    Schema,
    boolean,
    ensure_list,
    own_secret,
    positive_seconds,
    secret,
    string,
    url,
)
from hub.messaging.account_fields import OneWay, Way
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

_BLUEBUBBLES = Way(
    phrase("the BlueBubbles server on the Mac"),
    ("url", "password"),
    ("private_api", "webhook_secret", "webhook_url"),
)
_NODE = Way(phrase("the Mac itself, with homarus node"), ("node",))

CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional(
                    "account", default="default", description="A name; it is the end of the webhook's address."
                ): All(
                    string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
                ),
                Optional("url", description="Where the BlueBubbles server is, such as http://192.168.1.20:1234."): url,
                Optional("password", description="The server's password."): secret,
                Optional(
                    "node", description="Instead of a server: name or id of the Mac, which runs the node program."
                ): All(string, Length(min=1, max=128)),
                Optional(
                    "private_api",
                    default=False,
                    description="Whether to use the server's Private API: edits, unsending, tapbacks, typing, replies.",
                ): boolean,
                Optional(
                    "read_receipts", default=True, description="Whether what is taken is marked as read."
                ): boolean,
                Optional(
                    "own_addresses",
                    default=list,
                    description="Your numbers and addresses in Messages, if you write to yourself: all is there twice.",
                ): ensure_list(string),
                Optional(
                    "names", default=lambda: ["Homarus"], description="Words that address the assistant in a group."
                ): ensure_list(string),
                Optional(
                    "poll", default=3, description="Seconds between two looks for new messages."
                ): positive_seconds,
                Optional(
                    "webhook_secret", description="Long random words; with them the server tells the hub at once."
                ): own_secret(),
                Optional(
                    "webhook_url", description="The hub's address as the Mac reaches it, for the webhook.", asked=True
                ): url,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            OneWay(_BLUEBUBBLES, _NODE),
        )
    )
)
