"""Configuration of ESPHome devices: `esphome:`."""

from __future__ import annotations

from hub.core.schema import All, Length, Match, Optional, Required, Schema, as_list, port, secret, string

DEVICE = {
    Required("host", description="The device's address, such as kitchen-voice.local."): All(
        string, Length(max=255), Match(r"^[A-Za-z0-9.:_-]+$", msg="expected a host name or an address")
    ),
    Optional("port", default=6053, description="The port of its native API."): port,
    Optional(
        "encryption_key", description="The key under api: encryption: of its ESPHome configuration, if it has one."
    ): secret,
    Optional(
        "name",
        description="The name under esphome: name: of its ESPHome configuration; a device of another name is refused.",
    ): All(string, Length(min=1, max=63)),
    Optional("mac", description="Its hardware address; another device that answers there is refused."): All(
        string, Match(r"^([0-9A-Fa-f]{2}[:-]?){5}[0-9A-Fa-f]{2}$", msg="expected an address such as 02:00:00:aa:bb:cc")
    ),
    Optional("area", description="Its area when it is first seen."): All(string, Length(min=1, max=128)),
}
CONFIG_SCHEMA = Schema(All(as_list, [DEVICE], Length(max=100)))
