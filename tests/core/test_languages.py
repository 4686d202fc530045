"""What a language says of how its people write."""

from __future__ import annotations

import pytest

from hub.config.hub_section import HUB_SCHEMA
from hub.core.languages import has_twelve_hours
from hub.core.schema import SchemaError


@pytest.mark.parametrize(
    ("time_format", "language", "expected"),
    [
        ("auto", "en-US", True),
        ("auto", "en-us", True),
        ("auto", "en", False),
        ("auto", "zh-CN", False),
        ("12h", "zh-CN", True),
        ("24h", "en-US", False),
    ],
)
def test_hours_are_counted_as_the_language_does_unless_told_otherwise(
    time_format: str, language: str, expected: bool
) -> None:
    assert has_twelve_hours(time_format, language) is expected


def test_another_format_of_times_is_refused() -> None:
    with pytest.raises(SchemaError, match="12h"):
        HUB_SCHEMA({"time_format": "13h"})
