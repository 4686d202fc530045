"""Calls: announced with a signature, held on a stream with a token, interrupted, limited, and made."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hub.core.errors import Unavailable
from hub.core.ids import new_id
from hub.messaging.contract import Address, DeliveryState, Inbound, InboundMessage, OutboundMessage, Receipt
from integrations.channels.twilio_signature import sign
from integrations.channels.voice_call.call import DIGITS_PAUSE_FRAMES
from integrations.channels.voice_call.channel import Voice, VoiceCallChannel
from integrations.channels.voice_call.ledger import CallLimits, CallRecord, describe_day, seconds_left
from integrations.channels.voice_call.mulaw import FRAME_BYTES, FRAMES_PER_S, from_wav
from integrations.channels.voice_call.schema import CONFIG_SCHEMA
from tests.channels.kit import EVE, Heard, HurriedClock
from tests.channels.voice_call_rig import PEOPLE, VoiceCallRig
from tests.integrations.channels.voice_call.conftest import connected
from tests.integrations.channels.voice_call.test_mulaw import espeak
from tests.servers.coded_sound import as_sound
from tests.servers.telephone_server import SILENCE, Telephone, TwilioServer, speak, transcribe
from tests.until import until

ADAS = next(iter(PEOPLE.values()))


def texts(heard: Heard) -> list[str]:
    return [each.text for each in heard.inbound if isinstance(each, InboundMessage)]


def message(text: str, number: str = ADAS, run_id: str | None = None) -> OutboundMessage:
    return OutboundMessage(new_id(), Address("voice_call", number), text, run_id=run_id)


# --- what is announced ---


@pytest.mark.parametrize("path", ["", "/status"])
async def test_what_is_not_signed_by_the_account_is_refused(
    channel: VoiceCallChannel, server: TwilioServer, heard: Heard, path: str
) -> None:
    fields = {"CallSid": "CA1", "From": ADAS, "CallStatus": "ringing"}
    right = sign(server.token, server.hub + path, list(fields.items()))
    foreign = sign("another account's", server.hub + path, list(fields.items()))
    elsewhere = sign(server.token, "https://evil.example/voice_call/default", list(fields.items()))

    for wrong in ("", "é", foreign, elsewhere, right[:-1]):
        assert (await server.post(path, fields, wrong))[0] == 401
    assert (await server.post(path, {**fields, "From": "+49301"}, right))[0] == 401
    assert (await server.post(path, [("CallSid", "x" * 20_000)], right))[0] == 413

    assert heard.inbound == []


async def test_a_call_that_was_announced_before_gets_no_second_stream_also_after_a_restart(
    channel: VoiceCallChannel, platform: VoiceCallRig, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    await ada.dial()
    await ada.hang_up()
    await until(lambda: not channel.calls())

    await ada.dial(CallSid=ada.sid)
    await channel.stop()
    again = platform.made(clock)
    await connected(again, heard)
    await ada.dial(CallSid=ada.sid)
    await again.stop()

    assert ada.refused == [401, 401]


async def test_a_stream_needs_the_token_of_a_call_that_waits_and_only_once(
    channel: VoiceCallChannel, server: TwilioServer, ada: Telephone
) -> None:
    url = server.hub.replace("http", "ws")
    thief = server.telephone("+4930999999")
    thief.sid = server.new_sid()
    await thief.connect(url, {})
    await until(lambda: thief.closed == 4_003)
    await thief.connect(url, {"token": "guessed"})
    await until(lambda: not thief.is_up)
    await ada.dial()
    await until(lambda: len(channel.calls()) == 1)
    thief.sid = ada.sid

    await thief.connect(url, {"token": ada.token})
    await until(lambda: not thief.is_up)

    assert [each.number for each in channel.calls()] == [ADAS]
    assert len(ada.token) == 43


async def test_a_token_is_of_one_call(channel: VoiceCallChannel, server: TwilioServer) -> None:
    _, twiml = await server.post("", {"CallSid": "CA7", "From": ADAS, "To": server.number})
    telephone = server.telephone(ADAS)
    telephone.sid = "CA8"

    await telephone.do(twiml)
    await until(lambda: telephone.closed == 4_003)

    assert channel.calls() == []


@pytest.mark.parametrize("first", [b"{", b"[]", b'{"event": "start"}', b'{"event": 1}', b'{"event": "media"}'])
async def test_a_stream_that_begins_otherwise_is_closed(
    channel: VoiceCallChannel, server: TwilioServer, first: bytes
) -> None:
    async with server.client.ws_connect(server.hub.replace("http", "ws")) as socket:
        for _ in range(3):
            await socket.send_str(first.decode())
        closed = await socket.receive()

    assert closed.data == 4_003


async def test_frames_that_are_not_understood_are_left_out(
    channel: VoiceCallChannel, ada: Telephone, heard: Heard
) -> None:
    await ada.dial()
    assert ada._socket is not None
    for each in ("{", "[]", "{}", '{"event": "media", "media": {"payload": "?"}}', '{"event": "dtmf"}'):
        await ada._socket.send_str(each)

    await ada.say("hello")

    await until(lambda: texts(heard) == ["hello"])


async def test_a_stranger_is_refused_where_nobody_pairs_and_nothing_of_them_is_kept(
    platform: VoiceCallRig, heard: Heard, clock: HurriedClock
) -> None:
    heard.strangers = [platform.identity(EVE)]
    channel = platform.made(clock, pairing=False)
    await connected(channel, heard)
    eve = platform.telephone(EVE)

    await eve.dial()
    await eve.dial(From="anonymous")
    await channel.stop()

    assert eve.refused == ["rejected", "rejected"]
    assert await heard.cursor("calls") is None


# --- a call ---


async def test_a_caller_is_greeted_asks_is_answered_and_hangs_up(
    platform: VoiceCallRig, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    channel = platform.made(clock, greeting=None)
    await connected(channel, heard)
    await ada.dial()
    await until(lambda: ada.heard == ["Hello. What can I do for you?"])

    await ada.say("is it cold?")
    await until(lambda: texts(heard) == ["is it cold?"])
    delivery = await channel.send(message("It is **cold**."))
    await ada.hang_up()
    await until(lambda: not channel.calls())
    await channel.stop()

    assert delivery.state is DeliveryState.DELIVERED
    assert ada.heard[1:] == ["It is cold."]
    (first,) = heard.inbound
    assert (first.sender, first.address.peer) == (f"voice_call:user:{ADAS}", ADAS)


async def test_who_speaks_interrupts_and_the_rest_of_that_answer_is_not_said(
    channel: VoiceCallChannel, ada: Telephone, heard: Heard
) -> None:
    ada.slow = True
    await ada.dial()
    speaking = asyncio.create_task(channel.send(message("A very long story.", run_id="run")))
    await until(lambda: any(each["event"] == "mark" for each in ada.told))

    await ada.say("stop")
    delivery = await speaking
    after = await channel.send(message("And it goes on.", run_id="run"))
    ada.slow = False
    await channel.send(message("Yes?", run_id="another"))

    assert [each["event"] for each in ada.told] == ["media", "mark", "clear", "media", "mark"]
    assert (delivery.state, after.state) == (DeliveryState.DELIVERED,) * 2
    assert ada.heard == ["Yes?"]
    await until(lambda: texts(heard) == ["stop"])


async def test_an_answer_is_spoken_by_sentences_and_the_agent_is_told_how_much_of_it_was_heard(
    channel: VoiceCallChannel, ada: Telephone, heard: Heard
) -> None:
    await ada.dial()
    speaking = asyncio.create_task(channel.send(message("The first of three sentences. ", run_id="run")))
    await speaking
    ada.slow = True
    speaking = asyncio.create_task(channel.send(message("Here comes the second one. And the third.", run_id="run")))
    await until(lambda: [each["event"] for each in ada.told].count("mark") == 2)

    await ada.say("stop")
    await speaking
    await until(lambda: texts(heard) == ["stop"])
    await ada.say("go on")
    await until(lambda: texts(heard) == ["stop", "go on"])

    assert ada.heard == ["The first of three sentences."]
    notes = [each.note for each in heard.inbound if isinstance(each, InboundMessage)]
    assert "this much of it was heard: “The first of three sentences." in notes[0]
    assert "third" not in notes[0]
    assert notes[1] == ""


async def test_nobody_is_interrupted_by_an_answer(channel: VoiceCallChannel, ada: Telephone) -> None:
    await ada.dial()
    await ada.hear(as_sound("I still"))
    speaking = asyncio.create_task(channel.send(message("An answer.")))
    await asyncio.sleep(0.05)
    before = list(ada.heard)

    await ada.hear(SILENCE * 40)
    await speaking

    assert (before, ada.heard) == ([], ["An answer."])


async def test_keys_are_a_message_after_a_hash_or_a_pause(
    channel: VoiceCallChannel, ada: Telephone, heard: Heard
) -> None:
    await ada.dial()
    await ada.press("12#")
    await until(lambda: texts(heard) == ["12"])

    await ada.press("3*")
    await ada.hear(SILENCE * (DIGITS_PAUSE_FRAMES + 1))

    await until(lambda: texts(heard) == ["12", "3*"])


async def test_what_is_not_understood_is_asked_again_and_noise_is_nothing(
    platform: VoiceCallRig, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    asked = 0

    async def hears_badly(data: bytes, name: str, language: str | None) -> str:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Unavailable("the model is away")
        return "  " if asked == 2 else await transcribe(data, name)

    channel = platform.made(clock, voice=Voice(lambda: hears_badly, speak))
    await connected(channel, heard)
    await ada.dial()
    await ada.say("one")
    await until(lambda: ada.heard == ["Sorry, I did not understand that. Please say it again."])
    await ada.say("two")
    await ada.say("three")

    await until(lambda: texts(heard) == ["three"])
    await channel.stop()


async def test_a_model_that_speaks_no_wav_is_tried_again_and_says_why(
    platform: VoiceCallRig, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    async def mumbles(text: str, language: str) -> bytes:
        return b"OggS and so on"

    channel = platform.made(clock, voice=Voice(lambda: transcribe, mumbles))
    await connected(channel, heard)
    await ada.dial()

    delivery = await channel.send(message("hello"))
    await channel.stop()

    assert delivery.state is DeliveryState.TRANSIENT
    assert "WAV" in (delivery.error or "")


async def test_a_call_ends_when_its_time_is_up_and_the_next_is_told_so(
    platform: VoiceCallRig, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    channel = platform.made(clock, limits=CallLimits(1, 1))
    await connected(channel, heard)
    await ada.dial()
    await ada.hear(SILENCE * FRAMES_PER_S * 60)
    await until(lambda: bool(ada.heard) and not channel.calls())
    await ada.dial()
    refused = await channel.send(message("a reminder"))
    await channel.stop()

    assert ada.heard == ["The time for calls is used up. Goodbye."] * 3  # Twilio says it twice
    assert refused.state is DeliveryState.PERMANENT
    assert "limit" in (refused.error or "")
    kept: dict[str, Any] = json.loads(await heard.cursor("calls") or "{}")
    assert [each.get("seconds", 0) for each in kept.values()] == [60, 0]


async def test_espeak_asks_on_the_telephone_and_hears_an_answer(
    platform: VoiceCallRig, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    asked, answered, recordings = espeak("Is the door locked?"), espeak("Yes, it is locked."), list[bytes]()

    async def hears(data: bytes, name: str, language: str | None) -> str:
        recordings.append(data)
        return "Is the door locked?"

    async def says(text: str, language: str) -> bytes:
        return answered

    channel = platform.made(clock, voice=Voice(lambda: hears, says))
    await connected(channel, heard)
    await ada.dial()
    sound = from_wav(asked)
    await ada.hear(SILENCE * 50 + sound + SILENCE * 50)
    await until(lambda: texts(heard) == ["Is the door locked?"])
    await channel.send(message("Yes, it is locked."))
    await channel.stop()

    assert from_wav(recordings[0]).strip(b"\xff") in SILENCE + sound.replace(b"\x7f", b"\xff") + SILENCE * 50
    assert len(from_wav(recordings[0])) > 0.7 * len(sound)
    assert ada.sound == from_wav(answered)
    assert len(ada.sound) > 10 * FRAME_BYTES


# --- calls that are made ---


async def test_without_a_call_a_message_calls_whoever_may_talk(
    channel: VoiceCallChannel, server: TwilioServer, ada: Telephone, heard: Heard
) -> None:
    delivery = await channel.send(message("Take your pills."))
    await ada.say("thanks")
    await until(lambda: texts(heard) == ["thanks"])

    assert delivery.state is DeliveryState.DELIVERED
    assert ada.heard == ["Take your pills."]
    ((_, form),) = server.asked
    assert (form["To"], form["From"], form["TimeLimit"]) == (ADAS, server.number, "900")


async def test_strangers_ended_calls_and_accounts_that_may_not_are_not_called(
    platform: VoiceCallRig, server: TwilioServer, heard: Heard, clock: HurriedClock
) -> None:
    heard.strangers = [platform.identity(EVE)]

    class Runs(Heard):
        async def __call__(self, inbound: Inbound) -> Receipt:
            return Receipt("1", accepted=True, run_id="run")

    channel, ada = platform.made(clock), platform.telephone()
    await connected(channel, runs := Runs())
    runs.strangers = heard.strangers
    await ada.dial()
    await ada.say("hello")
    await until(lambda: bool(channel._answered))
    await ada.hang_up()
    await until(lambda: not channel.calls())
    late = await channel.send(message("Hello.", run_id="run"))
    stranger = await channel.send(message("Your code", PEOPLE[EVE]))
    await channel.stop()
    quiet = platform.made(clock, outgoing=False)
    await connected(quiet, heard)
    forbidden = await quiet.send(message("Take your pills."))
    await quiet.stop()

    assert {each.state for each in (late, stranger, forbidden)} == {DeliveryState.PERMANENT}
    assert "was over" in (late.error or "")
    assert "may not talk" in (stranger.error or "")
    assert "outgoing: true" in (forbidden.error or "")
    assert server.asked == []


@pytest.mark.parametrize("status", ["busy", "no-answer", "failed"])
async def test_who_does_not_answer_is_not_called_again(
    channel: VoiceCallChannel, server: TwilioServer, ada: Telephone, status: str
) -> None:
    ada.answers = status

    delivery = await channel.send(message("Take your pills."))

    assert delivery.state is DeliveryState.PERMANENT
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "state", "rings"),
    [
        ({"status": 429, "code": 20429, "headers": {"Retry-After": "7"}}, DeliveryState.TRANSIENT, False),
        ({"status": 503, "code": 20503}, DeliveryState.TRANSIENT, False),
        ({"status": 400, "code": 21215}, DeliveryState.PERMANENT, False),
        ({"done": True}, DeliveryState.DELIVERED, True),  # the answer was lost, and the telephone rings
        ({"status": 502, "done": True}, DeliveryState.DELIVERED, True),
    ],
)
async def test_what_twilio_answers_is_sorted(
    channel: VoiceCallChannel,
    server: TwilioServer,
    ada: Telephone,
    fault: dict[str, Any],
    state: DeliveryState,
    rings: bool,
) -> None:
    server.fail(**fault)

    delivery = await channel.send(message("Take your pills."))

    assert delivery.state is state, delivery
    assert ada.heard == ["Take your pills."] * rings
    assert len(server.asked) == 1
    if fault.get("code") == 20429:
        assert delivery.retry_after_s == 7


async def test_a_call_is_put_through(channel: VoiceCallChannel, ada: Telephone) -> None:
    await ada.dial()
    await until(lambda: bool(channel.calls()))

    await channel.transfer(channel.calls()[0], "+4930777777")

    await until(lambda: not channel.calls())
    assert ada.dialled == "+4930777777"


async def test_a_probe_tells_what_is_missing(channel: VoiceCallChannel, server: TwilioServer) -> None:
    assert "missing" not in await channel.probe()

    server.voice_url = "https://demo.twilio.com/welcome/voice/"
    found = await channel.probe()

    assert found["ok"]
    assert server.hub in found["missing"][0]


# --- what it costs ---


async def test_a_call_is_told_of_when_it_ends_and_its_price_when_twilio_knows_it(
    platform: VoiceCallRig, server: TwilioServer, ada: Telephone, heard: Heard, clock: HurriedClock
) -> None:
    channel = platform.made(clock, limits=CallLimits(15, 60, price_per_minute=0.1))
    server.prices = [None, "-0.01700"]
    await connected(channel, heard)
    await ada.dial()
    await ada.hear(SILENCE * FRAMES_PER_S * 61)

    await ada.hang_up()
    await until(lambda: len(platform.fired) == 2)
    found = await channel.probe()
    await channel.stop()

    (ended, about), (priced, price) = platform.fired
    assert (ended, priced) == ("call_ended", "call_priced")
    assert (about["from"], about["to"], about["seconds"], about["estimate"]) == (ADAS, server.number, 61, 0.2)
    assert (price["id"], price["price"]) == (ada.sid, "0.0170 USD")
    assert found["today"] == "Calls today: 1, 2 begun minutes. Twilio charged 0.0170 USD. Models are not in it."


def test_a_price_that_is_not_known_is_not_made_up() -> None:
    records = [CallRecord(ADAS, 0, seconds=61), CallRecord(ADAS, 9, seconds=1, price=0.017, currency="USD")]

    told = describe_day(records, 100.0)

    assert told.startswith(
        "Calls today: 2, 3 begun minutes. Twilio charged 0.0170 USD; the price of 1 is not known yet."
    )


# --- limits, and the configuration ---


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        (CallLimits(15, 60), 900),
        (CallLimits(15, 10), 360),  # of 10 minutes, 61 and 120 seconds took 4
        (CallLimits(15, 4), 0),
        (CallLimits(15, 60, price_per_minute=0.1, cost_per_day=0.5), 60),
        (CallLimits(15, 60, price_per_minute=0.1, cost_per_day=0.3), 0),
        (CallLimits(15, 60, cost_per_day=0.1), 900),
    ],
)
def test_a_call_may_last_as_long_as_minutes_and_money_are_left(limits: CallLimits, seconds: int) -> None:
    day = 86_400
    records = [
        CallRecord(ADAS, day - 1, seconds=3_600),
        CallRecord(ADAS, day, seconds=61),
        CallRecord(ADAS, day + 7_000, outgoing=True, seconds=120),
    ]

    assert seconds_left(limits, records, day + 9_000.5) == seconds


GOOD = {
    "account_sid": "AC" + "0" * 32,
    "auth_token": "0123456789abcdef0123456789abcdef",
    "number": "+49 30 123456",
    "public_url": "https://my.home/",
    "speech_model": "openai/gpt-4o-mini-tts",
    "voice": "alloy",
}


def test_a_number_may_be_written_with_spaces() -> None:
    (account,) = CONFIG_SCHEMA(GOOD)

    assert (account["number"], account["public_url"]) == ("+4930123456", "https://my.home")


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": "030 123456"},
        {"number": 4930123456},
        {"number": "+112"},
        {"public_url": "http://my.home"},
        {"account_sid": "SK" + "0" * 32},
        {"auth_token": "short"},
        {"cost_per_day": 1},
    ],
)
def test_a_wrong_account_is_refused(wrong: dict[str, Any]) -> None:
    from hub.core.schema import Invalid

    with pytest.raises(Invalid):
        CONFIG_SCHEMA({**GOOD, **wrong})
