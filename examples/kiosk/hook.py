"""A hook: it is asked, or told, before or after something happens. This one counts the messages that come in.

`before_…` hooks may change what is about to happen, or refuse it: a handler returns the fields it changes, or None.
docs/hooks.md names them all.

The contract: `hub/hooks/contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from hub.hooks.contract import MessageReceived
from hub.host import IntegrationHost


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Show in a state how many messages came."""
    numbers = count(1)

    async def received(payload: MessageReceived) -> None:
        host.states.set("sensor.kiosk_messages", str(next(numbers)), context=payload.context)

    host.hooks.add("message_received", received)
