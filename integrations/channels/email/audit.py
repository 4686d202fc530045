"""Checks of the security audit: how mailboxes are reached, and whose mail is answered."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext, is_loopback
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _plain(context: AuditContext) -> Iterator[Spot]:
    for at, mailbox in enumerate(context.section("email") or ()):
        for kind in ("imap", "smtp"):
            host = mailbox[f"{kind}_host"]
            if mailbox[f"{kind}_security"] == "none" and not is_loopback(host):
                keys = context.written(("email", at, f"{kind}_security"))
                what = phrase(
                    "The password of {address} goes to {host} unencrypted", address=mailbox["address"], host=host
                )
                yield Spot(what, keys, edits={keys: "tls"})


def _open_with_tool(context: AuditContext) -> Iterator[Spot]:
    mailboxes = context.section("email") or ()
    tools = [each["address"] for each in mailboxes if each["tool"]]
    for at, mailbox in enumerate(mailboxes):
        if mailbox["dm_policy"] == "open" and tools:
            keys = context.written(("email", at, "dm_policy"))
            what = phrase(
                "Everybody may write to {address}, and the assistant sends mail as {other}",
                address=mailbox["address"],
                other=tools,
            )
            yield Spot(what, keys)


AUDIT = (
    AuditCheck(
        "email.plain",
        AuditSeverity.CRITICAL,
        phrase("Whether mailboxes are reached encrypted"),
        phrase("Whoever is between you and the provider reads the password, and has your mail from then on."),
        phrase("Use tls or starttls, which every provider has."),
        _plain,
    ),
    AuditCheck(
        "email.open_with_tool",
        AuditSeverity.WARNING,
        phrase("Whether strangers' mail meets a mailbox that is read"),
        phrase("A mail can try to have the assistant look for something in your mailbox and answer with it."),
        phrase("Answer the people alone whom you know, or have another agent answer this mailbox."),
        _open_with_tool,
    ),
)
