"""A check of the security audit: what the network learns about the home."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _full(context: AuditContext) -> Iterator[Spot]:
    if context.section("discovery").get("mdns") == "full":
        keys = ("discovery", "mdns")
        yield Spot(phrase("The network can see the name of your home"), keys, edits={keys: "minimal"})


def _announced(context: AuditContext) -> Iterator[Spot]:
    if context.section("discovery").get("mdns", "minimal") == "minimal" and not context.http.loopback:
        keys = ("discovery", "mdns")
        yield Spot(phrase("The network can see that a hub is here, and on which port"), keys, edits={keys: "off"})


AUDIT = (
    AuditCheck(
        "discovery.announced",
        AuditSeverity.NOTE,
        phrase("The hub announces itself to the network"),
        phrase("A guest in your network learns that the hub is there, without trying every port."),
        phrase("Apps and `homarus discover` find it by that; switch it off (mdns: off) where you share the network."),
        _announced,
    ),
    AuditCheck(
        "discovery.full",
        AuditSeverity.NOTE,
        phrase("What the network learns about the home"),
        phrase("A guest in your network learns that the hub is there, and what the home is called."),
        phrase("Announce the name of the machine alone (minimal), or nothing (off)."),
        _full,
    ),
)
