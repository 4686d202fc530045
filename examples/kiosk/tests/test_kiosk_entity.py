"""The light is switched."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_light_is_switched_on() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        before = hub.call("state.get", {"entity_id": "light.kiosk_screen"})["state"]
        hub.call("service.call", {"service": "light.turn_on", "data": {"entity_id": "light.kiosk_screen"}})
        after = hub.call("state.get", {"entity_id": "light.kiosk_screen"})["state"]

    assert (before, after) == ("off", "on")
