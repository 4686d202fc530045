"""A gateway method: programs call it over WebSocket and HTTP, and `homarus call kiosk.greet` does.

Its scope says who may call it; it is an administrator's when none is given. One with effects says `acts=True`. Events
for WebSocket clients are added with `host.events.add(type, translate)`.

The contract: `hub/core/surfaces.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import Required, Schema, string
from hub.core.surfaces import READ, Method, MethodCall
from hub.host import IntegrationHost


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Serve the method `kiosk.greet`."""

    async def greet(call: MethodCall) -> Mapping[str, Any]:
        return {"text": f"Hello, {call.params['name']}!"}

    schema = Schema({Required("name", description="Who is greeted."): string})
    host.methods.add(Method("kiosk.greet", greet, host.domain, schema, READ))
