"""The page is shown in both languages."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_page_is_shown_in_the_language_of_the_browser() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        english, chinese = hub.get("/kiosk"), hub.get("/kiosk", language="zh-CN")

    assert "It is 21 °C." in english
    assert "现在是 21 °C。" in chinese
