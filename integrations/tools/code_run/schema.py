"""The tool takes no settings; where code runs is in `agents[].sandbox`."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
