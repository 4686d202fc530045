"""The command greets."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_command_greets() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        said = hub.homarus("kiosk", "Ada")

    assert said == "Hello, Ada!\n"
