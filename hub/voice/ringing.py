"""Rings timers that have ended: in their room until somebody stops it or puts it off, else in a chat."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import tzinfo

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import system_context
from hub.core.errors import HubError
from hub.core.events import Event, EventBus
from hub.core.plain_words import is_plain
from hub.core.services import ServiceRegistry
from hub.core.slugs import object_id
from hub.core.states import EVENT_STATE_CHANGED
from hub.core.tasks import TaskOwner
from hub.voice.chimes import Chime, chime
from hub.voice.contract import EVENT_STOPPED, Satellites, SatelliteView, Stage, TimerChange
from hub.voice.ring_words import RingAnswer, ring_answer
from hub.voice.timer import SatelliteTimer, end_text

RING_S = 120.0
"""Then it is said once more, and no longer."""
LISTENS_S = 2.5
"""How long it is listened between two rings."""
GAP_S = 0.4
"""Between two rings where it cannot be listened."""
ANNOUNCED_EVERY_S = 5.0
"""So long after an announcement on another hub's satellite it is made again."""
GRACE_S = 20
"""How long a satellite that is away, as all are at a start, is waited for before another place is looked for."""

_log = logging.getLogger(__name__)


class RingerDependencies(Struct, frozen=True):
    """What ringing needs.

    Attributes:
        services: Tell a person in a chat.
        announce: Says a text on the satellite of another hub, by its entity here, and returns when it was said.
        zone: Returns the home's time zone.
        area: Returns the name of an area.
    """

    satellites: Satellites
    services: ServiceRegistry
    bus: EventBus
    clock: Clock
    tasks: TaskOwner
    announce: Callable[[str, str], Awaitable[None]]
    zone: Callable[[], tzinfo]
    area: Callable[[str | None], str | None]


class Ringer:
    """Everything that rings now.

    Args:
        over: Called when a timer has rung, with what was said to it; a touch is a `RingAnswer()`, None is nothing.
    """

    def __init__(
        self, needs: RingerDependencies, over: Callable[[SatelliteTimer, RingAnswer | None], Awaitable[None]]
    ) -> None:
        self._needs, self._over = needs, over
        self._ringing: dict[str, _Ringing] = {}
        self._rounds: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._forget = needs.bus.listen(EVENT_STOPPED, self._on_stopped)

    def close(self) -> None:
        """Ring no more."""
        self._forget()
        for each in self._ringing.values():
            each.task.cancel()

    def is_ringing(self, timer: SatelliteTimer) -> bool:
        """Whether it rings now."""
        return timer.id in self._ringing

    def ring(self, timer: SatelliteTimer, *, is_late: bool) -> None:
        """Begin to ring.

        Args:
            timer: What has ended.
            is_late: Whether that was a while ago.
        """
        ringing = self._ringing[timer.id] = _Ringing(timer.satellite)
        ringing.task = self._needs.tasks.spawn(
            self._ring(timer, ringing, is_late=is_late), name=f"ring the timer {timer.id}"
        )

    async def silence(self, timer: SatelliteTimer) -> None:
        """Let a timer ring no more; what else goes on at the satellite goes on."""
        if (ringing := self._ringing.pop(timer.id, None)) is not None:
            ringing.task.cancel()
            await asyncio.wait([ringing.task])

    def answer(self, satellite: str, answer: RingAnswer) -> bool:
        """Take what was said at a satellite to all that rings there; return whether anything does."""
        there = [each for each in self._ringing.values() if each.satellite == satellite]
        for each in there:
            each.answer = each.answer or answer
            each.stopped.set()
        return bool(there)

    def _on_stopped(self, event: Event) -> None:
        self.answer(event.data["satellite"], RingAnswer())

    async def _ring(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> None:
        try:
            is_heard = timer.is_bridged and await self._announce(timer, ringing, is_late=is_late)
            if not is_heard and not await self._ring_in_room(timer, ringing, is_late=is_late):
                await self._tell_in_chat(timer, is_late=is_late)
        finally:
            self._ringing.pop(timer.id, None)
        await self._over(timer, ringing.answer)

    # --- on a satellite of another hub ---

    async def _announce(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> bool:
        """Announce it again and again, until somebody wakes the satellite; return whether it could be heard."""
        forget = self._needs.bus.listen(EVENT_STATE_CHANGED, self._woken, {"entity_id": timer.satellite})
        try:
            return await self._announce_rounds(timer, ringing, is_late=is_late)
        finally:
            forget()

    async def _announce_rounds(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> bool:
        parts = self._needs
        text = self.text_of(timer, is_late=is_late, is_here=True)
        began_at, is_heard = parts.clock.monotonic(), False
        while not ringing.stopped.is_set() and parts.clock.monotonic() < began_at + RING_S:
            try:
                await parts.announce(timer.satellite, text)
            except HubError as error:  # it is away, as at a start, or busy
                if not is_heard and parts.clock.monotonic() >= began_at + GRACE_S:
                    _log.warning("%s could not announce that a timer ended: %s", timer.satellite, error)
                    return False
                await self._wait(ringing, 1.0)
                continue
            is_heard = True
            await self._wait(ringing, ANNOUNCED_EVERY_S)
        return is_heard

    def _woken(self, event: Event) -> None:
        state = event.data["new_state"]
        if state is not None and state.state in (Stage.LISTENING, Stage.PROCESSING):
            self.answer(event.data["entity_id"], RingAnswer())

    # --- in a room ---

    async def _ring_in_room(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> bool:
        """Ring until somebody stops it, or for `RING_S`; return whether it could be heard anywhere."""
        try:
            return await self._ring_rounds(timer, ringing, is_late=is_late)
        finally:
            self._needs.satellites.ring(ringing.satellite, is_ringing=False)

    async def _ring_rounds(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> bool:
        parts, failed = self._needs, set[str]()
        place: str | None = None
        ends = parts.clock.monotonic() + RING_S
        while not ringing.stopped.is_set() and parts.clock.monotonic() < ends:
            view = await self._place(timer, failed)
            if view is None:
                return place is not None
            id = view.info.id
            if ringing.satellite != id:
                parts.satellites.ring(ringing.satellite, is_ringing=False)
                ringing.satellite = id
            if id == timer.satellite and not ringing.is_shown:
                ringing.is_shown = True
                await parts.satellites.show_timer(id, TimerChange.FINISHED, timer.view(parts.clock.time()))
                if view.info.rings:
                    return True
            parts.satellites.ring(id, is_ringing=True)
            try:
                async with self._rounds[id]:  # what rings there at the same time rings in turn
                    if ringing.stopped.is_set():
                        return True
                    is_played = await parts.satellites.play(id, chime(Chime.RING))
                    if ringing.stopped.is_set():
                        return True
                    if not is_played:  # something else was to be heard there
                        await self._wait(ringing, GAP_S)
                        continue
                    if place != id:
                        place = id
                        await self._say(id, timer, is_late=is_late)
                    if not ringing.stopped.is_set():
                        await self._listen(id, ringing)
            except HubError as error:
                _log.warning("%s could not ring: %s", id, error)
                failed.add(id)
        if place is not None and place not in failed and not ringing.stopped.is_set():
            await self._say(place, timer, is_late=True)
        return place is not None

    async def _listen(self, id: str, ringing: _Ringing) -> None:
        """Listen between two rings for what ends it or puts it off."""
        if id in ringing.deaf:
            await self._wait(ringing, GAP_S)
            return
        try:
            said = await self._needs.satellites.overhear(id, LISTENS_S)
        except HubError as error:
            _log.info("%s does not listen while it rings: %s", id, error)
            ringing.deaf.add(id)
            return
        if (answer := ring_answer(said)) is not None:
            self.answer(id, answer)

    async def _wait(self, ringing: _Ringing, limit_s: float) -> None:
        waiting = [asyncio.ensure_future(each) for each in (ringing.stopped.wait(), self._needs.clock.sleep(limit_s))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    async def _place(self, timer: SatelliteTimer, failed: set[str]) -> SatelliteView | None:
        """Return where it can be heard: the satellite where it was set, else another one in that room."""
        near: list[SatelliteView] = []
        for _ in range(1 if failed or timer.is_bridged or not timer.satellite else GRACE_S):
            views = [each for each in self._needs.satellites.all() if each.is_connected and each.info.id not in failed]
            own = [each for each in views if each.info.id == timer.satellite]
            near = [each for each in views if timer.area and self._needs.area(each.area_id) == timer.area]
            if own or failed:
                return next(iter(own or near), None)
            await self._needs.clock.sleep(1.0)
        return next(iter(near), None)

    async def _say(self, satellite: str, timer: SatelliteTimer, *, is_late: bool) -> None:
        text = self.text_of(timer, is_late=is_late, is_here=satellite == timer.satellite)
        try:
            await self._needs.satellites.say(satellite, text, language=timer.language)
        except HubError as error:  # it rings all the same
            _log.warning("%s could not say that a timer ended: %s", satellite, error)

    # --- elsewhere ---

    async def _tell_in_chat(self, timer: SatelliteTimer, *, is_late: bool) -> None:
        text = self.text_of(timer, is_late=is_late, is_here=False)
        key, context = f"timer-{timer.id}-{round(timer.ends_at or 0)}", system_context()
        if not is_plain(timer.name):  # anybody may have said it, and the message stays in a conversation
            context = context.tainted()
        for name in filter(None, (timer.person and object_id(timer.person), "notify")):  # the owner, where that fails
            try:
                await self._needs.services.call("notify", name, {"message": text}, context=context, idempotency_key=key)
            except HubError as error:
                _log.warning("notify.%s: %s (%s)", name, error, text)
            else:
                return

    def text_of(self, timer: SatelliteTimer, *, is_late: bool, is_here: bool) -> str:
        """Return what is said when a timer has ended; see `end_text`."""
        ended = timer.ends_at or self._needs.clock.time()
        return end_text(timer, ended, self._needs.zone(), is_late=is_late, is_here=is_here)


class _Ringing:
    """A timer that rings now.

    Attributes:
        satellite: Where.
        stopped: Set when it is to be silent.
        answer: What was said to it.
        is_shown: Whether its device was told.
        deaf: Satellites that cannot be listened to without their wake word.
    """

    task: asyncio.Task[None]

    def __init__(self, satellite: str) -> None:
        self.satellite = satellite
        self.stopped = asyncio.Event()
        self.answer: RingAnswer | None = None
        self.is_shown = False
        self.deaf: set[str] = set()
