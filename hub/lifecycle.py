"""The life of a hub: start and stop of its components in order, and applying a changed configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from hub.config.store import ReloadResult
from hub.core.component import Component, apply_to, stages_of
from hub.core.errors import HubError
from hub.core.stages import Stage, Stages
from hub.foundation import Foundation

_log = logging.getLogger(__name__)

EVENT_STARTED = "hub_started"
EVENT_STOPPING = "hub_stopping"
STOP_LIMIT_S = 1.0


def _nothing(*_: object) -> None:
    """Default callback: do nothing."""


class Lifecycle:
    """Starts, changes and stops components.

    Whoever inherits sets `components`, in the order in which they start, and `opening`, which makes the last stage.

    Args:
        version: The version of the hub.
    """

    components: tuple[Component, ...] = ()
    opening: Callable[[], Stage]

    def __init__(self, base: Foundation, version: str) -> None:
        self._base = base
        self.version = version
        self._on_restart: Callable[[], None] = _nothing
        self._on_stop: Callable[[], None] = _nothing
        self._on_lost: Callable[[HubError], None] = _nothing
        self._applying = asyncio.Lock()
        self._stages = Stages([])

    @property
    def recovery(self) -> bool:
        """Whether the configuration is so broken that only its editor runs."""
        return self._base.config.current.recovery

    @property
    def time_zone(self) -> str:
        """The home's IANA time zone."""
        return str(self._base.zone())

    @property
    def language(self) -> str:
        """The home's language."""
        return self._base.language()

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that a stop would interrupt."""
        return any(each.is_busy for each in self._running())

    @property
    def due(self) -> float | None:
        """When something is due next, seconds since the epoch; None when nothing is."""
        return min((due for each in self._running() if (due := each.due) is not None), default=None)

    async def start(
        self,
        *,
        on_restart: Callable[[], None] = _nothing,
        on_stop: Callable[[], None] = _nothing,
        on_lost: Callable[[HubError], None] = _nothing,
        before_open: Sequence[Stage] = (),
    ) -> None:
        """Bring everything up, in order; the gateway answers health from the first moment on.

        Args:
            on_restart: Called when a new hub should take this one's place: the configuration is good again, or a
                service asks for it.
            on_stop: Called when a service asks for the end of the process.
            on_lost: Called with the reason when another hub has taken the home over.
            before_open: Further stages, after all components and before the gateway opens.

        Raises:
            HubError: A part could not be started; call `stop`.
        """
        self._on_restart, self._on_stop, self._on_lost = on_restart, on_stop, on_lost
        self._stages = Stages([*self.stages(), *before_open, self.opening()])
        await self._stages.start()
        self._base.bus.fire(EVENT_STARTED, {"version": self.version, "recovery": self.recovery})

    async def stop(self, *, restarting: bool = False) -> list[str]:
        """Take everything down in reverse; return the names of what did not stop in time."""
        self._base.bus.fire(EVENT_STOPPING, {"restarting": restarting})
        slow = await self._stages.stop()
        return slow + await self._base.tasks.cancel_all(timeout_s=STOP_LIMIT_S)

    async def apply(self, result: ReloadResult) -> None:
        """Put a changed configuration into force: what changed is set up again, or the hub, as `hub: reload` says."""
        if result.restarting:
            _log.info("the hub restarts for what changed: %s", ", ".join(sorted(result.changed)))
            self._on_restart()
            return
        async with self._applying:  # who finds nothing changed waits for whoever is putting the same change into force
            if result.applied and not self.recovery and result.changed:
                await apply_to(self.components, frozenset(result.changed))

    def stages(self) -> list[Stage]:
        """Return the stages of the components, in order."""
        return stages_of(self._running())

    def _running(self) -> list[Component]:
        return [each for each in self.components if each.in_recovery or not self.recovery]

    async def _reload(self) -> ReloadResult:
        result = await self._base.config.reload()
        await self.apply(result)
        return result

    def _restart(self) -> None:
        self._on_restart()

    def _end(self) -> None:
        self._on_stop()

    def _lose(self, error: HubError) -> None:
        self._on_lost(error)
