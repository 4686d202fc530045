"""Configuration of nodes: `nodes:`."""

from __future__ import annotations

import ipaddress
from typing import Any

from hub.config.sections import Section
from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Length, Optional, Schema, boolean, ensure_list, string

_COMMANDS = All(ensure_list(All(string, Length(min=1, max=128))), Length(max=200))


def _network(value: Any) -> str:
    try:
        return str(ipaddress.ip_network(value))
    except ValueError:
        raise Invalid(phrase("expected a network such as 192.168.1.0/24")) from None


NODES_SCHEMA = Schema(
    {
        Optional("commands", default=dict, description="What nodes may be asked."): Schema(
            {
                Optional(
                    "allow", description="Beyond the list of the platform, such as camera.snap or sms.*."
                ): _COMMANDS,
                Optional("deny", description="Never, whatever else says so."): _COMMANDS,
                Optional(
                    "unasked",
                    description="What an agent may ask of nodes without your yes, unless text that others wrote is in "
                    "the conversation.",
                ): _COMMANDS,
            }
        ),
        Optional("auto_approve", default=dict, description="Nodes that are let in without asking."): Schema(
            {
                Optional("local", default=False, description="Those of this machine."): boolean,
                Optional("networks", default=list, description="Those of these networks."): All(
                    ensure_list(_network), Length(max=20)
                ),
            }
        ),
    }
)
SECTIONS = (Section("nodes", NODES_SCHEMA, default={}, description="Phones and computers that the assistant may ask."),)
