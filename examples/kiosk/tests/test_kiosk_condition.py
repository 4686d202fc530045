"""An automation runs only when its sign is as it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def asks(says: str) -> dict[str, Any]:
    """Return an automation that runs when the sign says something."""
    return {
        "id": says,
        "triggers": [{"trigger": "event", "event_type": "dusk"}],
        "conditions": [{"condition": "kiosk_sign", "is": says}],
        "actions": [{"event": "seen"}],
    }


def test_an_automation_runs_when_the_sign_says_so() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}, "automation": [asks("open"), asks("unknown")]}) as hub:
        hub.call("event.fire", {"type": "dusk"})
        hub.runs("unknown")
        (left_out,) = hub.call("automation.not_run", {"id": "open"})["entries"]

    assert "the sign says unknown" in str(left_out)
