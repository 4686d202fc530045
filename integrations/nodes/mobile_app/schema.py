"""Configuration of the webhook node: there is nothing to set."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf(None, {}))
