"""A service: automations, scripts and `homarus service call` use it. This one tells of a knock at a door.

`agent=` says whether a model may call it: `AgentRule.NEVER` (the default), `ASK` or `ALLOW`. With
`ResponseMode.OPTIONAL` it returns data to whoever wants them.

The contract: `hub/core/services.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import Required, Schema, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from hub.host import IntegrationHost


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Add the service `kiosk.knock`."""

    async def knock(call: ServiceCall) -> Mapping[str, Any]:
        door = call.data["door"]
        host.bus.fire("kiosk_knocked", {"door": door}, call.context)
        return {"door": door}

    schema = Schema({Required("door", description="Which door."): string})
    host.services.register("knock", knock, schema, ResponseMode.OPTIONAL, AgentRule.ALLOW)
