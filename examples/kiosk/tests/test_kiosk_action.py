"""An automation turns the sign."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]
DUSK = {
    "id": "dusk",
    "triggers": [{"trigger": "event", "event_type": "dusk"}],
    "actions": [{"kiosk_sign": "closed"}],
}


def test_an_automation_turns_the_sign() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}, "automation": [DUSK]}) as hub:
        hub.call("event.fire", {"type": "dusk"})
        hub.runs("dusk")
        sign = hub.call("state.get", {"entity_id": "sensor.kiosk_sign"})

    assert sign["state"] == "closed"
