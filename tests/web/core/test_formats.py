"""Money and sizes for people."""

from __future__ import annotations

import pytest

from web.core.formats import money, size_text


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "$0.00"), (0.00025, "$0.0003"), (0.9999, "$1.00"), (12.345, "$12.35"), (1_234.5, "$1,234.50")]
)
def test_money_is_for_people(usd: float, text: str) -> None:
    assert money(usd) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_000_000, "2.0 MB"), (3_000_000_000, "3.0 GB")]
)
def test_sizes_are_for_people(size: int, text: str) -> None:
    assert size_text(size) == text
