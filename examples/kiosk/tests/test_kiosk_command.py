"""The slash command is answered without a model."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_command_is_answered() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        answered = hub.homarus("chat", "/kiosk Ada")

    assert "Kiosk says hello to Ada." in answered
