"""What a companion app asks over HTTP beside signing in: whether this is a hub, its configuration, its states."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub import __version__
from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.surfaces import READ, HttpCall, Open, Route
from hub.gateway.connection.server import json_response

if TYPE_CHECKING:
    from hub.core.context import Context
    from hub.core.states import EntityState
    from hub.host import IntegrationHost

WIRE_VERSION = "2025.4.4"
"""The version of Home Assistant whose wire this is; apps choose by it what they ask."""


def api_routes(host: IntegrationHost) -> list[Route]:
    """Return the routes."""

    async def running(call: HttpCall) -> web.StreamResponse:
        return json_response({"message": "API running."})

    async def config(call: HttpCall) -> web.StreamResponse:
        return json_response(configuration(host))

    async def states(call: HttpCall) -> web.StreamResponse:
        return json_response([state_data(each) for each in host.states.machine.all()])

    async def state(call: HttpCall) -> web.StreamResponse:
        found = host.states.get(call.params["entity_id"])
        if found is None:
            raise NotFound(phrase("there is no entity {entity}", entity=call.params["entity_id"][:200]))
        return json_response(state_data(found))

    async def manifest(call: HttpCall) -> web.StreamResponse:
        """The apps look for this name before they say that a server is none of theirs."""
        return web.json_response(
            {"name": "Home Assistant", "short_name": "Homarus", "start_url": "/", "display": "standalone"}
        )

    owner = host.domain
    return [
        Route("GET", "/manifest.json", manifest, owner, scope=Open.PUBLIC),
        Route("GET", "/api/", running, owner, scope=READ),
        Route("GET", "/api/config", config, owner, scope=READ),
        Route("GET", "/api/states", states, owner, scope=READ),
        Route("GET", "/api/states/{entity_id}", state, owner, scope=READ),
    ]


def configuration(host: IntegrationHost) -> dict[str, Any]:
    """Return the home as Home Assistant describes one."""
    section = host.config.or_default("hub")
    return {
        "location_name": section["name"],
        "latitude": section.get("latitude", 0.0),
        "longitude": section.get("longitude", 0.0),
        "elevation": section.get("elevation", 0),
        "radius": 100,
        "time_zone": section["time_zone"],
        "language": host.language,
        "country": None,
        "currency": "EUR",
        "unit_system": {
            "length": "km",
            "accumulated_precipitation": "mm",
            "area": "m²",
            "mass": "g",
            "pressure": "Pa",
            "temperature": "°C",
            "volume": "L",
            "wind_speed": "m/s",
        },
        "version": WIRE_VERSION,
        "homarus_version": __version__,
        "components": [host.domain, "notify", "person", "zone"],
        "config_source": "yaml",
        "state": "RUNNING",
        "safe_mode": False,
        "recovery_mode": False,
        "internal_url": None,
        "external_url": None,
        "allowlist_external_dirs": [],
        "allowlist_external_urls": [],
        "config_dir": "",
        "whitelist_external_dirs": [],
        "debug": False,
    }


def state_data(state: EntityState) -> dict[str, Any]:
    """Return a state as Home Assistant shows one."""
    return {
        "entity_id": state.entity_id,
        "state": state.state,
        "attributes": dict(state.attributes),
        "last_changed": _time(state.last_changed),
        "last_reported": _time(state.last_updated),
        "last_updated": _time(state.last_updated),
        "context": context_data(state.context),
    }


def context_data(context: Context) -> Mapping[str, str | None]:
    """Return a context as Home Assistant shows one."""
    return {"id": context.id, "parent_id": context.parent_id, "user_id": context.authority.person}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
