"""How long a credential rests after a failure, by the numbers, over restarts and over clocks that jump."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.secret import Secret
from hub.models.contract import AuthError, BillingError, FormatError, ModelError, Overloaded, RateLimited
from hub.models.cooldowns import Cooldown, CooldownPlace, Cooldowns, Rest, cooldown_after, fingerprint
from hub.storage.database import Database
from tests.databases import make_database

HOUR = 3_600.0
PLACE = CooldownPlace("mine", "work", "m")
OTHER = CooldownPlace("mine", "work", "other")


def waits(error: ModelError, times: int) -> list[float]:
    """The cooldown of each failure when every one comes right after the cooldown before."""
    found: list[float] = []
    before: Cooldown | None = None
    now = 0.0
    for _ in range(times):
        before = cooldown_after(error, before, now, "key")
        assert before is not None
        found.append(before.wait_s)
        now = before.since + before.wait_s
    return found


def test_rate_limits_rest_longer_each_time() -> None:
    assert waits(RateLimited("x"), 5) == [60, 300, 1_500, 3_600, 3_600]


def test_billing_rests_twice_as_long_each_time_up_to_a_day() -> None:
    assert waits(BillingError("x"), 4) == [5 * HOUR, 10 * HOUR, 20 * HOUR, 24 * HOUR]


def test_a_refused_key_rests_longer_each_time_and_never_for_good() -> None:
    assert waits(AuthError("x"), 5) == [60, 300, 1_500, 3_600, 3_600]


@pytest.mark.parametrize("error", [Overloaded("x"), FormatError("x")])
def test_what_is_not_the_credentials_fault_rests_nothing(error: ModelError) -> None:
    assert cooldown_after(error, None, 0.0, "key") is None


def test_a_provider_that_asks_for_more_time_gets_it() -> None:
    assert waits(RateLimited("x", retry_after_s=600), 2) == [600, 600]


@pytest.mark.parametrize(("later", "wait_s"), [(30.0, 60), (61.0, 300), (60 + 24 * HOUR + 1, 60)])
def test_a_failure_counts_with_the_one_before_within_a_day_and_not_within_the_cooldown(
    later: float, wait_s: float
) -> None:
    first = cooldown_after(RateLimited("x"), None, 0.0, "key")

    second = cooldown_after(RateLimited("x"), first, later, "key")

    assert second is not None
    assert second.wait_s == wait_s
    assert (second is first) == (later < 60)


def test_another_key_begins_again() -> None:
    first = cooldown_after(RateLimited("x"), None, 0.0, "key")

    second = cooldown_after(RateLimited("x"), first, 61.0, "another")

    assert second is not None
    assert second.failures == 1


async def test_a_rate_limit_is_of_one_model_and_an_unpaid_bill_of_all() -> None:
    cooldowns = Cooldowns(ManualClock())

    cooldowns.record_failure(PLACE, RateLimited("x"), "key")
    assert (cooldowns.rest(PLACE, "key"), cooldowns.rest(OTHER, "key")) == (Rest(60, "rate_limit"), None)

    cooldowns.record_failure(PLACE, BillingError("x"), "key")
    assert cooldowns.rest(OTHER, "key") == cooldowns.rest(PLACE, "key") == Rest(5 * HOUR, "billing")


async def test_a_key_that_may_not_use_one_model_may_use_the_others() -> None:
    cooldowns = Cooldowns(ManualClock())

    cooldowns.record_failure(PLACE, AuthError("x", details={"status": 403}), "key")

    assert (cooldowns.rest(PLACE, "key"), cooldowns.rest(OTHER, "key")) == (Rest(60, "auth"), None)


async def test_a_changed_key_and_a_call_that_works_end_it() -> None:
    cooldowns = Cooldowns(ManualClock())
    cooldowns.record_failure(PLACE, AuthError("x"), "old")
    assert cooldowns.rest(PLACE, "new") is None

    cooldowns.record_failure(PLACE, BillingError("x"), "new")
    cooldowns.record_success(PLACE)

    assert cooldowns.rest(OTHER, "new") is None


@pytest.mark.parametrize("jump_s", [-7 * 24 * HOUR, 0.0])
async def test_a_wall_clock_set_back_prolongs_nothing(jump_s: float) -> None:
    clock = ManualClock()
    cooldowns = Cooldowns(clock)
    cooldowns.record_failure(PLACE, RateLimited("x"), "key")

    clock.jump(jump_s)
    await clock.advance(59)
    assert cooldowns.rest(PLACE, "key") == Rest(1, "rate_limit")
    await clock.advance(1)

    assert cooldowns.rest(PLACE, "key") is None


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    db = make_database(tmp_path / "hub.db")
    await db.open()
    yield db
    await db.close()


async def test_they_survive_a_restart(db: Database) -> None:
    clock = ManualClock()
    before = Cooldowns(clock, db)
    before.record_failure(PLACE, RateLimited("x"), "key")
    before.record_failure(CooldownPlace("mine", "refused"), AuthError("x"), "key")
    before.record_failure(CooldownPlace("mine", "worked"), BillingError("x"), "key")
    before.record_success(CooldownPlace("mine", "worked"))
    await clock.advance(20)
    await db.write(lambda connection: None)  # what was posted before is written by then

    after = Cooldowns(clock, db)
    await after.load()

    assert after.rest(PLACE, "key") == Rest(40, "rate_limit")
    assert after.of("mine", "refused", "key") == [{"model": "*", "reason": "auth", "failures": 1, "remaining_s": 40}]
    assert after.of("mine", "worked", "key") == []
    clock.jump(-HOUR)
    again = Cooldowns(clock, db)
    await again.load()
    assert again.rest(PLACE, "key") == Rest(60, "rate_limit")


async def test_a_key_that_an_earlier_version_let_rest_for_good_rests_a_while(db: Database) -> None:
    row = ("mine", "work", "*", "auth", 2, 0.0, None, "key")
    await db.write(lambda connection: connection.execute(f"INSERT INTO model_cooldowns VALUES ({'?,' * 7}?)", row))
    clock = ManualClock(100.0)
    cooldowns = Cooldowns(clock, db)

    await cooldowns.load()

    assert cooldowns.rest(PLACE, "key") == Rest(200, "auth")


def test_a_fingerprint_tells_keys_apart_and_shows_none() -> None:
    assert fingerprint(Secret("sk-one")) != fingerprint(Secret("sk-two"))
    assert "sk" not in fingerprint(Secret("sk-one"))
    assert fingerprint(None) == fingerprint(None, "") == ""
    assert fingerprint(Secret("sk-one"), "http://a") != fingerprint(Secret("sk-one"), "http://b")
