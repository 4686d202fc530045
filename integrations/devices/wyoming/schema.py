"""Configuration of the Wyoming server."""

from __future__ import annotations

import ipaddress
from typing import Any

from hub.core.schema import All, Invalid, Length, Optional, Schema, SchemaError, port, show, slug, string
from hub.gateway.calls.schema import network

LOOPBACK = "127.0.0.1"


def _address(value: Any) -> str:
    try:
        return str(ipaddress.ip_address(str(string(value))))
    except ValueError:
        raise Invalid(f"expected an address such as 127.0.0.1 or 0.0.0.0, got {show(value)}") from None


def _whole(config: dict[str, Any]) -> dict[str, Any]:
    if not ipaddress.ip_address(config["listen"]).is_loopback and not config["allow"]:
        raise SchemaError("allow is missing: the protocol has no passwords, so name the address of Home Assistant")
    return config


CONFIG_SCHEMA = Schema(
    All(
        {
            Optional("listen", default=LOOPBACK, description="The address to listen on; this machine only."): _address,
            Optional("port", default=10_500, description="The port that Home Assistant connects to."): port,
            Optional("allow", default=list, description="Addresses or networks that may connect; this machine may."): (
                All([network], Length(max=20))
            ),
            Optional("agent", description="The agent that answers; the default agent if omitted."): slug,
            Optional(
                "person", description="Whose words it says, without an owner's rights; a stranger's if omitted."
            ): slug,
        },
        _whole,
    )
)
