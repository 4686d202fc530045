"""Checks of the security audit: who may speak to the Wyoming server, which knows no passwords."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext, is_loopback
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot

LOOPBACK = "127.0.0.1"
WIDE_V4, WIDE_V6 = 24, 64


def _open(context: AuditContext) -> Iterator[Spot]:
    section = context.section("wyoming")
    if not section or is_loopback(section.get("listen", LOOPBACK)):
        return
    for at, written in enumerate(section["allow"]):
        network = ipaddress.ip_network(written)
        if network.prefixlen > (WIDE_V4 if network.version == 4 else WIDE_V6):
            continue
        keys = context.written(("wyoming", "allow", at))
        what = phrase("Every machine in {network} may talk to the assistant by voice", network=written)
        severity = AuditSeverity.WARNING
        if "person" in section:
            what = phrase(
                "Every machine in {network} may talk to the assistant by voice, in the name of {person}",
                network=written,
                person=section["person"],
            )
            severity = AuditSeverity.CRITICAL
        yield Spot(what, keys, severity=severity)


AUDIT = (
    AuditCheck(
        "wyoming.open",
        AuditSeverity.CRITICAL,
        phrase("Who may speak to the voice server"),
        phrase("The protocol knows no passwords: a guest's computer, or a hacked lamp, can say anything as you would."),
        phrase("Name the address of Home Assistant alone under wyoming.allow."),
        _open,
    ),
)
