"""The past of the demo home: a fortnight that the hub lives through by itself, on a clock that is moved.

Nothing is written into a store by hand: people write, models answer, automations run, and owners decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hub.core.context import SCOPES, Authority, Context
from hub.core.events import Event
from hub.core.ids import new_id
from hub.core.surfaces import Caller
from integrations.devices.demo.channel import CHANNEL, message
from integrations.devices.demo.past_clock import PastClock
from integrations.devices.demo.story import Fact, Reminder, Story, Talk

if TYPE_CHECKING:
    from hub.host import HubParts

DAYS = 14
STEP_S = 1_800
NEAR_S, NEAR_STEP_S = 36 * 3_600, 600
"""The last day and a half is lived in smaller steps: its charts are looked at."""
DELAY_MARGIN_S, DELAY_LOOK_S, DELAY_LOOKS = 0.1, 3.0, 3
"""How long an automation takes until it comes to its delay; after which time, and how often, it is looked at again."""
THINKS_S = 12.0
"""How long the owner thinks about an approval."""
READS_S = 40.0
"""How long somebody reads an answer before they write again."""
UNREAD_DAYS = 0
"""Answers that are older were read."""
LOOK_S, AUTOMATION_LOOKS = 0.002, 8
"""How often and how long automations that began are looked after; those with a delay do not end by then."""


class Past:
    """Lives through it.

    Args:
        hub: The hub, which runs on `clock`.
        clock: Begins when the past does.
        story: The events.
    """

    def __init__(self, hub: HubParts, clock: PastClock, story: Story) -> None:
        self._hub = hub
        self._clock = clock
        self._story = story
        self._zone = str(hub.config.current.or_default("hub")["time_zone"])
        self._runs: set[str] = set()
        self._ended: set[str] = set()
        self._triggered: set[str] = set()
        self._delayed: list[tuple[float, int, str]] = []
        self._verdict = ""
        self._is_asked = False
        self._sent = 0
        self._deciding: set[asyncio.Task[None]] = set()
        self._owner = Authority("owner", person=story.people[0].id, scopes=SCOPES, owner=True)

    async def live(self) -> None:
        """Live from the beginning of the clock until now, and release the clock."""
        now = time.time()
        try:
            with self._watching():
                for when, do in sorted(self._moments(now), key=lambda each: each[0]):
                    if when < now:
                        await self._go_to(when, now)
                        await do()
                await self._go_to(now, now)
                await self._say(self._story.waits, waits=True)
        finally:
            self._clock.release()

    # --- time ---

    def _at(self, now: float, days: int, clock_time: str) -> float:
        """Return a time of day so many days before today."""
        hours, _, minutes = clock_time.partition(":")
        day = datetime.fromtimestamp(now, ZoneInfo(self._zone)) - timedelta(days=days)
        return day.replace(hour=int(hours), minute=int(minutes), second=7, microsecond=0).timestamp()

    def _moments(self, now: float) -> Iterator[tuple[float, Callable[[], Awaitable[None]]]]:
        """Yield when something is said or remembered, and what does it."""
        for days, facts in groupby(self._story.facts, key=lambda fact: fact.days):
            yield self._at(now, days, "20:15"), partial(self._remember, list(facts))
        for talk in self._story.talks:
            yield self._at(now, talk.days, talk.at), partial(self._say, talk)
        for reminder in self._story.reminders:
            yield now - NEAR_S, partial(self._remind, reminder, now)
        yield now - 600, self._knock

    async def _go_to(self, when: float, now: float) -> None:
        """Let the devices and automations live until a time."""
        while (at := self._clock.time()) < when:
            step = NEAR_STEP_S if at >= now - NEAR_S else STEP_S
            # Steps end on the round minute, when schedules are due, or when an automation's delay is over.
            end = min(when, at - at % step + step + 0.05)
            if self._delayed and self._delayed[0][0] < end:
                due, looks, run_id = heapq.heappop(self._delayed)
                self._triggered.add(run_id)
                if looks > 1:  # the delay itself may have begun a little later
                    heapq.heappush(self._delayed, (due + DELAY_LOOK_S, looks - 1, run_id))
                end = max(at, due)
            await self._clock.travel(end)
            if self._triggered:
                await self._automations()
            await self._clock.until(lambda: not self._runs)

    async def _automations(self) -> None:
        """Wait for what was triggered to end, or to wait for the clock."""
        for _ in range(AUTOMATION_LOOKS):
            await asyncio.sleep(LOOK_S)
            if not self._triggered:
                break
        self._triggered.clear()

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        """Track what is under way, and decide about the owner's approvals."""
        bus = self._hub.bus
        undo = [
            bus.listen("run_started", lambda event: self._runs.add(event.data["run_id"])),
            bus.listen("run_finished", self._run_ended),
            bus.listen("automation_triggered", self._automation_began),
            bus.listen("automation_finished", lambda event: self._triggered.discard(event.data["run_id"])),
            bus.listen("approval_requested", self._asked),
            bus.listen("message_sent", self._message_sent),
        ]
        try:
            yield
        finally:
            for each in undo:
                each()

    def _run_ended(self, event: Event) -> None:
        self._runs.discard(event.data["run_id"])
        self._ended.add(event.data["run_id"])

    def _automation_began(self, event: Event) -> None:
        """Note when each delay of an automation will be over, so that five minutes take five."""
        run_id, due = event.data["run_id"], self._clock.time() + DELAY_MARGIN_S
        self._triggered.add(run_id)
        actions = self._hub.automation.automations.get(event.data["automation_id"]).config["actions"]
        for delay in (each["delay"] for each in actions if "delay" in each):
            due += delay
            heapq.heappush(self._delayed, (due, DELAY_LOOKS, run_id))

    def _message_sent(self, event: Event) -> None:
        self._sent += 1

    # --- what people do ---

    async def _call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Call a gateway method as the owner."""
        caller = Caller(self._owner, "hub", "127.0.0.1", local=True)
        dispatcher = self._hub.gateway.dispatcher
        return await dispatcher.run(*dispatcher.prepare(method, params, caller))

    async def _say(self, talk: Talk, *, waits: bool = False) -> None:
        """Write the messages of a conversation, each after the answer to the one before."""
        key = None
        if talk.title:
            created = await self._call("sessions.create", {"agentId": talk.agent, "label": talk.title})
            key = created["key"]
        self._verdict = "" if waits else talk.verdict
        for text in talk.says:
            self._is_asked, sent = False, self._sent
            run_id = await self._write(talk, key, text)
            await self._clock.until(partial(self._is_answered, run_id, sent, waits=waits))
            if not waits:
                await self._clock.spend(READS_S)
        if key is not None and talk.days > UNREAD_DAYS:
            await self._call("sessions.patch", {"key": key, "unread": False, "pinned": talk.pinned})

    def _is_answered(self, run_id: str, sent: int, *, waits: bool) -> bool:
        """Whether a message was answered, and the answer sent; or whether its run waits for the owner."""
        return (waits and self._is_asked) or (run_id in self._ended and self._sent > sent)

    async def _write(self, talk: Talk, key: str | None, text: str) -> str:
        """Write one message; return the run that answers it."""
        if key is not None:
            params = {"sessionKey": key, "message": text, "idempotencyKey": new_id()}
            return str((await self._call("chat.send", params))["runId"])
        person = self._story.person(talk.who)
        return await self._receive(person.telegram, person.name, text)

    async def _receive(self, peer: int, name: str, text: str) -> str:
        chat = next(each for each in self._hub.channels.all() if each.channel.name == CHANNEL)
        receipt = await chat.receiver(message(new_id(), peer, name, text, self._clock.time()))
        return receipt.run_id or ""

    def _asked(self, event: Event) -> None:
        self._is_asked = True
        if self._verdict:
            deciding = asyncio.create_task(self._decide(str(event.data["id"]), self._verdict))
            self._deciding.add(deciding)
            deciding.add_done_callback(self._deciding.discard)

    async def _decide(self, id: str, verdict: str) -> None:
        await self._clock.spend(THINKS_S)
        await self._hub.approvals.resolve(id, verdict == "allow", Context(self._owner))

    async def _remember(self, facts: list[Fact]) -> None:
        # At once: each waits a little for the index.
        adding = (self._call("memory.add", {"text": fact.text, "kind": fact.kind}) for fact in facts)
        await asyncio.gather(*adding)

    async def _remind(self, reminder: Reminder, now: float) -> None:
        at = datetime.fromtimestamp(self._at(now, -reminder.days, reminder.at), UTC)
        params = {
            "name": reminder.text,
            "schedule": {"kind": "at", "at": at.isoformat()},
            "payload": {"kind": "message", "text": reminder.text},
        }
        if at.timestamp() > now:
            await self._call("cron.add", params)

    async def _knock(self) -> None:
        """Have a stranger ask to write."""
        stranger = self._story.stranger
        await self._receive(stranger.telegram, stranger.name, stranger.says)
