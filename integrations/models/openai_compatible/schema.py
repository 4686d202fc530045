"""Configuration of the integration itself: none; servers are configured under `models.providers`."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
