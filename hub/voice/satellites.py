"""The registry of satellites: their lines, entities and turns, and what the hub says there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound, Unavailable
from hub.core.events import Event, EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.core.tasks import TaskOwner
from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.entities import EntityHandle, FirstState, HomeEntities
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import ClientMessage
from hub.messaging.inbox.inbox import Inbox
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.sending import MESSAGE_ENDS
from hub.messaging.queue.turn import PLACE
from hub.security.people import People
from hub.sessions.keys import direct_key
from hub.voice.authority import authority_of
from hub.voice.channel import NAME, OUTBOUND, VoiceChannel, address_of
from hub.voice.chimes import Chime, chime
from hub.voice.contract import (
    DOMAIN,
    EVENT_STOPPED,
    CanShowTimers,
    Line,
    Satellite,
    SatelliteInfo,
    SatelliteView,
    Sound,
    SpeechHeard,
    TimerChange,
    TimerView,
    VoiceTurn,
)
from hub.voice.engines import VoiceEngines, within
from hub.voice.line import SatelliteLine
from hub.voice.nearest import NearestRule
from hub.voice.settings import VoiceSettings, is_named
from hub.voice.turn import Turn
from hub.voice.turn_log import TurnLog
from hub.voice.wake import WakeEngines

HELD_KEPT = 200
"""Conversations at satellites of other hubs whose place is known."""
_ANYWHERE = SatelliteInfo("anywhere", "", "")
SPOKEN = (
    "What the person says comes from the voice satellite “{name}”{room}, and your answer is spoken there. Answer in "
    "one or two short sentences as one speaks, without Markdown, lists, tables, code or addresses."
)
IN_ROOM = " in the room “{room}”, which is meant where no other place is named"


class VoiceParts(Struct, frozen=True):
    """The parts of the hub that satellites need.

    Attributes:
        engines: What hears and speaks.
        turns: Keeps what was said.
        people: Returns the people of the home.
        agent: Returns the id of an agent, or of the default one for None; `NotFound` if there is none.
        language: Returns the home's language.
        abort: Stops a run.
        prepare: Has the model of an agent, or of the default one for None, ready for a language.
    """

    clock: Clock
    bus: EventBus
    channels: ChannelRegistry
    inbox: Inbox
    outbox: Outbox
    entities: HomeEntities
    engines: VoiceEngines
    turns: TurnLog
    people: Callable[[], People]
    agent: Callable[[str | None], str]
    language: Callable[[], str]
    abort: Callable[[str], Any]
    prepare: Callable[[str | None, str | None], Coroutine[Any, Any, None]]


class SatelliteRegistry:
    """All satellites; see `hub.voice.contract.Satellites`.

    Attributes:
        settings: Those of `voice:`.
        wake_engines: What finds wake words in the sound of devices that send all they hear.
        nearest: Tells who answers where several hear one voice.
        tasks: Owner of what goes on at satellites.
    """

    def __init__(self, parts: VoiceParts) -> None:
        self.parts = parts
        self.clock, self.engines = parts.clock, parts.engines
        self.tasks = TaskOwner("voice")
        self.wake_engines = WakeEngines(parts.clock, self.tasks)
        self.nearest = NearestRule(parts.clock)
        self.settings = VoiceSettings()
        self._lines: dict[str, SatelliteLine] = {}
        self._handles: dict[str, EntityHandle] = {}
        self._descriptions: dict[str, EntityDescription] = {}
        self._channel = VoiceChannel(self._lines.get)
        self._is_joined = False
        self.furnish: Callable[[], None] | None = None
        """Called with the first satellite: it brings what a home with satellites has."""
        self.ring_answered: Callable[[str, str], Awaitable[str | None]] | None = None
        """Takes what was said at a satellite to what has just rung there; see `SatelliteTimers.heard`."""
        self._held: dict[str, str] = {}
        self._over: dict[str, SatelliteLine] = {}
        parts.bus.listen("run_finished", self._run_finished)
        for each in MESSAGE_ENDS:
            parts.bus.listen(each, self._message_ended, {"channel": NAME})

    # --- what integrations and others use ---

    def add(self, satellite: Satellite) -> tuple[Line, Callable[[], Any]]:
        """Add a satellite; see `Satellites.add`."""
        info = satellite.info
        if slugify(info.id) != info.id:
            raise InvalidRequest(f"{info.id!r} is no id of a satellite: expected a-z, 0-9 and _")
        if info.id in self._lines:
            raise Conflict(f"there is a satellite {info.id!r} already, of {self._lines[info.id].info.platform}")
        line = SatelliteLine(satellite, self)
        description = self._descriptions[info.id] = self._description(line)
        first = FirstState(line.stage.value)
        self._handles[info.id] = self.parts.entities.add(description, source=info.platform, first=first)
        self._lines[info.id] = line
        line.listen_for_words()
        self.describe(line)
        if not self._is_joined:
            self._is_joined = True
            if self.furnish is not None:
                self.furnish()
            self.tasks.spawn(self.parts.channels.add(self._channel, outbound=OUTBOUND), name="channel of satellites")
        return line, partial(self._remove, line)

    def all(self) -> list[SatelliteView]:
        """Return all, by name."""
        return sorted(map(self._view, self._lines.values()), key=lambda view: (view.info.name.casefold(), view.info.id))

    def get(self, id: str) -> SatelliteView | None:
        """Return one, or None."""
        return self._view(line) if (line := self._lines.get(id)) is not None else None

    def turns(self, id: str | None = None) -> list[VoiceTurn]:
        """Return the last turns, newest first."""
        return self.parts.turns.all(id)

    async def say(self, id: str, text: str, *, language: str | None = None, chime: bool = False) -> SpeechHeard:
        """Say something; see `Satellites.say`."""
        return await self._line(id).say(text, language, before=_announcing() if chime else None).ended

    async def play(self, id: str, sound: Sound) -> bool:
        """Play a sound; see `Satellites.play`."""
        line = self._line(id)
        line.require_connected()
        return (await line.mouth.play(sound).ended).is_whole

    async def ask(self, id: str, question: str, *, language: str | None = None, timeout_s: float = 30.0) -> str:
        """Ask, and return what was answered; see `Satellites.ask`."""
        line = self._line(id)
        await line.say(question, language).ended
        turn = line.new_turn()
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        turn.question = answered
        await line.listen(turn)

        async def answer() -> str:
            return await answered

        try:
            return await within(self.parts.clock, answer(), timeout_s, f"nothing was answered within {timeout_s:g} s")
        except HubError:
            turn.hear(None)
            raise

    async def converse(
        self, id: str, text: str, *, extra_system_prompt: str | None = None, language: str | None = None
    ) -> None:
        """Say something, and have an agent hear the answer; see `Satellites.converse`."""
        line = self._line(id)
        await line.say(text, language).ended
        turn = line.new_turn()
        turn.prompt = "\n\n".join([f"You have just said there: “{text}”", *filter(None, [extra_system_prompt])])
        await line.listen(turn)

    async def overhear(self, id: str, window_s: float) -> str:
        """Listen for a moment between two rings; see `Satellites.overhear`."""
        line = self._line(id)
        line.require_connected()
        if line.going:  # what was said there is being answered, and listening would break that off
            await self.clock.sleep(window_s)
            return ""
        return await line.overhear(window_s)

    async def show_timer(self, id: str, change: TimerChange, timer: TimerView) -> None:
        """Show a timer on the device, if it is there and shows timers."""
        line = self._lines.get(id)
        if line is not None and line.is_connected and isinstance(line.satellite, CanShowTimers):
            await line.satellite.show_timer(change, timer)

    def language(self, id: str) -> str:
        """Return what is spoken at a satellite."""
        line = self._lines.get(id)
        return (line.language if line is not None else None) or self.parts.language()

    def snooze_minutes(self, id: str) -> int:
        """Return by how much a ring at a satellite is put off where nobody says it."""
        line = self._lines.get(id)
        return line.settings.snooze_minutes if line is not None else self.settings.of(_ANYWHERE).snooze_minutes

    def ring(self, id: str, *, is_ringing: bool) -> None:
        """Note that it rings there; see `Satellites.ring`."""
        if (line := self._lines.get(id)) is not None:
            line.ring(is_ringing=is_ringing)

    def stop(self, id: str) -> None:
        """End what is said or rings there."""
        if (line := self._lines.get(id)) is not None:
            line.stop()

    def held_at(self, session_key: str, place: str) -> None:
        """Note where a conversation is held; see `Satellites.held_at`."""
        self._held.pop(session_key, None)
        self._held[session_key] = place
        while len(self._held) > HELD_KEPT:
            del self._held[next(iter(self._held))]

    def place_of(self, session_key: str) -> str | None:
        """Return where a conversation was noted to be held."""
        return self._held.get(session_key)

    def configure(self, section: Mapping[str, Any]) -> None:
        """Take over the section `voice`, which is valid; an empty one is what holds without it."""
        self.settings = VoiceSettings.from_config(section)
        for line in self._lines.values():
            line.configure()

    async def close(self) -> None:
        """End everything that goes on."""
        for line in list(self._lines.values()):
            self._remove(line)
        await self.tasks.cancel_all()

    # --- what lines use ---

    def show(self, line: SatelliteLine) -> None:
        """Show what a satellite does in its entity."""
        if (handle := self._handles.get(line.info.id)) is None:
            return
        facts = {"wake_words": list(line.info.wake_words), "platform": line.info.platform}
        if line.trouble:
            facts["trouble"] = line.trouble
        handle.become(
            self._descriptions[line.info.id], FirstState(line.stage.value, facts), is_available=line.is_connected
        )

    def describe(self, line: SatelliteLine) -> None:
        """Take over what a device says of itself, and the room that the settings give it."""
        if (handle := self._handles.get(line.info.id)) is None:
            return
        description = self._descriptions[line.info.id] = self._description(line)
        handle.update(description, {})
        area, registry = self._area(line), self.parts.entities.registry
        if line.settings.area is not None and area is not None:
            registry.update("entity", handle.entity_id, area_id=area[0])
        self.show(line)

    def tell(self, line: SatelliteLine, turn: Turn, stage: str, about: dict[str, Any]) -> None:
        """Tell the hub of a stage of a turn."""
        self.parts.turns.tell(turn, stage, about, self._context(line))

    def fire_stopped(self, id: str) -> None:
        """Tell that what sounds there is to end."""
        self.parts.bus.fire(EVENT_STOPPED, {"satellite": id})

    async def answer_ring(self, id: str, text: str) -> str | None:
        """Put off what has just rung at a satellite, if a text says so; return what is said to that."""
        return await self.ring_answered(id, text) if self.ring_answered is not None else None

    def keep(self, turn: Turn) -> None:
        """Keep a turn that has ended."""
        self.parts.turns.keep(turn)
        if turn.run_id is not None:
            self._over.pop(turn.run_id, None)

    def abort(self, run_id: str) -> None:
        """Stop a run."""
        self.parts.abort(run_id)

    def prepare(self, line: SatelliteLine) -> None:
        """Have what answers there ready before the first sentence."""
        made = self.parts.prepare(line.settings.agent, line.language)
        self.tasks.spawn(made, name=f"prepare what answers at {line.info.id}")

    def language_of(self, person: str | None) -> str:
        """Return what a person speaks, else the home's language."""
        known = self.parts.people().by_id(person or "")
        return (known.language if known is not None else None) or self.parts.language()

    async def deliver(self, line: SatelliteLine, turn: Turn, note: str) -> None:
        """Have what was said answered.

        Raises:
            HubError: It was not accepted.
        """
        area = self._area(line)
        room = IN_ROOM.format(room=area[1]) if area is not None else ""
        prompt = "\n\n".join(filter(None, [SPOKEN.format(name=line.info.name, room=room), note, turn.prompt]))
        turn.run_id = new_id()
        self._over[turn.run_id] = line
        context = self._context(line)
        message = ClientMessage(
            address=address_of(line.info.id),
            message_id=turn.id,
            sender=f"{NAME}:satellite:{line.info.id}",
            text=turn.text.lstrip("/ ") or turn.text,
            sender_name=None if context.authority.person is None else self._name_of(context.authority.person),
            sent_at=turn.began_at,
            session_key=direct_key(self.parts.agent(line.settings.agent), line.info.id, channel=NAME),
            run_id=turn.run_id,
            options={PLACE: prompt, "queue": "interrupt"},
            area=area[1] if area is not None else None,
        )
        receipt = await self.parts.inbox.receive(message, context)
        if not receipt.accepted:
            raise Unavailable(receipt.reason or phrase("it was not accepted"))
        if receipt.run_id is None:
            self._over.pop(turn.run_id, None)
            turn.run_id = None
            turn.is_run_over = True
            await self._look_for_rest(line, turn)

    # --- inside ---

    def _line(self, id: str) -> SatelliteLine:
        if (line := self._lines.get(id)) is None:
            known = ", ".join(sorted(self._lines)) or "none"
            raise NotFound(f"there is no satellite {id!r}; there are {known}")
        return line

    def _remove(self, line: SatelliteLine) -> None:
        if self._lines.get(line.info.id) is not line:
            return
        line.close()
        del self._lines[line.info.id]
        self._handles.pop(line.info.id).remove()

    def _context(self, line: SatelliteLine) -> Context:
        return Context(authority_of(line.info, line.settings, self.parts.people()))

    def _name_of(self, person: str) -> str | None:
        known = self.parts.people().by_id(person)
        return known.name if known is not None else None

    def _view(self, line: SatelliteLine) -> SatelliteView:
        area = self._area(line)
        return SatelliteView(
            line.info, line.stage, line.is_connected, area[0] if area is not None else None, line.trouble
        )

    def _area(self, line: SatelliteLine) -> tuple[str, str] | None:
        """Return the id and the name of a satellite's room: of its settings, its entity, or its device."""
        registry = self.parts.entities.registry
        if (named := line.settings.area) is not None:
            for each in registry.areas.values():
                if is_named(each, named):
                    return each.id, each.name
        handle = self._handles.get(line.info.id)
        entry = registry.entities.get(handle.entity_id) if handle is not None else None
        found = registry.area_of(entry) if entry is not None else None
        if found is None and (device := registry.devices.get(line.info.device_id or "")) is not None:
            found = registry.areas.get(device.area_id or "")
        return (found.id, found.name) if found is not None else None

    def _description(self, line: SatelliteLine) -> EntityDescription:
        info = line.info
        known, device = self.parts.entities.registry.devices.get(info.device_id or ""), None
        if known is not None and known.source == info.platform:
            device = DeviceInfo(known.identifiers, known.connections)
        return EntityDescription(DOMAIN, f"{DOMAIN}_{info.id}", info.name, info.id, device, is_full_name=True)

    def _run_finished(self, event: Event) -> None:
        line = self._over.pop(event.data["run_id"], None)
        for turn in line.going if line is not None else ():
            if line is not None and turn.run_id == event.data["run_id"]:
                turn.is_run_over = True
                self.tasks.spawn(self._look_for_rest(line, turn), name="look for the rest of an answer")

    def _message_ended(self, event: Event) -> None:
        line = self._lines.get(event.data["peer"])
        for turn in line.going if line is not None else ():
            if line is not None and turn.is_run_over:
                self.tasks.spawn(self._look_for_rest(line, turn), name="look for the rest of an answer")

    async def _look_for_rest(self, line: SatelliteLine, turn: Turn) -> None:
        """End an answer of which nothing waits in the outbox any more."""
        waiting = await self.parts.outbox.rows(("queued", "sending"), limit=500)
        chat = (NAME, line.info.id)
        if turn in line.going and not any((each.address.channel, each.address.peer) == chat for each in waiting):
            line.answer_ended(turn)


def _announcing() -> Sound:
    return chime(Chime.ANNOUNCE)
