"""The service tells of a knock."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]
HEARD = {
    "id": "heard",
    "triggers": [{"trigger": "event", "event_type": "kiosk_knocked"}],
    "actions": [{"event": "somebody_is_here"}],
}


def test_a_call_tells_of_a_knock() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}, "automation": [HEARD]}) as hub:
        answered = hub.service("kiosk.knock", {"door": "front"})
        (run,) = hub.runs("heard")

    assert answered == {"door": "front"}
    assert run["trigger"]["event"]["data"] == {"door": "front"}
