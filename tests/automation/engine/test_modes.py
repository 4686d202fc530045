"""Run modes: the outcome of a firing while earlier runs have not ended."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.automation.contract import Mode
from hub.automation.engine.modes import ModeDecision, decide, refusal

modes = st.sampled_from(list(Mode))
limits = st.integers(1, 12)


@pytest.mark.parametrize("mode", list(Mode))
def test_the_first_starts_in_any_mode(mode: Mode) -> None:
    assert decide(mode, 1, 0) is ModeDecision.START


@pytest.mark.parametrize(
    ("mode", "running", "queued", "decision"),
    [
        (Mode.SINGLE, 1, 0, ModeDecision.REFUSE),
        (Mode.RESTART, 1, 0, ModeDecision.RESTART),
        (Mode.QUEUED, 1, 0, ModeDecision.QUEUE),
        (Mode.QUEUED, 1, 1, ModeDecision.QUEUE),
        (Mode.QUEUED, 1, 2, ModeDecision.REFUSE),
        (Mode.PARALLEL, 2, 0, ModeDecision.START),
        (Mode.PARALLEL, 3, 0, ModeDecision.REFUSE),
    ],
)
def test_a_further_one_is_decided_by_the_mode(mode: Mode, running: int, queued: int, decision: ModeDecision) -> None:
    assert decide(mode, 3, running, queued) is decision


@given(modes, limits, st.lists(st.booleans(), max_size=60))
def test_no_history_of_firings_and_endings_breaks_a_mode(mode: Mode, maximum: int, history: list[bool]) -> None:
    running = queued = 0
    fired = started = refused = replaced = 0

    for is_firing in history:
        if not is_firing:
            running = max(0, running - 1)
            if queued and not running:
                queued, running, started = queued - 1, 1, started + 1
            continue
        fired += 1
        match decide(mode, maximum, running, queued):
            case ModeDecision.START:
                running, started = running + 1, started + 1
            case ModeDecision.QUEUE:
                queued += 1
            case ModeDecision.RESTART:
                replaced, running, started = replaced + running, 1, started + 1
            case ModeDecision.REFUSE:
                refused += 1

        assert running <= (maximum if mode is Mode.PARALLEL else 1)
        assert running + queued <= (1 if mode in (Mode.SINGLE, Mode.RESTART) else maximum)

    assert fired == started + queued + refused
    assert not (refused and mode is Mode.RESTART)
    assert not (replaced and mode is not Mode.RESTART)


@pytest.mark.parametrize(
    ("mode", "text"), [("single", "it is already running"), ("queued", "5 of its runs"), ("parallel", "5 of its runs")]
)
def test_a_refusal_says_why(mode: str, text: str) -> None:
    assert text in refusal(mode, 5)
