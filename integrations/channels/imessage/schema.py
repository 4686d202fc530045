"""Configuration of iMessage: a list of Macs."""

from __future__ import annotations

from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Invalid,
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
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS


def _one_way(entry: dict[str, Any]) -> dict[str, Any]:
    if ("node" in entry) is ("url" in entry) or ("password" in entry) is not ("url" in entry):
        raise Invalid(phrase("expected url and password of a BlueBubbles server, or node, and not both"))
    if "node" in entry and (entry["private_api"] or "webhook_secret" in entry or "webhook_url" in entry):
        raise Invalid(phrase("private_api, webhook_secret and webhook_url are of a BlueBubbles server"))
    return entry


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
                Optional("webhook_url", description="The hub's address as the Mac reaches it, for the webhook."): url,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            _one_way,
        )
    )
)
