"""`/healthz` and `/readyz`: whether the hub is up, for supervisors; they reveal nothing else."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from hub.core.surfaces import HttpCall, Open, Route

PATHS = ("/healthz", "/readyz")
_BODIES = {
    "starting": (b'{"status":"starting"}', 503),
    "stopping": (b'{"status":"stopping"}', 503),
    "running": (b'{"status":"ok"}', 200),
    "recovery": (b'{"status":"recovery"}', 200),
}


def health_routes(state: Callable[[], str]) -> list[Route]:
    """Return the routes.

    Args:
        state: starting, running, recovery or stopping.
    """

    async def answer(call: HttpCall) -> web.StreamResponse:
        body, status = _BODIES[state()]
        return web.Response(
            body=body, status=status, content_type="application/json", headers={"Cache-Control": "no-store"}
        )

    return [Route("GET", path, answer, "gateway", scope=Open.PUBLIC, body_limit=0) for path in PATHS]
