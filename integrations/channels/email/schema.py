"""Configuration of e-mail: a list of mailboxes."""

from __future__ import annotations

from typing import Any

from hub.core.schema import All, In, Invalid, Optional, Range, Required, Schema, ensure_list, integer, secret, string
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

SECURITY = ("tls", "starttls", "none")
_PORT = All(integer, Range(min=1, max=65_535))


def _address(value: str) -> str:
    local, at, domain = value.rpartition("@")
    if not (local and at and domain) or any(each.isspace() for each in value):
        raise Invalid(f"expected an address such as home@example.org, got {value!r}")
    return value


def _username(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "username": config.get("username") or config["address"]}


CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional("account", default="default", description="A name for this mailbox."): string,
                Required("address", description="The address that people write to."): All(string, _address),
                Required("password", description="Of the mailbox; many providers want an app password."): secret,
                Required("imap_host", description="Where mail is read, such as imap.example.org."): string,
                Required("smtp_host", description="Where mail is sent, such as smtp.example.org."): string,
                Required(
                    "authserv_id",
                    description="The name by which the mail server signs Authentication-Results: mx.google.com.",
                ): string,
                Optional("username", description="The address, unless the server wants another."): string,
                Optional("imap_port", default=993, description="Port of IMAP."): _PORT,
                Optional("imap_security", default="tls", description="tls, starttls or none."): In(SECURITY),
                Optional("smtp_port", default=465, description="Port of SMTP."): _PORT,
                Optional("smtp_security", default="tls", description="tls, starttls or none."): In(SECURITY),
                Optional("folder", default="INBOX", description="The folder that is read."): string,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            _username,
        )
    )
)
