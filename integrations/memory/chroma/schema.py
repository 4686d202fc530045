"""Configuration: where Chroma keeps the vectors when `memory.vectors` is `chroma`."""

from __future__ import annotations

from hub.core.schema import Optional, Schema, secret, url

CONFIG_SCHEMA = Schema(
    {
        Optional("url", description="Address of a Chroma server; without it the store is embedded."): url,
        Optional("token", description="Bearer token of the server."): secret,
    }
)
