"""The tools of commands take no settings here: `exec:` has them. The key may be left empty."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
