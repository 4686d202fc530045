"""Web chat takes no settings; the key may be left empty."""

from __future__ import annotations

from typing import Any

from hub.core.schema import Described, Invalid, Schema


def _no_settings(value: Any) -> Any:
    if value:
        raise Invalid("this is the dashboard's own chat, which takes no settings; a page for guests is webchat_page")
    return value


CONFIG_SCHEMA = Schema(Described(_no_settings, {"type": ["object", "null"], "maxProperties": 0}, "nothing"))
