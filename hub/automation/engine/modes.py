"""Run modes: how a firing is handled while earlier runs of the automation or script are active."""

from __future__ import annotations

from enum import StrEnum

from hub.automation.contract import Mode
from hub.core.phrases import phrase


class ModeDecision(StrEnum):
    """What to do with a firing."""

    START = "start"
    QUEUE = "queue"
    """It waits until those before it have ended, in order."""
    RESTART = "restart"
    """Those that run are ended, then it starts."""
    REFUSE = "refuse"


def decide(mode: Mode | str, maximum: int, running: int, queued: int = 0) -> ModeDecision:
    """Return what to do with a new firing.

    Args:
        mode: The mode of the automation.
        maximum: How many may run or wait together, in the modes queued and parallel.
        running: How many run.
        queued: How many wait.
    """
    if not running and not queued:
        return ModeDecision.START
    match mode:
        case Mode.RESTART:
            return ModeDecision.RESTART
        case Mode.QUEUED:
            return ModeDecision.QUEUE if running + queued < maximum else ModeDecision.REFUSE
        case Mode.PARALLEL:
            return ModeDecision.START if running < maximum else ModeDecision.REFUSE
        case _:
            return ModeDecision.REFUSE


def refusal(mode: Mode | str, maximum: int) -> str:
    """Return the reason for a refused firing, for people."""
    if mode == Mode.QUEUED:
        return phrase("{count} of its runs are already running or waiting (mode queued)", count=maximum)
    if mode == Mode.PARALLEL:
        return phrase("{count} of its runs are already running (mode parallel)", count=maximum)
    return phrase("it is already running (mode single)")
