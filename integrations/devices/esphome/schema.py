"""Configuration of ESPHome devices: `esphome:`."""

from __future__ import annotations

import base64
import binascii

from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Length, Match, Optional, Required, Schema, as_list, port, secret, string
from hub.core.secret import Secret

KEY_BYTES = 32


def _noise_key(value: Secret) -> Secret:
    try:
        is_key = len(base64.b64decode(value.reveal(), validate=True)) == KEY_BYTES
    except (binascii.Error, ValueError):
        is_key = False
    if not is_key:
        raise Invalid(phrase("expected the key under api: encryption: of the device, 44 characters that end with ="))
    return value


DEVICE = {
    Required("host", description="The device's address, such as kitchen-voice.local."): All(
        string, Length(max=255), Match(r"^[A-Za-z0-9.:_-]+$", msg="expected a host name or an address")
    ),
    Optional("port", default=6053, description="The port of its native API."): port,
    Optional(
        "encryption_key", description="The key under api: encryption: of its ESPHome configuration, if it has one."
    ): All(secret, _noise_key),
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
