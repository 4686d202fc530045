"""A model provider: answers for agents. This one repeats what it hears.

In `configuration.yaml`: `models: {default: mine/one, providers: {mine: {api: kiosk}}}`; the manifest names the API in
`model_apis`. Failures are the typed errors of the contract (`AuthError`, `RateLimited`, …): they decide about retry and
failover.

The contract: `hub/models/contract.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from hub.host import IntegrationHost
from hub.models.contract import ModelEvent, ModelInfo, ModelRequest, StopEvent, StopReason, TextDelta


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Serve the providers whose `api:` is this one."""
    host.models.add("kiosk", lambda name, provider: Echo(name))


class Echo:
    """Repeats the last message."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece."""
        yield TextDelta(f"You said: {request.messages[-1].text}")
        yield StopEvent(StopReason.END)

    async def models(self) -> list[ModelInfo]:
        """Return its models."""
        return [ModelInfo("one", self.name)]

    async def close(self) -> None:
        """Close its connections; it has none."""
