"""OpenTelemetry: one trace from a message to the model, its tools and the reply, by the GenAI conventions.

Not here: metrics, which the hub itself tells Prometheus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.network.telemetry.tracing import Traces


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Trace what happens from now on."""
    traces = await asyncio.to_thread(_load, host, config)
    for event, note in traces.listeners().items():
        host.bus.listen(event, note)
    host.on_unload(traces.close)


def _load(host: IntegrationHost, config: Mapping[str, Any]) -> Traces:
    from integrations.network.telemetry.tracing import Traces, provider

    headers = {name: value.reveal() for name, value in config.get("headers", {}).items()}
    return Traces(provider(config.get("endpoint"), headers), host.redactor.redact, content=config["content"])
