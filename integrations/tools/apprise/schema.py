"""Configuration of Apprise: names for the places that Apprise sends to."""

from __future__ import annotations

from hub.core.schema import All, Length, Optional, Range, Required, Schema, ensure_list, positive_seconds, secret, slug

CONFIG_SCHEMA = Schema(
    {
        Required("targets", description="By name: the Apprise URL of a place, or a list of them."): All(
            {slug: All(ensure_list(secret), Length(min=1, max=20))}, Length(min=1, max=50)
        ),
        Optional("timeout", default=30, description="Time for one notification."): All(
            positive_seconds, Range(max=120)
        ),
    }
)
