"""Colours by their names."""

from __future__ import annotations

import pytest

from hub.entities.colors import with_color
from hub.entities.domains import BEFORE


@pytest.mark.parametrize(
    ("name", "rgb"),
    [
        ("red", [255, 0, 0]),
        ("Light Sky Blue", [135, 206, 250]),
        ("homeassistant", [24, 188, 242]),
        ("rebeccapurple", None),
        ("", None),
        (5, None),
    ],
)
def test_a_colour_that_home_assistant_knows_becomes_its_numbers(name: object, rgb: list[int] | None) -> None:
    data = {"color_name": name, "brightness": 5}

    if rgb is None:
        with pytest.raises(Exception, match="no colour"):
            with_color(data)
        return
    assert with_color(data) == {"rgb_color": rgb, "brightness": 5}
    assert BEFORE["light.turn_on"](data) == BEFORE["light.toggle"](data) == {"rgb_color": rgb, "brightness": 5}
