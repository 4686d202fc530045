"""Configuration of e-mail: a list of mailboxes."""

from __future__ import annotations

from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    In,
    Invalid,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    secret,
    string,
    url,
)
from hub.messaging.account_fields import OneWay, Way
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS

SECURITY = ("tls", "starttls", "none")
SIGN_INS = {
    "google": {
        "authorize_url": "https://accounts.google.com/o/oauth2/v2/auth",
        "token_url": "https://oauth2.googleapis.com/token",
        "scope": "https://mail.google.com/",
    },
    "microsoft": {
        "device_url": "https://login.microsoftonline.com/common/oauth2/v2.0/devicecode",
        "token_url": "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        "scope": "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access",
    },
}
"""Google gives no codes for other devices that open a mailbox: its page leads back to this machine."""
_PORT = All(integer, Range(min=1, max=65_535))


def _address(value: str) -> str:
    local, at, domain = value.rpartition("@")
    if not (local and at and domain) or any(each.isspace() for each in value):
        raise Invalid(f"expected an address such as home@example.org, got {value!r}")
    return value


def _with_username(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "username": config.get("username") or config["address"]}


def _endpoints(oauth: dict[str, Any]) -> dict[str, Any]:
    if ("provider" in oauth) == ("token_url" in oauth):
        raise Invalid("state either provider (google or microsoft) or token_url, where access tokens come from")
    provider = oauth.pop("provider", None)
    if provider is not None and (own := oauth.keys() & {"authorize_url", "device_url", "scope"}):
        raise Invalid(phrase("expected only with token_url; those of the provider are known"), path=[min(own)])
    if provider is None and "refresh_token" not in oauth and not oauth.keys() & {"authorize_url", "device_url"}:
        raise Invalid(
            phrase("expected refresh_token, or authorize_url or device_url, where the mailbox's owner signs in")
        )
    return oauth if provider is None else {**oauth, **SIGN_INS[provider]}


_OAUTH = {
    Optional("provider", description="The company that the mailbox is with.", asked=True): In(tuple(SIGN_INS)),
    Optional("token_url", description="The token endpoint of another provider."): url,
    Required("client_id", description="Of the application that was registered with the provider."): string,
    Optional("client_secret", description="Of that application, when it has one."): secret,
    Optional("authorize_url", description="Of another provider: the page on which the mailbox's owner signs in."): url,
    Optional(
        "device_url", description="Of another provider: where it gives a code to sign in with on any device."
    ): url,
    Optional("scope", description="Of another provider: the rights that are asked for."): string,
    Optional(
        "refresh_token",
        description="What the provider gave when the mailbox's owner agreed; without it they sign in with a browser.",
        asked=False,
    ): secret,
}

CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional("account", default="default", description="A name for this mailbox."): string,
                Required("address", description="The address that people write to."): All(string, _address),
                Optional("password", description="Of the mailbox; many providers want an app password."): secret,
                Optional("oauth", description="Instead of a password, access by OAuth 2.0 (XOAUTH2)."): All(
                    _OAUTH, _endpoints
                ),
                Required("imap_host", description="Where mail is read, such as imap.example.org."): string,
                Required("smtp_host", description="Where mail is sent, such as smtp.example.org."): string,
                Required(
                    "authserv_id",
                    description="First word of Authentication-Results in a mail's source, such as mx.google.com.",
                ): string,
                Optional("username", description="The address, unless the server wants another."): string,
                Optional("imap_port", default=993, description="Port of IMAP."): _PORT,
                Optional("imap_security", default="tls", description="tls, starttls or none."): In(SECURITY),
                Optional("smtp_port", default=465, description="Port of SMTP; 587 with starttls.", asked=True): _PORT,
                Optional(
                    "smtp_security",
                    default="tls",
                    description="How it is encrypted; Outlook wants starttls.",
                    asked=True,
                ): In(SECURITY),
                Optional("folder", default="INBOX", description="The folder that is read."): string,
                Optional(
                    "tool",
                    default=False,
                    description="Whether the owner's agents read and send mail by it (tool mail).",
                ): boolean,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            OneWay(
                Way(phrase("a password"), ("password",)), Way(phrase("signing in at Google or Microsoft"), ("oauth",))
            ),
            _with_username,
        )
    )
)
