"""Configuration of the network access of the hub: `network:`."""

from __future__ import annotations

import re
from typing import Any

from hub.core.schema import All, Described, Invalid, Length, Optional, Schema, ensure_list, show

ALLOW_PRIVATE_LIMIT = 200

_TARGET = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/@?#\[\]]+):(?P<port>[0-9]{1,5})")


def _target(value: Any) -> str:
    """Accept `host:port`; return it in lower case."""
    match = _TARGET.fullmatch(value) if isinstance(value, str) else None
    if match is None or not 1 <= int(match["port"]) <= 65535:
        raise Invalid(f"expected host:port, such as printer.lan:80 or 192.168.1.20:8080, got {show(value)}")
    if "*" in value:
        raise Invalid("each host is named in full; there are no wildcards here")
    return f"{match['host'].lower()}:{int(match['port'])}"


target = Described(_target, {"type": "string", "pattern": "^[^ /@?#*]+:[0-9]{1,5}$"}, "host:port")

NETWORK_SCHEMA = Schema(
    {
        Optional(
            "allow_private",
            default=list,
            description="Private targets that pages, feeds, blueprints and models may have fetched, each as host:port.",
        ): All(ensure_list(target), Length(max=ALLOW_PRIVATE_LIMIT)),
    }
)
