from __future__ import annotations

import pytest

from integrations.models.offline.quantities import is_quantity, value_of


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("50%", "50%"),
        ("fifty percent", "50%"),
        ("twenty-one degrees", "21°"),
        ("twenty point five degrees", "20.5°"),
        ("2700 kelvin", "2700K"),
        ("百分之五十", "50%"),
        ("二十二度", "22°"),
        ("half", "50%"),
        ("最亮", "100%"),
        ("warm white", "warm white"),
        ("粉红色", "粉红色"),
        ("21", "21"),
    ],
)
def test_a_quantity_is_read(said: str, value: str) -> None:
    assert is_quantity(said)
    assert value_of(said) == value


@pytest.mark.parametrize("said", ["the meeting", "50 people", "第二天", "red wine", ""])
def test_other_words_are_no_quantity(said: str) -> None:
    assert not is_quantity(said)
