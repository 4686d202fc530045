"""Answers of `/v1`: one JSON object, an error, or a stream of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.agent.run_request import RunResult, RunStatus
from hub.core.errors import HubError
from hub.gateway.calls.contract import HttpCall
from hub.gateway.http_api.openai_shapes import RunFailed, show_error

KEEPALIVE = b": keep-alive\n\n"


def answered(data: Mapping[str, Any]) -> web.Response:
    """Return the answer to a run that went well."""
    return web.Response(body=orjson.dumps(data), content_type="application/json", headers=_no_store())


def failure(result: RunResult) -> RunFailed | None:
    """Return why a run has no answer, or None; what was said until it was stopped is one."""
    if result.status in (RunStatus.OK, RunStatus.ABORTED):
        return None
    return RunFailed(result.error, result.status)


def failed(error: HubError) -> web.Response:
    """Return the answer to a run that failed; clients are asked not to repeat by themselves what may have acted."""
    return web.Response(
        body=orjson.dumps(show_error(error)),
        status=error.http_status,
        content_type="application/json",
        headers=_no_store() | {"x-should-retry": "false"},
    )


async def open_stream(call: HttpCall) -> web.StreamResponse:
    """Begin an answer of server-sent events."""
    headers = _no_store() | {"X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
    response = web.StreamResponse(headers=headers)
    response.content_type = "text/event-stream"
    response.charset = "utf-8"
    await response.prepare(call.request)
    return response


def _no_store() -> dict[str, str]:
    return {"Cache-Control": "no-store", "Server": "homarus"}
