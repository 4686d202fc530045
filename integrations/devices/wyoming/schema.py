"""Configuration of the Wyoming server, and of the satellites and services that the hub connects to."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from hub.core.schema import All, Invalid, Length, Optional, Required, Schema, SchemaError, port, show, slug, string
from hub.core.slugs import slugify
from hub.gateway.calls.schema import network

LOOPBACK = "127.0.0.1"
PORT, SATELLITE_PORT = 10_500, 10_700
SERVER = frozenset({"listen", "port", "allow", "agent", "person"})
"""Keys of the server: a section with satellites or wake words alone offers nothing to others."""


def id_of(url: str) -> str:
    """Return the id of a satellite that was given none: its host, and its port if that is not the usual one."""
    place = urlsplit(url)
    name = slugify((place.hostname or "").removesuffix(".local"))
    named = name if name[:1].isalpha() else f"wyoming_{name}"
    return named if place.port in (None, SATELLITE_PORT) else f"{named}_{place.port}"


def _address(value: Any) -> str:
    try:
        return str(ipaddress.ip_address(str(string(value))))
    except ValueError:
        raise Invalid(f"expected an address such as 127.0.0.1 or 0.0.0.0, got {show(value)}") from None


def _url(value: Any) -> str:
    try:
        place = urlsplit(str(string(value)))
        is_good = place.scheme == "tcp" and bool(place.hostname) and place.port != 0 and not place.username
    except ValueError:
        is_good = False
    if not is_good or place.path not in ("", "/") or place.query:
        raise Invalid(f"expected tcp://host:port, such as tcp://192.168.1.20:{SATELLITE_PORT}, got {show(value)}")
    return str(value).rstrip("/")


def _whole(config: dict[str, Any]) -> dict[str, Any]:
    ids = Counter(each.get("id") or id_of(each["url"]) for each in config["satellites"])
    for id, count in ids.items():
        if count > 1:
            raise SchemaError(f"satellites: {count} of them have the id {id}; give each its own")
    if (config["satellites"] or config["wake"]) and not SERVER & config.keys():
        return config
    served = {"listen": LOOPBACK, "port": PORT, "allow": [], **config}
    if not ipaddress.ip_address(served["listen"]).is_loopback and not served["allow"]:
        raise SchemaError("allow is missing: the protocol has no passwords, so name the address of Home Assistant")
    return served


_NAME = All(string, Length(min=1, max=64))
CONFIG_SCHEMA = Schema(
    All(
        {
            Optional("listen", description="The address to listen on; this machine only if omitted."): _address,
            Optional("port", description=f"The port that Home Assistant connects to; {PORT} if omitted."): port,
            Optional("allow", description="Addresses or networks that may connect; this machine may."): (
                All([network], Length(max=20))
            ),
            Optional("agent", description="The agent that answers; the default agent if omitted."): slug,
            Optional(
                "person", description="Whose words it says, without an owner's rights; a stranger's if omitted."
            ): slug,
            Optional(
                "wake", default=list, description="Services that find wake words, tcp://host:port; 10400 is usual."
            ): All([_url], Length(max=10)),
            Optional("satellites", default=list, description="Satellites that the hub connects to."): All(
                [
                    {
                        Required("url", description="Where it listens, tcp://host:port."): _url,
                        Optional("id", description="Names its entity; made of its address if omitted."): slug,
                        Optional("name", description="What it is called; as it says itself if omitted."): _NAME,
                        Optional(
                            "area", description="Its room; as chosen on its page, or as it says itself, if omitted."
                        ): _NAME,
                    }
                ],
                Length(max=50),
            ),
        },
        _whole,
    )
)
