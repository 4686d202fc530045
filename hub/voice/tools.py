"""The tools of agents for rooms: `timer`, whose timers ring there, and `announce`, which says something there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from hub.automation.schedule.daily import WEEKDAYS, parse_time_of_day
from hub.automation.schedule.fixed import parse_at
from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.plain_words import is_plain
from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, string
from hub.sessions.keys import SessionKey
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.voice.announcements import Announcements
from hub.voice.channel import NAME as CHANNEL
from hub.voice.contract import Satellites
from hub.voice.ring_words import SNOOZE_LIMIT_MIN
from hub.voice.timer import Repetition, SatelliteTimer, amount, name_of, weekdays_of
from hub.voice.timers import SatelliteTimers

GROUP = "home"
IN_THE_HOME = Annotations(destructive=False, open_world=False, owner_only=False, egress=False)

_SHORT = All(string, Length(min=1, max=100))
_DURATION = re.compile(r"([+-]?)\s*(\S.*)")
_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]", re.IGNORECASE)
_LITTLE = frozenset({"the", "a", "an", "my", "our", "timer", "timers", "alarm", "for", "of", "called", "named"}) | set(
    "的计时器定闹钟倒"
)

TIMER = Schema(
    {
        Required("action"): In(("set", "list", "change", "pause", "resume", "snooze", "skip", "cancel")),
        Optional("name", description="What it is called, such as pizza."): _SHORT,
        Optional("duration", description="For set, and for snooze: 5m, 1h 30m, 90s."): _SHORT,
        Optional("at", description="For set and change, an alarm: 07:00, or 2026-03-01T07:30 (local)."): _SHORT,
        Optional("repeat", description="With at, 07:00: the days on which the alarm rings every week."): All(
            [In(("daily", "weekdays", "weekends", *WEEKDAYS))], Length(min=1, max=7)
        ),
        Optional("by", description="For change: 2m longer, or -2m shorter."): _SHORT,
        Optional("room", description="Where it rings; default: where the speaker is."): _SHORT,
        Optional("all", description="For cancel: all of that room."): boolean,
    }
)
ANNOUNCE = Schema(
    {
        Required("message", description="What is said, in the words to be heard."): All(
            string, Length(min=1, max=2_000)
        ),
        Optional("rooms", description="Names of rooms or floors; default: every room."): All([_SHORT], Length(max=50)),
    }
)


class RoomTools:
    """The tools of rooms.

    Args:
        language: Returns what is spoken at a satellite.
        area: Returns the name of an area.
        zone: Returns the home's time zone.
    """

    def __init__(
        self,
        satellites: Satellites,
        timers: SatelliteTimers,
        announcements: Announcements,
        clock: Clock,
        *,
        language: Callable[[str], str],
        area: Callable[[str | None], str | None],
        zone: Callable[[], tzinfo],
    ) -> None:
        self._satellites, self._timers, self._announcements, self._clock = satellites, timers, announcements, clock
        self._language, self._area, self._zone = language, area, zone

    def tools(self) -> list[Tool]:
        """Return the tools."""
        return [
            Tool(
                "timer",
                "Timers and alarms that ring in a room: set (duration or at), list, change, pause, resume, cancel, "
                "snooze (what rings or just rang), skip (only the next time of an alarm that repeats). In a chat, "
                "`schedule` reminds instead.",
                from_schema(TIMER),
                self.timer,
                GROUP,
                IN_THE_HOME,
            ),
            Tool(
                "announce",
                "Say something aloud in rooms of this home, such as that dinner is ready.",
                from_schema(ANNOUNCE),
                self.announce,
                GROUP,
                IN_THE_HOME,
                timeout_s=120.0,
            ),
        ]

    async def announce(self, call: ToolCall) -> ToolResult:
        """Say something in rooms."""
        said = await self._announcements.in_rooms(call.arguments["message"], call.arguments.get("rooms"), call.context)
        return ToolResult.of({"said_in": said.rooms, **({"not_said": said.failed} if said.failed else {})})

    async def timer(self, call: ToolCall) -> ToolResult:
        """Do something about timers."""
        arguments = call.arguments
        match arguments["action"]:
            case "set":
                return self._told("set", [await self._set(call)])
            case "list":
                room = arguments.get("room")
                found = [each for each in self._timers.all() if room is None or _is(each.area, room)]
                return self._told("timers", found)
            case "cancel" if arguments.get("all"):
                near = [each for each in self._timers.all() if self._is_near(each, call)]
                for each in near:
                    await self._timers.cancel(each, is_whole=True)
                return self._told("cancelled", near)
        timer = self._meant(call)
        match arguments["action"]:
            case "change":
                return self._told("changed", [await self._change(timer, arguments)])
            case "pause":
                return self._told("paused", [await self._timers.pause(timer)])
            case "resume":
                return self._told("resumed", [await self._timers.resume(timer)])
            case "snooze":
                return self._told("snoozed", [await self._snooze(timer, arguments.get("duration"))])
            case "skip":
                return self._told("skipped", [await self._timers.skip(timer)])
        if (going_on := await self._timers.cancel(timer)) is not None:
            return self._told("silenced", [going_on])
        return self._told("cancelled", [timer])

    async def _snooze(self, timer: SatelliteTimer, duration: str | None) -> SatelliteTimer:
        seconds = _seconds(duration) if duration is not None else None
        if seconds is not None and not 0 < seconds <= SNOOZE_LIMIT_MIN * 60:
            raise InvalidRequest(f"duration: expected at most {SNOOZE_LIMIT_MIN}m, got {duration!r}")
        return await self._timers.snooze(timer, seconds / 60 if seconds is not None else None)

    async def _change(self, timer: SatelliteTimer, arguments: Mapping[str, Any]) -> SatelliteTimer:
        if "at" in arguments or "repeat" in arguments:
            at = arguments.get("at") or (timer.repeats.time if timer.repeats is not None else None)
            days = arguments.get("repeat") or (timer.repeats.days if timer.repeats is not None else None)
            if at is None:
                raise InvalidRequest("at: expected the time of day at which it rings, such as 07:00")
            return await self._timers.move(timer, *self._times(at, days))
        if "by" not in arguments:
            raise InvalidRequest("by: expected how much longer, such as 2m, or shorter, such as -2m; at for an alarm")
        return await self._timers.change(timer, _seconds(arguments["by"]))

    def _times(self, at: str, days: Sequence[str] | None) -> tuple[float | None, Repetition | None]:
        """Return when an alarm rings: once, or again and again."""
        if not days:
            return parse_at(at, self._clock.time(), self._zone()), None
        time = parse_time_of_day(at)
        return None, Repetition(f"{time:%H:%M:%S}" if time.second else f"{time:%H:%M}", weekdays_of(days))

    async def _set(self, call: ToolCall) -> SatelliteTimer:
        arguments = call.arguments
        if ("duration" in arguments) is ("at" in arguments):
            raise InvalidRequest("give duration for a timer, or at for an alarm")
        if "repeat" in arguments and "at" not in arguments:
            raise InvalidRequest("repeat: only an alarm repeats: give at, a time of day such as 07:00")
        satellite = self._satellite(call)
        if satellite is None:
            rooms = sorted({self._area(each.area_id) or each.info.name for each in self._satellites.all()})
            raise InvalidRequest(
                f"room: say in which room it rings, one of {', '.join(rooms)}; `schedule` reminds in this chat"
            )
        ends: float | None
        repeats: Repetition | None = None
        if "at" in arguments:
            ends, repeats = self._times(arguments["at"], arguments.get("repeat"))
        else:
            ends = self._clock.time() + _seconds(arguments["duration"])
        return await self._timers.start(
            satellite,
            ends,
            area=None if self._satellites.get(satellite) is not None else call.area,
            name=arguments.get("name", ""),
            is_alarm="at" in arguments,
            person=call.context.authority.person,
            language=self._language(satellite),
            repeats=repeats,
        )

    def _satellite(self, call: ToolCall) -> str | None:
        """Return the satellite that is meant: that of a room, the one that was spoken to, or one near the speaker.

        It is empty where somebody spoke in a room in which nothing rings; None is a chat.

        Raises:
            NotFound: There is none in that room.
        """
        views, room = self._satellites.all(), call.arguments.get("room")
        own = self._spoken_to(call)
        if room is None and own:
            return own
        for each in sorted(views, key=lambda view: not view.is_connected):
            if (room or call.area) and (_is(self._area(each.area_id), room or call.area) or _is(each.info.name, room)):
                return each.info.id
        if room is not None:
            known = ", ".join(sorted({self._area(each.area_id) or each.info.name for each in views}))
            raise NotFound(f"there is no satellite in {room!r}; there are some in: {known}")
        return own

    def _spoken_to(self, call: ToolCall) -> str | None:
        """Return the satellite whose conversation it is: its id, another hub's entity, or empty for one unknown."""
        try:
            key = SessionKey.parse(call.session_key)
        except HubError:
            return None
        return key.id if key.channel == CHANNEL else self._satellites.place_of(call.session_key)

    def _is_near(self, timer: SatelliteTimer, call: ToolCall) -> bool:
        if (room := call.arguments.get("room")) is not None:
            return _is(timer.area, room)
        return timer.satellite == self._spoken_to(call) or (timer.area is not None and timer.area == call.area)

    def _meant(self, call: ToolCall) -> SatelliteTimer:
        """Return the timer that is meant: that of a name, of this satellite before this room before any other.

        Raises:
            NotFound: There is none, here or of that name.
            InvalidRequest: It may be several.
        """
        name, timers = call.arguments.get("name"), self._timers.all()
        if call.arguments["action"] == "snooze":
            timers = self._timers.can_snooze()
        if call.arguments.get("room") is not None:
            timers = [each for each in timers if self._is_near(each, call)]
        found = _named(name, timers) if name is not None else timers
        here = [each for each in found if self._is_near(each, call)]
        own = [each for each in here if each.satellite == self._spoken_to(call)]
        ringing = [each for each in here if self._timers.is_ringing(each)]
        elsewhere = found if name is not None or not self._is_in_room(call) else []
        chosen = (ringing if name is None else []) or own or here or elsewhere
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            told = f"{name or 'the timer'!r} may be any of {self._listed(chosen)}; say which"
            raise InvalidRequest(told, outside=not _are_plain(chosen))
        others = f"; there are: {self._listed(timers)}" if timers else ""
        told = f"there is no timer {f'called {name!r}' if name else 'here'}{others}"
        raise NotFound(told, outside=not _are_plain(timers))

    def _is_in_room(self, call: ToolCall) -> bool:
        return self._spoken_to(call) is not None or call.area is not None

    def _listed(self, timers: Sequence[SatelliteTimer]) -> str:
        now = self._clock.time()
        return ", ".join(
            f"{_called(each)} ({', '.join(filter(None, [each.area, amount(each.left(now), each.language)]))})"
            for each in timers
        )

    def _told(self, what: str, timers: Sequence[SatelliteTimer]) -> ToolResult:
        is_own = what == "set"  # its name was in the call
        return ToolResult.of({what: [self._shown(each) for each in timers]}, trusted=is_own or _are_plain(timers))

    def _shown(self, timer: SatelliteTimer) -> dict[str, Any]:
        now = self._clock.time()
        state = "ringing" if self._timers.is_ringing(timer) else "paused" if timer.ends_at is None else "running"
        shown: dict[str, Any] = {"name": timer.name, "called": name_of(timer), "room": timer.area, "state": state}
        shown |= {"left_s": round(timer.left(now)), **({"alarm": True} if timer.is_alarm else {})}
        if timer.repeats is not None:
            shown["repeats"] = timer.repeats.told(timer.language)
        if not timer.satellite:
            shown["rings"] = "nowhere: a message in a chat tells that it has ended"
        if timer.is_snoozed:
            shown["snoozed"] = True
        if timer.ends_at is not None:
            shown["ends"] = datetime.fromtimestamp(timer.ends_at, self._zone()).isoformat(timespec="seconds")
        return shown


def _are_plain(timers: Sequence[SatelliteTimer]) -> bool:
    """Whether the names of timers, which anybody may have said, are free of instructions to a model."""
    return is_plain([each.name for each in timers])


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    sign, rest = (match[1], match[2]) if match is not None else ("", text)
    seconds = parse_at(rest, 0.0, UTC) if re.search(r"\d\s*[dhms]", rest) else None
    if seconds is None:
        raise InvalidRequest(f"expected a duration such as 5m, 1h 30m or 90s, got {text!r}")
    return -seconds if sign == "-" else seconds


def _is(name: str | None, wanted: str | None) -> bool:
    return name is not None and wanted is not None and name.casefold() == wanted.strip().casefold()


def _named(name: str, timers: Sequence[SatelliteTimer]) -> list[SatelliteTimer]:
    """Return the timers of which a name has words, those with the whole name before others."""
    said = _words(name)
    whole = [each for each in timers if said and said == _words(each.name)]
    return whole or [each for each in timers if said <= _words(_told_apart_by(each))]


def _called(timer: SatelliteTimer) -> str:
    return name_of(timer) if timer.repeats is None else f"{name_of(timer)} {timer.repeats.told(timer.language)}"


def _told_apart_by(timer: SatelliteTimer) -> str:
    """Return the words by which people tell a timer from others: its name, and how long or at what times it runs."""
    when = amount(timer.total_s, timer.language) if timer.repeats is None else timer.repeats.told(timer.language)
    return f"{timer.name} {when}"


def _words(text: str) -> set[str]:
    return {each.casefold().removesuffix("s") for each in _WORD.findall(text)} - _LITTLE
