"""Staged start and stop: named steps in order, each with a time limit, so that slow ones can be named."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from hub.core.errors import TimedOut

_log = logging.getLogger(__name__)

SLOW_FRACTION = 0.5

Step = Callable[[], Awaitable[None]]


class Stage(Struct, frozen=True):
    """One step of the start and its counterpart at stop.

    Attributes:
        name: Shown when it is slow.
        start: Brings it up; None when there is nothing to do.
        stop: Takes it down; None when there is nothing to do.
        start_limit_s: Seconds after which the start fails.
        stop_limit_s: Seconds after which the stop continues without it.
    """

    name: str
    start: Step | None = None
    stop: Step | None = None
    start_limit_s: float = 30.0
    stop_limit_s: float = 5.0


class Stages:
    """Runs stages in order and stops the started ones in reverse."""

    def __init__(self, stages: list[Stage]) -> None:
        self._stages = stages
        self._up: list[Stage] = []
        self.durations_s: dict[str, float] = {}

    async def start(self) -> None:
        """Start every stage in order.

        Raises:
            TimedOut: A stage took longer than its limit; its name is in the message.

        When one fails or the start is cancelled, those that were up stay up until `stop` is called.
        """
        loop = asyncio.get_running_loop()
        for stage in self._stages:
            begun = loop.time()
            self._up.append(stage)
            if stage.start is not None:
                try:
                    async with asyncio.timeout(stage.start_limit_s):
                        await stage.start()
                except TimeoutError as error:
                    raise TimedOut(f"{stage.name} did not start within {stage.start_limit_s:g} s") from error
                except Exception:  # passed on; the log says whose it is
                    _log.error("%s failed to start", stage.name)
                    raise
            took = self.durations_s[stage.name] = loop.time() - begun
            if took > stage.start_limit_s * SLOW_FRACTION:
                _log.warning("%s was slow to start: %.1f s", stage.name, took)

    async def stop(self) -> list[str]:
        """Stop in reverse order; a failing or slow stage does not keep the others from stopping.

        Returns:
            The names of the stages that failed or did not stop in time.
        """
        bad: list[str] = []
        while self._up:
            stage = self._up.pop()
            if stage.stop is None:
                continue
            try:
                async with asyncio.timeout(stage.stop_limit_s):
                    await stage.stop()
            except TimeoutError:
                bad.append(stage.name)
                _log.warning("%s did not stop within %.1f s; going on without it", stage.name, stage.stop_limit_s)
            except Exception:  # the stages below it must still be stopped
                bad.append(stage.name)
                _log.exception("%s failed to stop", stage.name)
        return bad
