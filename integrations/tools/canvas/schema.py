"""The address of the canvas's pages."""

from __future__ import annotations

from hub.core.schema import All, Optional, Range, Schema, integer, url

CONFIG_SCHEMA = Schema(
    {
        Optional("port", description="Port of the canvas's own origin; four above the gateway's without it."): All(
            integer, Range(min=1, max=65_535)
        ),
        Optional("url", description="The address of that port behind a reverse proxy, as browsers reach it."): url,
    }
)
