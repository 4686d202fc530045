"""Bubblewrap takes no settings of its own: agents have them, under `agents[].sandbox.bubblewrap`."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema

CONFIG_SCHEMA = Schema(AnyOf({}, None))
