"""The route answers."""

from __future__ import annotations

import json
from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_route_tells_the_time_zone() -> None:
    with running_hub(INTEGRATION, {"hub": {"time_zone": "Europe/Berlin"}, "kiosk": {}}) as hub:
        told = json.loads(hub.get("/kiosk/time"))

    assert told == {"time_zone": "Europe/Berlin"}
