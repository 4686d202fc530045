"""What its section of `configuration.yaml` must be.

The check of a configuration reads this file without the integration: it imports nothing relative and nothing
third-party.
"""

from __future__ import annotations

from hub.core.schema import Optional, Schema, boolean, integer, string
from hub.messaging.schema import ACCESS_KEYS

CONFIG_SCHEMA = Schema(
    {
        Optional("most_rings", default=3, description="How often its bell rings at most."): integer,
        Optional("port", description="The TCP port its channel listens on; without it there is no channel."): integer,
        Optional("account", default="default", description="A name for the login of its channel."): string,
        **ACCESS_KEYS,
        Optional("node_port", description="The TCP port its devices connect to; without it there are none."): integer,
        Optional("keeps_memory", default=False, description="Whether it keeps the memory of this home."): boolean,
    }
)
