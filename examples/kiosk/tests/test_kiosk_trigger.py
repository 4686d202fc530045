"""An automation begins with a knock at its door."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]
KNOCKED = {
    "id": "knocked",
    "triggers": [{"trigger": "kiosk_knock", "door": "front"}],
    "actions": [{"event": "somebody_is_here"}],
}


def test_a_knock_at_its_door_starts_the_automation() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}, "automation": [KNOCKED]}) as hub:
        hub.call("event.fire", {"type": "kiosk_knocked", "data": {"door": "back"}})
        hub.call("event.fire", {"type": "kiosk_knocked", "data": {"door": "front"}})
        (run,) = hub.runs("knocked")

    assert run["trigger"]["description"] == "a knock at front"
