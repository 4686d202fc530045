"""When one may come back, in all the ways servers say it."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given, strategies as st

from hub.models.retry_after import LIMIT_S, retry_after_s

NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"Retry-After": "7"}, "", 7),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, "", 30),
        ({"retry-after": "Wed, 18 Nov 2020 08:53:50 GMT"}, "", 0),
        ({"retry-after": "-5"}, "", 0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"x-ratelimit-reset": str(int(NOW) + 20)}, "", 20),
        ({"x-ratelimit-reset": str(int(NOW * 1000) + 20_000)}, "", 20),
        ({"x-ratelimit-reset": "12"}, "", 12),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, "", 360),
        ({"x-ratelimit-reset-tokens": "250ms"}, "", 0.25),
        ({}, "Rate limit reached. Please try again in 1.2s.", 1.2),
        ({}, "Please try again in 20ms", 0.02),
        ({}, "try again in 7m12.5s", 432.5),
        ({}, '"retryDelay": "34s"', 34),
        ({}, "Please retry after 2 minutes", 120),
        ({}, "no idea", None),
        ({"retry-after": "99999999"}, "", LIMIT_S),
    ],
)
def test_it_is_read(headers: dict[str, str], body: str, expected: float | None) -> None:
    assert retry_after_s(headers, body, NOW) == (pytest.approx(expected) if expected is not None else None)


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset", "X-RateLimit-Reset-Tokens"]),
        st.text(max_size=40) | st.floats().map(str) | st.integers().map(str),
    ),
    st.text(max_size=100),
)
def test_nonsense_never_fails_and_never_waits_beyond_a_day(headers: dict[str, str], body: str) -> None:
    waits = retry_after_s(headers, body, NOW)

    assert waits is None or 0 <= waits <= LIMIT_S
