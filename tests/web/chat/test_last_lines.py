"""The line that is shown of a conversation in the list."""

from __future__ import annotations

import pytest

from web.chat.last_lines import in_a_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Done.\n\n```python\nprint(1)\n```\n", "Done. print(1)"),
        ("# Use\n\n| month | kWh |\n| --- | ---: |\n| July | 212 |", "Use month kWh July 212"),
        ("It is **off**, see `light.hall`", "It is off, see light.hall"),
        ("- eggs\n- milk, 1-2 l", "- eggs - milk, 1-2 l"),
    ],
)
def test_it_has_the_words_without_the_marks(text: str, line: str) -> None:
    assert in_a_line(text) == line
