"""An OpenTelemetry collector: takes OTLP over HTTP, and decodes it with the protocol's own library."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class OtlpCollector:
    """Keeps the spans that it was sent.

    Attributes:
        spans: All spans.
        headers: Of each request, by names in lower case.
        resource: Attributes of the last sender.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.headers: list[dict[str, str]] = []
        self.resource: dict[str, str] = {}
        self.url = ""

    async def __aenter__(self) -> OtlpCollector:
        app = web.Application()
        app.router.add_post("/v1/traces", self._export)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _export(self, request: web.Request) -> web.Response:
        if request.content_type != "application/x-protobuf":
            return web.Response(status=415)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        for each in ExportTraceServiceRequest.FromString(await request.read()).resource_spans:
            self.resource = {pair.key: pair.value.string_value for pair in each.resource.attributes}
            self.spans += [span for scope in each.scope_spans for span in scope.spans]
        return web.Response(
            body=ExportTraceServiceResponse().SerializeToString(), content_type="application/x-protobuf"
        )


def attributes(span: Span) -> dict[str, Any]:
    """Return the attributes of a span."""
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in span.attributes}
