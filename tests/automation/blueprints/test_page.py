"""The page about blueprints says what there is."""

from __future__ import annotations

import re
from pathlib import Path

from hub.automation.blueprints.selectors import KINDS
from tests.automation.blueprints.conftest import Shelf

PAGE = Path(__file__).parents[3] / "docs" / "blueprints.md"


def section(title: str) -> str:
    return PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def named_first(text: str) -> set[str]:
    """The first column of a table."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_it_names_every_selector() -> None:
    assert named_first(section("Selectors")) == set(KINDS)


def test_it_names_every_bundled_blueprint(shelf: Shelf) -> None:
    bundled = {each["path"] for each in shelf.blueprints.list() if each["bundled"]}

    assert named_first(section("Those that come with the program")) == bundled


def test_its_example_is_a_blueprint_that_works(shelf: Shelf) -> None:
    text = section("Writing one").partition("```yaml\n")[2].partition("```")[0]
    shelf.write(text, "me/laundry.yaml")

    made = shelf.expand({"power": "sensor.washing_machine"}, "me/laundry.yaml")

    assert made["triggers"][0]["for"] == 180.0
