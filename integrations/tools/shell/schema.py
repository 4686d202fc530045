"""The tools of commands take no settings here: what may run is said in `exec:`. The key may be left empty."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
