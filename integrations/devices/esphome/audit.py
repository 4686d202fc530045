"""Checks of the security audit: devices that prove nothing of who they are."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _open(context: AuditContext) -> Iterator[Spot]:
    for at, device in enumerate(context.section("esphome") or ()):
        if "encryption_key" not in device:
            what = phrase("The ESPHome device {host} is talked to without encryption", host=device["host"])
            yield Spot(what, context.written(("esphome", at, "host")))


AUDIT = (
    AuditCheck(
        "esphome.open",
        AuditSeverity.WARNING,
        phrase("Which ESPHome devices are encrypted"),
        phrase(
            "Whoever is in the network hears what such a device hears and says, and can take its place: what is said "
            "to it then is theirs."
        ),
        phrase(
            "Give the device api: encryption: in its ESPHome configuration, and its key to esphome: encryption_key."
        ),
        _open,
    ),
)
