"""Configuration of `web_fetch`: how much of a page is read and shown, and how long it is cached."""

from __future__ import annotations

from hub.core.schema import All, Optional, Range, Schema, integer, positive_seconds

LENGTH_DEFAULT = 50_000
LENGTH_LIMIT = 200_000
TEXT_BYTES = 2_000_000
BODY_LIMIT_BYTES = 10_000_000

CONFIG_SCHEMA = Schema(
    {
        Optional(
            "length",
            default=LENGTH_DEFAULT,
            description="Characters of a page shown at once, when the agent names none.",
        ): All(integer, Range(min=1_000, max=LENGTH_LIMIT)),
        Optional(
            "text_bytes", default=TEXT_BYTES, description="Bytes of a text that are read; the rest is left out."
        ): All(integer, Range(min=10_000, max=BODY_LIMIT_BYTES)),
        Optional("timeout", default=30, description="Time for one page, with its redirects."): All(
            positive_seconds, Range(max=120)
        ),
        Optional("keep", default=900, description="How long a page that was read is kept; 0 keeps none."): All(
            integer, Range(min=0, max=86_400)
        ),
    }
)
