"""The hook counts messages."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub, until

INTEGRATION = Path(__file__).parents[1]


def test_messages_are_counted() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        hub.homarus("chat", "hello")

        def count() -> list[str]:
            states = hub.call("state.list")["states"]
            return [each["state"] for each in states if each["entity_id"] == "sensor.kiosk_messages"]

        until(lambda: count() == ["1"])
