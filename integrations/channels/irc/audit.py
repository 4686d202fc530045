"""Checks of the security audit: how IRC is reached, and whether a nick is believed."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext, is_loopback
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _nicks(context: AuditContext) -> Iterator[Spot]:
    for at, account in enumerate(context.section("irc") or ()):
        if account["trust_nicks"]:
            keys = context.written(("irc", at, "trust_nicks"))
            yield Spot(phrase("On {host}, a nick is believed to be who it says", host=account["host"]), keys)


def _plain(context: AuditContext) -> Iterator[Spot]:
    for at, account in enumerate(context.section("irc") or ()):
        if not account["tls"] and not is_loopback(account["host"]):
            keys = context.written(("irc", at, "tls"))
            what = phrase("What is written on {host} is not encrypted on its way", host=account["host"])
            yield Spot(what, keys)


AUDIT = (
    AuditCheck(
        "irc.nicks",
        AuditSeverity.CRITICAL,
        phrase("Whether names in IRC are believed"),
        phrase("Whoever takes the nick while you are away is you, for the assistant."),
        phrase("List accounts of the services (irc:account:NAME), and set trust_nicks: false."),
        _nicks,
    ),
    AuditCheck(
        "irc.plain",
        AuditSeverity.WARNING,
        phrase("Whether IRC is reached encrypted"),
        phrase("Whoever is between you and the server reads along, passwords too, and can write as others."),
        phrase("Set tls: true; nearly every server has it, on port 6697."),
        _plain,
    ),
)
