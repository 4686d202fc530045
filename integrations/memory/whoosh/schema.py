"""Configuration: none; it is chosen with `memory.keywords`."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
