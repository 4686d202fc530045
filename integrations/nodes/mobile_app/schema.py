"""Configuration of phones with Home Assistant's app, and of programs that speak its wire."""

from __future__ import annotations

from hub.core.schema import AnyOf, Optional, Schema, boolean

CONFIG_SCHEMA = Schema(
    AnyOf(
        None,
        {
            Optional(
                "relay",
                default=False,
                description="Whether the push service of the app's maker may carry notifications when it is closed.",
            ): boolean,
        },
    )
)
