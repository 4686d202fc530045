"""Configuration of traces: `telemetry: {endpoint: http://127.0.0.1:4318}`, or the OTEL_* variables."""

from __future__ import annotations

from hub.core.schema import Match, Optional, Schema, boolean, secret, url

_header = Match(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$", msg="expected the name of a header")

CONFIG_SCHEMA = Schema(
    {
        Optional(
            "endpoint", description="The collector's address for OTLP over HTTP; without it, what OTEL_* variables say"
        ): url,
        Optional("headers", description="Headers sent to it, such as Authorization"): {_header: secret},
        Optional(
            "content", default=False, description="Whether the words of messages and answers are in the traces"
        ): boolean,
    }
)
