"""Where and when a core and a hub are asked, and the steps of a scene, as plain data for either."""

from __future__ import annotations

from typing import Any

START = 1_772_442_000.0
"""Monday, 2 March 2026, 10:00 in Berlin."""
PLACE = {"latitude": 52.52, "longitude": 13.405, "elevation": 34, "time_zone": "Europe/Berlin"}


def call(service: str, **data: Any) -> list[Any]:
    return ["call", service, data]


def ask(service: str, **data: Any) -> list[Any]:
    """A call whose answer is compared too."""
    return ["ask", service, data]


def advance(seconds: float) -> list[Any]:
    return ["advance", seconds]


def restart(seconds: float = 60) -> list[Any]:
    return ["restart", seconds]


def reload(config: dict[str, Any]) -> list[Any]:
    return ["reload", config]


def outside(entity_id: str, state: str, **attributes: Any) -> list[Any]:
    return ["set", entity_id, state, attributes]


def fire(event: str, **data: Any) -> list[Any]:
    return ["fire", event, data]


def each_of(domain: str, service: str, *data: dict[str, Any], to: str) -> list[list[Any]]:
    return [call(f"{domain}.{service}", entity_id=f"{domain}.{to}", **each) for each in data or ({},)]
