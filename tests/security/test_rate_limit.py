"""Rate limits: ten failures in a minute lock an address for five, and no clock or crowd gets around it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.core.clock import ManualClock
from hub.security.rate_limit import (
    CLIENT_LIMIT,
    AttemptLimiter,
    TooManyAttempts,
    client_key,
)


def fail(limiter: AttemptLimiter, client: str, times: int) -> int:
    """Try so often with a wrong credential; return how often the limiter let it."""
    let = 0
    for _ in range(times):
        try:
            limiter.reserve(client)
        except TooManyAttempts:
            continue
        let += 1
    return let


def test_ten_failures_lock_a_client(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)

    assert fail(limiter, "192.0.2.1", 30) == 10

    with pytest.raises(TooManyAttempts) as refused:
        limiter.reserve("192.0.2.1")
    assert refused.value.retry_after_s == 300
    assert limiter.locked_clients() == ["192.0.2.1"]
    assert fail(limiter, "192.0.2.2", 1) == 1


async def test_a_lock_ends_after_five_minutes(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)
    fail(limiter, "192.0.2.1", 11)

    await clock.advance(299.9)
    assert fail(limiter, "192.0.2.1", 1) == 0
    await clock.advance(0.1)

    assert fail(limiter, "192.0.2.1", 20) == 10


async def test_slow_failures_lock_nobody(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)

    for _ in range(50):
        assert fail(limiter, "192.0.2.1", 1) == 1
        await clock.advance(7)


def test_successes_lock_nobody(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)

    for _ in range(500):
        limiter.reserve("192.0.2.1")
        limiter.succeed("192.0.2.1")

    assert limiter.locked_clients() == []


def test_a_success_forgives_no_failure(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)
    fail(limiter, "192.0.2.1", 9)
    limiter.reserve("192.0.2.1")
    limiter.succeed("192.0.2.1")

    assert fail(limiter, "192.0.2.1", 5) == 1


def test_many_at_once_get_no_further_than_one_by_one(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)

    assert fail(limiter, "192.0.2.1", 1000) == 10


async def test_the_wall_clock_neither_ends_nor_prolongs_a_lock(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)
    fail(limiter, "192.0.2.1", 11)

    clock.jump(3600)
    assert fail(limiter, "192.0.2.1", 1) == 0
    clock.jump(-86_400)
    await clock.advance(300)

    assert fail(limiter, "192.0.2.1", 1) == 1


def test_looking_counts_nothing(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)
    for _ in range(100):
        limiter.check("192.0.2.1")
    fail(limiter, "192.0.2.1", 11)

    with pytest.raises(TooManyAttempts):
        limiter.check("192.0.2.1")


def test_a_neighbour_in_the_same_ipv6_network_is_the_same_client(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)

    let = sum(fail(limiter, f"2001:db8:1:2::{number:x}", 1) for number in range(1, 40))

    assert let == 10
    assert fail(limiter, "2001:db8:1:3::1", 1) == 1


def test_the_table_has_a_bound_and_keeps_those_that_are_locked(clock: ManualClock) -> None:
    limiter = AttemptLimiter(clock)
    fail(limiter, "192.0.2.1", 11)

    for number in range(CLIENT_LIMIT + 50):
        fail(limiter, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 1)

    assert fail(limiter, "192.0.2.1", 1) == 0
    assert len(limiter._records) <= CLIENT_LIMIT


@pytest.mark.parametrize(
    ("client", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("browser:192.0.2.1", "browser:192.0.2.1"),
        ("browser:2001:db8:1:2:3:4:5:6", "browser:2001:db8:1:2::/64"),
        ("", ""),
        ("a name", "a name"),
    ],
)
def test_clients_are_counted_by_network(client: str, key: str) -> None:
    assert client_key(client) == key


@given(st.text(max_size=300))
def test_any_client_has_a_bounded_key(client: str) -> None:
    assert len(client_key(client)) <= 160
