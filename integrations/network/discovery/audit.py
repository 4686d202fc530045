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


AUDIT = (
    AuditCheck(
        "discovery.full",
        AuditSeverity.NOTE,
        phrase("What the network learns about the home"),
        phrase("A guest in your network learns that the hub is there, and what the home is called."),
        phrase("Announce the name of the machine alone (minimal), or nothing (off)."),
        _full,
    ),
)
