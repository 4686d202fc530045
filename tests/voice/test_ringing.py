"""What rings is ended or put off by a word between two rings, without a wake word, and alarms ring again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hub.core.context import Context
from hub.core.errors import NotFound, Unavailable
from hub.voice.line import SatelliteLine
from tests.servers.openai_server import OpenAIServer
from tests.until import as_time_passes, until
from tests.voice.kit import Kiosk, VoiceHome, voice_home
from tests.voice.test_timers import call, room, spoken, timers, told

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url, hub={"time_zone": "Europe/Berlin"}) as home:
        yield home


def listens(kiosk: Kiosk) -> bool:
    """Whether it is listened between two rings."""
    line = kiosk.line
    assert isinstance(line, SatelliteLine)
    turn = line.overheard
    return turn is not None and turn.is_listening and (line.turn is turn or line.info.always_sends)


async def ringing(home: VoiceHome, **about: object) -> Kiosk:
    """Return a satellite whose pizza timer rings, and that listens between two rings."""
    kitchen = room(home, "kitchen", "Kitchen", **about)
    await told(home, "kitchen", action="set", name="pizza", duration="12m")
    await home.clock.advance(12 * 60 + 1)
    await home.passing(lambda: listens(kitchen))
    return kitchen


async def said(home: VoiceHome, kiosk: Kiosk, *words: str) -> None:
    """Say something between two rings, each at one of them."""
    for each in words:
        heard = len(home.ears.heard) + 1
        home.ears.hears.append(each)
        await home.passing(lambda: listens(kiosk))
        kiosk.say()
        await home.passing(partial(home.has_heard, heard))


STREAMS = {"wakes_itself": False, "always_sends": True}
OPENED: dict[str, bool] = {}


@pytest.mark.parametrize("about", [OPENED, STREAMS], ids=["opened", "streams"])
async def test_a_word_between_two_rings_ends_them_without_a_wake_word(home: VoiceHome, about: dict[str, bool]) -> None:
    kitchen = await ringing(home, **about)

    await said(home, kitchen, "dinner smells good", "Thank you.", "Stop!")
    await home.passing(lambda: not timers(home).all())
    rung = kitchen.begun
    await home.clock.advance(30)

    assert kitchen.begun == rung
    assert home.satellites.turns() == []
    assert spoken(home) == ["Your pizza timer is done."]
    assert home.satellites.all()[0].stage.value == "idle"


async def test_a_ring_is_put_off_by_what_is_said_and_by_what_is_set_for_the_satellite(home: VoiceHome) -> None:
    home.voice.configure({"snooze_minutes": 7, "transcription_model": "voice/auto", "speech_model": "voice/auto"})
    kitchen = await ringing(home)

    await said(home, kitchen, "two more minutes")
    await home.passing(lambda: "Put off for 2 minutes." in spoken(home))
    later = timers(home).all()[0].left(home.clock.time())
    await home.clock.advance(121)
    await said(home, kitchen, "再睡一会儿")
    await home.passing(lambda: "Put off for 7 minutes." in spoken(home))

    assert 100 < later <= 120
    assert 400 < timers(home).all()[0].left(home.clock.time()) <= 420


async def test_what_was_ended_by_the_wake_word_is_put_off_by_the_words_behind_it(home: VoiceHome) -> None:
    kitchen = await ringing(home)

    kitchen.line.wake("okay_nabu")
    home.ears.hears.append("Five more minutes.")
    kitchen.say()
    turn = await home.turn()

    assert (turn.answer, turn.run_id) == ("Put off for 5 minutes.", None)
    assert [each.is_snoozed for each in timers(home).all()] == [True]


async def test_a_satellite_that_cannot_be_opened_without_its_wake_word_is_asked_once_and_rings_on(
    home: VoiceHome,
) -> None:
    kitchen = room(home, "kitchen", "Kitchen")
    kitchen.cannot_listen = Unavailable("it listens only after its wake word")
    await told(home, "kitchen", action="set", duration="1m")

    await home.clock.advance(61)
    await home.passing(lambda: kitchen.begun > 6)
    kitchen.line.stop()
    await home.passing(lambda: not timers(home).all())

    assert kitchen.listens == 1


async def test_what_cannot_be_heard_leaves_it_ringing_and_says_nothing(home: VoiceHome) -> None:
    kitchen = await ringing(home)
    home.ears.hears.append(Unavailable("it is deaf"))

    kitchen.say()
    rung = kitchen.begun
    await home.passing(lambda: kitchen.begun > rung + 3)

    assert spoken(home) == ["Your pizza timer is done."]
    assert len(timers(home).all()) == 1


async def test_a_ring_breaks_off_no_answer(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "slow"}, {"text": "Four hundred grams."}])
    kitchen = room(home, "kitchen", "Kitchen")
    await told(home, "kitchen", action="set", name="pizza", duration="1m")
    await home.clock.advance(59)
    home.ears.hears.append("How much flour?")
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: "Your pizza timer is done." in spoken(home))
    rung = kitchen.begun
    await home.passing(lambda: kitchen.begun > rung + 1)

    openai_server.release("slow")
    turn = await home.turn()

    assert (turn.answer, turn.outcome) == ("Four hundred grams.", "answered")
    assert kitchen.listens == 0


async def test_two_that_ring_in_one_room_ring_in_turn_and_one_word_ends_both(home: VoiceHome) -> None:
    kitchen = room(home, "kitchen", "Kitchen")
    for name in ("pizza", "tea"):
        await told(home, "kitchen", action="set", name=name, duration="1m")
    await home.clock.advance(61)
    await home.passing(lambda: len(spoken(home)) == 2)

    await said(home, kitchen, "stop")
    await home.passing(lambda: not timers(home).all())

    assert len(home.ears.heard) == 1


async def test_somebody_who_presses_the_button_while_it_listens_ends_the_ring_and_is_heard(home: VoiceHome) -> None:
    kitchen = await ringing(home)

    kitchen.line.wake()
    home.ears.hears.append("stop")
    kitchen.say()
    turn = await home.turn()
    await home.passing(lambda: not timers(home).all())

    assert turn.text == "stop"


async def test_an_agent_puts_off_what_rings_and_nothing_else(home: VoiceHome) -> None:
    await ringing(home)
    await told(home, "kitchen", action="set", name="tea", duration="1h")

    snoozed = await told(home, "kitchen", action="snooze", duration="10m")
    refused = await call(home, "kitchen", action="snooze", name="tea")
    long = await call(home, "kitchen", action="snooze", duration="2h")

    assert [(each["name"], each["left_s"], each["snoozed"]) for each in snoozed["snoozed"]] == [("pizza", 600, True)]
    assert "there is no timer called 'tea'" in refused.output
    assert "at most 60m" in long.output


async def test_a_service_puts_off_what_rings_or_has_just_rung(home: VoiceHome) -> None:
    kitchen = await ringing(home)
    by = Context(home.people.owner_authority())

    with pytest.raises(NotFound, match="nothing rings there"):
        await home.services.call("voice", "snooze", {"entity_id": "assist_satellite.hall"}, context=by)
    kitchen.line.stop()
    await home.passing(lambda: not timers(home).all())
    await home.services.call("voice", "snooze", {"entity_id": "assist_satellite.kitchen", "minutes": 3}, context=by)

    assert round(timers(home).all()[0].left(home.clock.time())) == 180


# --- alarms that repeat ---


def at(year: int, month: int, day: int, hour: int, minute: int = 0) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=BERLIN).timestamp()


def next_ring(home: VoiceHome) -> str:
    ends = timers(home).all()[0].ends_at
    return f"{datetime.fromtimestamp(ends or 0, BERLIN):%a %d %b %H:%M}"


async def go(home: VoiceHome, moment: float) -> None:
    """Let a long time pass: as if asleep at first, so that what comes due at the end comes due on time."""
    home.clock.jump(moment - 60 - home.clock.time())
    await home.clock.advance(60)


async def ended(home: VoiceHome, kiosk: Kiosk) -> None:
    """Let it ring, and touch it."""
    begun = kiosk.begun
    await home.passing(lambda: kiosk.begun > begun + 1)
    kiosk.line.stop()
    await home.passing(lambda: timers(home).all()[0].left(home.clock.time()) > 0)


async def test_an_alarm_rings_on_its_days_at_its_time_of_day_through_clock_changes(home: VoiceHome) -> None:
    bedroom = room(home, "bedroom", "Bedroom")
    await go(home, at(2027, 3, 25, 12, 0))  # a Thursday; clocks go forward on Sunday at two
    texts = [(await told(home, "bedroom", action="set", at="02:30", repeat=["fri", "sun"]))["set"][0]["repeats"]]

    rings = [next_ring(home)]
    for moment in (at(2027, 3, 26, 2, 30), at(2027, 3, 28, 3, 0), at(2027, 4, 2, 2, 30)):
        await go(home, moment + 1)
        await ended(home, bedroom)
        rings.append(next_ring(home))
    await home.clock.advance(60)
    texts += [
        each["repeats"] for each in (await told(home, "bedroom", action="change", repeat=["weekdays"]))["changed"]
    ]

    assert rings == ["Fri 26 Mar 02:30", "Sun 28 Mar 03:00", "Fri 02 Apr 02:30", "Sun 04 Apr 02:30"]
    assert texts == ["every Friday and Sunday at 02:30", "every weekday at 02:30"]
    assert next_ring(home) == "Mon 05 Apr 02:30"


async def test_the_next_ring_alone_is_left_out_and_the_alarm_stays(home: VoiceHome) -> None:
    room(home, "bedroom", "Bedroom")
    await go(home, at(2027, 1, 4, 12, 0))  # a Monday
    await told(home, "bedroom", action="set", at="7:00", repeat=["daily"])

    skipped = await told(home, "bedroom", action="skip")
    await told(home, "bedroom", action="pause")
    await told(home, "bedroom", action="resume")
    resumed = next_ring(home)
    moved = await told(home, "bedroom", action="change", at="6:30")
    once = await told(home, "bedroom", action="set", at="20:00", name="film")
    refused = [
        (await call(home, "bedroom", action=action, name="film", **more)).output
        for action, more in (("skip", {}), ("set", {"duration": "5m", "repeat": ["daily"]}))
    ]
    by = await call(home, "bedroom", action="change", name="every day", by="5m")
    unclear = await call(home, "bedroom", action="cancel")

    assert skipped["skipped"][0]["ends"].startswith("2027-01-06T07:00")
    assert resumed == "Tue 05 Jan 07:00"
    assert [(each["repeats"], each["ends"][:16]) for each in moved["changed"]] == [
        ("every day at 06:30", "2027-01-05T06:30")
    ]
    assert "repeats" not in once["set"][0]
    assert "it rings once only" in refused[0]
    assert "only an alarm repeats" in refused[1]
    assert "it repeats" in by.output
    assert "film alarm (Bedroom, 8 hours), alarm every day at 06:30 (Bedroom, 18 hours 30 minutes)" in unclear.output


async def test_who_cancels_an_alarm_that_rings_silences_this_ring_and_keeps_the_alarm(home: VoiceHome) -> None:
    bedroom = room(home, "bedroom", "Bedroom")
    await go(home, at(2027, 1, 4, 12, 0))
    await told(home, "bedroom", action="set", at="7:00", repeat=["weekdays"])
    await go(home, at(2027, 1, 5, 7, 0) + 1)
    await home.passing(lambda: bedroom.begun > 1)

    silenced = await told(home, "bedroom", action="cancel")
    await go(home, at(2027, 1, 6, 7, 0) + 1)
    await ended(home, bedroom)
    just_rung = await told(home, "bedroom", action="cancel")
    gone = await told(home, "bedroom", action="cancel")

    assert silenced["silenced"][0]["ends"].startswith("2027-01-06T07:00")
    assert just_rung["silenced"][0]["ends"].startswith("2027-01-07T07:00")
    assert [each["repeats"] for each in gone["cancelled"]] == ["every weekday at 07:00"]
    assert timers(home).all() == []


async def test_an_alarm_that_was_put_off_rings_again_and_then_at_its_next_time(home: VoiceHome) -> None:
    bedroom = room(home, "bedroom", "Bedroom")
    await go(home, at(2027, 1, 4, 12, 0))
    await told(home, "bedroom", action="set", at="7:00", repeat=["daily"])
    await go(home, at(2027, 1, 5, 7, 0) + 1)

    await said(home, bedroom, "snooze")
    await home.passing(lambda: timers(home).all()[0].is_snoozed)
    put_off = next_ring(home)
    await home.clock.advance(301)
    await ended(home, bedroom)

    assert put_off == "Tue 05 Jan 07:05"
    assert next_ring(home) == "Wed 06 Jan 07:00"


async def test_alarms_are_kept_over_a_restart_and_follow_another_time_zone(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    async with voice_home(tmp_path, openai_server.base_url, hub={"time_zone": "Europe/Berlin"}) as before:
        room(before, "bedroom", "Bedroom")
        await go(before, at(2027, 1, 4, 12, 0))
        await told(before, "bedroom", action="set", at="7:00", repeat=["daily"])
        await told(before, "bedroom", action="skip")
    home = VoiceHome(tmp_path, openai_server.base_url, {"hub": {"time_zone": "America/New_York"}})
    home.clock.jump(at(2027, 1, 4, 13, 0) - home.clock.time())
    async with home:
        home.satellites.configure({"speech_model": "voice/auto"})
        bedroom = room(home, "bedroom", "Bedroom")
        await as_time_passes(home.clock, 0.05, lambda: timers(home).all())
        kept = timers(home).all()[0]

    assert bedroom.begun == 0
    assert kept.repeats is not None
    assert datetime.fromtimestamp(kept.ends_at or 0, ZoneInfo("America/New_York")).isoformat()[:16] == (
        "2027-01-05T07:00"
    )


async def test_alarms_move_at_once_when_the_time_zone_of_the_home_is_changed(home: VoiceHome) -> None:
    bedroom = room(home, "bedroom", "Bedroom")
    await go(home, at(2027, 1, 4, 14, 0))
    await told(home, "bedroom", action="set", at="7:00", repeat=["daily"])
    await told(home, "bedroom", action="set", name="pizza", duration="24h")
    alarm, pizza = timers(home).all()
    changes: list[tuple[str, str]] = []
    home.bus.listen("voice_timer", lambda event: changes.append((event.data["id"], event.data["change"])))
    file = home.home.path / "configuration.yaml"

    file.write_text(file.read_text("utf-8").replace("Europe/Berlin", "America/New_York"), "utf-8")
    await home.config.reload()

    assert [each.ends_at for each in timers(home).all()] == [(alarm.ends_at or 0) + 6 * 3_600, pizza.ends_at]
    await until(lambda: changes == [(alarm.id, "updated")])
    await go(home, at(2027, 1, 5, 12, 59))
    assert bedroom.begun == 0
    await go(home, at(2027, 1, 5, 13, 1))
    await home.passing(lambda: bedroom.begun)
