"""What follows a failed call: the rule as tables, and the acting on it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.core.errors import Unavailable
from hub.models.contract import (
    AuthError,
    BillingError,
    ContextOverflow,
    FormatError,
    ModelError,
    ModelInfo,
    ModelRequest,
    ModelTimeout,
    Overloaded,
    RateLimited,
    StopEvent,
    StopReason,
    TextDelta,
    user_message,
)
from hub.models.failover import Attempt, GiveUp, Next, RetryModel, RetryPolicy, Step, next_step, stream_with_failover
from hub.models.resolved import Resolved
from tests.models.conftest import ANSWER, Play, Player

POLICY = RetryPolicy(attempts=3, max_wait_s=10)


@pytest.mark.parametrize(
    ("error", "attempt", "others_left", "expected"),
    [
        (Overloaded("x"), 1, True, RetryModel(0.5)),
        (Overloaded("x"), 2, True, RetryModel(1.0)),
        (Overloaded("x"), 3, True, Next()),
        (Overloaded("x"), 3, False, GiveUp()),
        (ModelTimeout("x"), 1, False, RetryModel(0.5)),
        (RateLimited("x", retry_after_s=4), 1, True, RetryModel(4)),
        (RateLimited("x", retry_after_s=0.1), 1, True, RetryModel(0.5)),
        (RateLimited("x", retry_after_s=11), 1, True, Next()),
        (RateLimited("x", retry_after_s=11), 1, False, GiveUp()),
        (AuthError("x"), 1, True, Next()),
        (AuthError("x"), 1, False, GiveUp()),
        (BillingError("x"), 1, True, Next()),
        (FormatError("x"), 1, True, Next()),
        (ContextOverflow("x"), 1, True, GiveUp()),
    ],
)
def test_the_rule(error: ModelError, attempt: int, others_left: bool, expected: Step) -> None:
    assert next_step(error, attempt=attempt, others_left=others_left, policy=POLICY, jitter=1.0) == expected


@given(
    st.sampled_from([RateLimited, Overloaded, ModelTimeout, AuthError, BillingError, FormatError, ContextOverflow]),
    st.none() | st.floats(0, 1000),
    st.integers(1, 20),
    st.booleans(),
    st.floats(0, 1),
)
def test_no_wait_passes_the_bound_and_no_count_passes_the_attempts(
    kind: type[ModelError], retry_after_s: float | None, attempt: int, others_left: bool, jitter: float
) -> None:
    error = kind("x", retry_after_s=retry_after_s)

    step = next_step(error, attempt=attempt, others_left=others_left, policy=POLICY, jitter=jitter)

    again, delay_s = isinstance(step, RetryModel), step.delay_s if isinstance(step, RetryModel) else 0.0
    assert not again or attempt < POLICY.attempts
    assert not again or (retry_after_s or 0) <= delay_s
    assert delay_s <= POLICY.max_wait_s
    assert others_left or not isinstance(step, Next)


class Stage:
    """Candidates that play, and a record of waits and attempts."""

    def __init__(self, **plays: list[Play]) -> None:
        self.players = {name: Player(name, plays=list(play)) for name, play in plays.items()}
        self.waits: list[float] = []
        self.attempts: list[Attempt] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def run(self) -> list[object]:
        candidates = [Resolved(player, ModelInfo("m", name), f"{name}/m", "") for name, player in self.players.items()]
        return [
            event
            async for event in stream_with_failover(
                candidates,
                lambda candidate: ModelRequest(candidate.info.id, "", (user_message("x"),)),
                policy=POLICY,
                on_attempt=self.attempts.append,
                sleep=self.sleep,
                jitter=lambda: 1.0,
            )
        ]

    def called(self) -> list[str]:
        return [attempt.candidate.info.provider for attempt in self.attempts]


async def test_a_passing_failure_is_repeated_on_the_same_model() -> None:
    stage = Stage(one=[[Overloaded("x")], [RateLimited("x", retry_after_s=3)], ANSWER], two=[])

    assert await stage.run() == ANSWER
    assert (stage.called(), stage.waits) == (["one", "one", "one"], [0.5, 3])
    assert [type(attempt.error) for attempt in stage.attempts] == [type(None), Overloaded, RateLimited]


async def test_a_lasting_failure_goes_to_the_next_model_at_once() -> None:
    stage = Stage(one=[[AuthError("x")]], two=[ANSWER])

    assert await stage.run() == ANSWER
    assert (stage.called(), stage.waits) == (["one", "two"], [])


async def test_nothing_is_repeated_once_an_event_was_passed_on() -> None:
    stage = Stage(one=[[TextDelta("half"), Overloaded("broke")]], two=[ANSWER])

    with pytest.raises(Overloaded, match="broke"):
        await stage.run()

    assert stage.called() == ["one"]


async def test_when_all_fail_the_first_models_error_tells_of_the_others() -> None:
    stage = Stage(one=[[AuthError("one refuses")]], two=[[BillingError("two wants money")]])

    with pytest.raises(AuthError, match=r"one refuses.*two/m: two wants money") as caught:
        await stage.run()

    assert [each["code"] for each in caught.value.details["attempts"]] == ["MODEL_AUTH", "MODEL_BILLING"]


async def test_a_conversation_that_is_too_long_is_told_at_once() -> None:
    stage = Stage(one=[[ContextOverflow("too long")]], two=[ANSWER])

    with pytest.raises(ContextOverflow):
        await stage.run()

    assert stage.called() == ["one"]


async def test_no_candidate_is_said_so() -> None:
    with pytest.raises(Unavailable):
        await Stage().run()


async def test_the_stop_is_the_last_event() -> None:
    assert (await Stage(one=[]).run())[-1] == StopEvent(StopReason.END)
