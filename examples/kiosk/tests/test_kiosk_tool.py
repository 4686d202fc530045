"""The bell rings as often as it may."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_bell_rings_but_not_more_often_than_it_may() -> None:
    with running_hub(INTEGRATION, {"kiosk": {"most_rings": 2}}) as hub:
        rung = hub.service("tool.invoke", {"tool": "ring_kiosk", "arguments": {"times": 5}})

    assert rung["output"] == "The bell rang 2 times."
