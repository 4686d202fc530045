"""The schedule tool takes no settings; the key may be left empty."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
