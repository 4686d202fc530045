"""Configuration of phones in the browser."""

from __future__ import annotations

from hub.core.schema import All, AnyOf, Match, Optional, Schema, string

CONTACT = "mailto:owner@homarus.invalid"
CONFIG_SCHEMA = Schema(
    AnyOf(
        None,
        {
            Optional(
                "contact",
                default=CONTACT,
                description="Whom a push service may write to when something is wrong; Apple's wants a real one.",
            ): All(
                string, Match(r"^(mailto:[^@\s]+@[^@\s]+|https://\S+)$", msg="expected mailto:ADDRESS or https://…")
            ),
        },
    )
)
