"""Webhooks: who may set automations off from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.paths import KeyPath
from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _triggers(context: AuditContext) -> Iterator[tuple[str, KeyPath, Mapping[str, Any]]]:
    for at, automation in enumerate(context.section("automation") or ()):
        if not automation.get("enabled", True):
            continue
        for index, trigger in enumerate(automation.get("triggers", ())):
            if trigger.get("trigger") == "webhook":
                name = automation.get("alias") or automation["id"]
                yield name, context.written(("automation", at, "triggers", index)), trigger


def _no_secret(context: AuditContext) -> Iterator[Spot]:
    for name, keys, trigger in _triggers(context):
        if "secret" not in trigger:
            what = phrase("Every program on this machine can set off “{automation}”, without a secret", automation=name)
            yield Spot(what, keys)


def _is_open(trigger: Mapping[str, Any]) -> bool:
    return not trigger["local_only"] and "secret" in trigger


def _in_clear(context: AuditContext) -> Iterator[Spot]:
    http = context.http
    if http.loopback or http.tls is not None:
        return
    for name, keys, trigger in _triggers(context):
        if _is_open(trigger) and "signature" not in trigger:
            what = phrase("The secret that sets off “{automation}” crosses the network unencrypted", automation=name)
            yield Spot(what, keys)


def _unsigned(context: AuditContext) -> Iterator[Spot]:
    for name, keys, trigger in _triggers(context):
        if _is_open(trigger) and "signature" not in trigger:
            what = phrase(
                "Others may set off “{automation}” with a secret, which no signature protects", automation=name
            )
            yield Spot(what, keys)


CHECKS = (
    AuditCheck(
        "webhooks.no_secret",
        AuditSeverity.NOTE,
        phrase("Webhooks without a secret"),
        phrase("A program that somebody else runs on this machine can do it as often as it likes."),
        phrase("Give the webhook a secret, and tell it the program that calls."),
        _no_secret,
    ),
    AuditCheck(
        "webhooks.in_clear",
        AuditSeverity.WARNING,
        phrase("Webhooks over an unencrypted network"),
        phrase("Whoever shares the network reads the secret along, and can call the webhook from then on."),
        phrase("Encrypt the hub's port, or have calls signed (signature)."),
        _in_clear,
    ),
    AuditCheck(
        "webhooks.unsigned",
        AuditSeverity.NOTE,
        phrase("Webhooks of others without a signature"),
        phrase("A call that somebody recorded can be made once more, and with other content."),
        phrase("Use signature, where the caller can sign: github, stripe, or one of your own."),
        _unsigned,
    ),
)
