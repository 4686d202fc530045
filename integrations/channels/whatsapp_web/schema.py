"""Configuration of WhatsApp Web: a list of numbers to which the hub is linked."""

from __future__ import annotations

from hub.core.schema import Described, In, Invalid, Optional, Required, Schema, boolean, ensure_list, show, string
from hub.messaging.access.access import DmPolicy
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS


def _accepted(value: object) -> bool:
    if boolean(value):
        return True
    raise Invalid(f"expected true, once you have read of the risk in docs/channels/whatsapp_web.md, got {show(value)}")


CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name for this number."): string,
            Required(
                "accept_risk",
                description="That you know the risk: the client is unofficial, and Meta may ban the number.",
            ): Described(_accepted, {"type": "boolean", "const": True}, "true"),
            Optional(
                "read_receipts", default=True, description="Whether what the assistant answers is marked as read."
            ): boolean,
            Optional(
                "dm_policy",
                default=DmPolicy.ALLOWLIST.value,
                description="As elsewhere, but allowlist by itself: on a number of yours, everybody who writes to you "
                "would get a code with pairing.",
            ): In([each.value for each in DmPolicy]),
            **ACCESS_KEYS,  # a key that stands above keeps its own default
            **OUTBOUND_KEYS,
        }
    )
)
