"""Times as commands print them."""

from __future__ import annotations

from datetime import datetime

import pytest

from hub.cli.times import DAY, SECOND, local_time


@pytest.mark.parametrize(
    ("form", "shown"), [(None, "2026-03-01 07:08"), (SECOND, "2026-03-01 07:08:09"), (DAY, "2026-03-01")]
)
def test_a_time_is_shown_in_the_zone_of_the_terminal(form: str | None, shown: str) -> None:
    ms = datetime(2026, 3, 1, 7, 8, 9).astimezone().timestamp() * 1000

    assert (local_time(ms, form) if form else local_time(ms)) == shown


def test_no_time_is_shown_as_nothing() -> None:
    assert local_time(None) == ""
