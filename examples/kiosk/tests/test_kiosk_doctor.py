"""The doctor looks for paper."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_doctor_misses_the_paper_until_it_is_there() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        before = hub.homarus("doctor", "--json")
        (hub.home / "paper.txt").write_text("enough")
        after = hub.homarus("doctor", "--json")

    assert "The paper has not been checked." in before
    assert "The paper has not been checked." not in after
