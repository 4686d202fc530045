"""Telephone calls as a channel: one number at Twilio."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, LimitExceeded, TimedOut, Unauthorized, Unavailable
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    DeliveryState,
    InboundMessage,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour, render, spoken_words
from hub.messaging.texts import say
from hub.models.transcription import Transcribe
from hub.voice.mouth import broken_off, sentences_of
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.twilio_api import TwilioApi, is_refusal
from integrations.channels.voice_call import twiml
from integrations.channels.voice_call.call import PhoneCall
from integrations.channels.voice_call.ledger import DAY_S, KEPT, CallLimits, CallRecord, describe_day, seconds_left
from integrations.channels.voice_call.mulaw import from_wav, to_wav

_log = logging.getLogger(__name__)

NAME = "voice_call"
TEXT_LENGTH = 1_500
TOKEN_BYTES = 32
TOKEN_LIFE_S = 120.0
WAITING_LIMIT = 50
"""Calls that may wait for their stream at once."""
RING_S = 40
ANSWER_S = 30.0
"""Between somebody taking a call, and its stream."""
CODE_WAIT_S = 5.0
OPEN_WAIT_S = 5.0
"""Twilio announces a call once."""
SPEECH_S = 60.0
HEARING_S = 60.0
ANSWERED_KEPT = 200
SAVED_EVERY_S = 60
PRICE_WAITS_S = (60.0, 600.0, 3_600.0, 14_400.0)
"""Twilio knows the price of a call some time after its end."""
EVENT_CALL_ENDED, EVENT_CALL_PRICED = "call_ended", "call_priced"

_FAILED = {
    "busy": "the line is busy",
    "no-answer": "nobody answers",
    "failed": "the number cannot be reached",
    "canceled": "the call was cancelled",
    "completed": "the call ended before anything was said",
}


class VoiceAccount(Struct, frozen=True):
    """One entry of the configuration.

    Attributes:
        pairing: Whether strangers are told a code.
    """

    account: str
    sid: str
    token: Secret
    number: str
    public_url: str
    api_root: str
    limits: CallLimits
    silence_ms: int = 700
    greeting: str | None = None
    outgoing: bool = False
    pairing: bool = True
    language: str = "en"


class Voice(Struct, frozen=True):
    """The ears and the mouth.

    Attributes:
        transcriber: Returns what turns a WAV file into text; None where no model is configured, so that keys are all
            it hears.
        speak: Returns a text in a language as a WAV file.
    """

    transcriber: Callable[[], Transcribe | None]
    speak: Callable[[str, str], Awaitable[bytes]]


class _Expected(Struct, frozen=True, eq=False):
    """A call that waits for its stream.

    Attributes:
        answered: Gets the call when its stream is open, of a call that was made here.
    """

    sid: str
    number: str
    until: float
    limit_s: int
    answered: asyncio.Future[PhoneCall] | None = None


class VoiceCallChannel(ApiChannel):
    """One number, and the calls on it.

    Args:
        fire: Tells the hub of the end of a call, and of its price.
    """

    name = NAME
    _api: TwilioApi
    limits = ChannelLimits(text=TEXT_LENGTH, weak_identity=True, is_speech=True)

    def __init__(
        self, config: VoiceAccount, voice: Voice, clock: Clock, fire: Callable[[str, dict[str, Any]], object]
    ) -> None:
        super().__init__(config.account, clock)
        self.config = config
        self._voice = voice
        self._fire = fire
        self._opened = asyncio.Event()
        self._calls: dict[str, PhoneCall] = {}
        self._expected: dict[bytes, _Expected] = {}
        self._made: dict[str, asyncio.Future[PhoneCall]] = {}
        self._refusing: dict[str, asyncio.Future[str]] = {}
        self._answered: deque[str] = deque(maxlen=ANSWERED_KEPT)
        self._ended_by: deque[str | None] = deque(maxlen=ANSWERED_KEPT)

    @property
    def path(self) -> str:
        """Where Twilio announces calls."""
        return f"/{NAME}/{self.account}"

    async def start(self, receive: Receiver) -> None:
        """Start; calls are taken once Twilio has confirmed the account."""
        self._receive = receive
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._records = PersistentMap(receive, "calls", KEPT, CallRecord)
        self._api = TwilioApi(self.config.api_root, self.config.sid, self.config.token)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._opened.clear()
        for call in list(self._calls.values()):
            await call.hang_up()

    async def _connect(self) -> None:
        """Look the account up, and take calls until Twilio refuses its token."""
        try:
            await self._asked("GET", "")
        except PlatformError as error:
            if error.state is DeliveryState.PERMANENT:
                raise AccountRefused(f"{error.message}. See docs/channels/voice_call.md.") from error
            raise
        self._receive.identified(self.config.number, self.config.number)
        await self._records.load()
        self._opened.set()
        self._receive.connected()
        self._ask_prices(
            sid
            for sid, each in self._records.items()
            if each.seconds and each.price is None and each.at > self._clock.time() - DAY_S
        )
        raise AccountRefused(await self._refusal)

    async def _asked(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            return await self._api.call(method, path, **request)
        except PlatformError as error:
            if is_refusal(error) and not self._refusal.done():
                self._refusal.set_result(f"{error.message}. See docs/channels/voice_call.md.")
            raise

    async def _who(self) -> dict[str, Any]:
        """Return the number, and whether Twilio announces its calls here."""
        await self._asked("GET", "")
        found = await self._asked("GET", "IncomingPhoneNumbers.json", params={"PhoneNumber": self.config.number})
        numbers, missing = found.get("incoming_phone_numbers") or [], []
        url = self.config.public_url + self.path
        if not numbers:
            missing.append(f"{self.config.number} is no number of this account")
        elif numbers[0].get("voice_url") != url:
            missing.append(f"the number's webhook for a call that comes in is not {url}")
        if self._voice.transcriber() is None:
            missing.append("no transcription_model is configured, so that it hears keys alone")
        number, today = self.config.number, self.describe_day()
        shown = {"account_id": number, "name": number, "calls": len(self._calls), "today": today}
        return shown | ({"missing": missing} if missing else {})

    # --- calls that come in ---

    async def ring(self, sid: str, number: str) -> str:
        """Return the TwiML for a call that comes in: a stream for who may talk, for others a code or nothing.

        Raises:
            Unauthorized: It was announced before.
            Unavailable: The channel is not connected.
            HubError: It cannot be stored.
        """
        try:
            async with asyncio.timeout(OPEN_WAIT_S):
                await self._opened.wait()
        except TimeoutError as error:
            raise Unavailable("the number is not connected") from error
        self._receive.progress()
        if self._records.get(sid) is not None:
            raise Unauthorized("this call was announced before")
        left_s = self.seconds_left()
        caller = self._message(number, sid, "")
        is_number = number.startswith("+") and number[1:].isdigit()
        if not is_number or number in self._calls or number in self._refusing or len(self._expected) >= WAITING_LIMIT:
            return twiml.reject()
        if not self._receive.admits(caller):
            return await self._refuse(sid, caller)
        await self._records.put(sid, CallRecord(number, int(self._clock.time())))
        if not left_s:
            return twiml.say_twice(self._say("call.limit"), self.config.language)
        return self._expect(sid, number, left_s)

    async def _refuse(self, sid: str, caller: InboundMessage) -> str:
        """Let a stranger hear a pairing code, if they get one; nothing of them is kept."""
        number = caller.address.peer
        code: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._refusing[number] = code
        try:
            await self._receive(caller)
            async with asyncio.timeout(CODE_WAIT_S if self.config.pairing else 0):
                text = await code
        except TimeoutError:
            return twiml.reject()
        finally:
            del self._refusing[number]
        return twiml.say_twice(text, self.config.language)

    def _expect(self, sid: str, number: str, limit_s: int, answered: asyncio.Future[PhoneCall] | None = None) -> str:
        """Return the TwiML that opens a stream, once, for a call."""
        now = self._clock.monotonic()
        self._expected = {key: each for key, each in self._expected.items() if each.until > now}
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._expected[_key(token)] = _Expected(sid, number, now + TOKEN_LIFE_S, limit_s, answered)
        url = "ws" + self.config.public_url.removeprefix("http") + self.path
        return twiml.connect(url, token)

    async def serve(
        self, socket: web.WebSocketResponse, stream: str, sid: str, token: str, accept: Callable[[], None]
    ) -> None:
        """Hold the call of a stream until it ends.

        Args:
            accept: Called once it is known that it is one: then more may come over the connection than from a stranger.

        Raises:
            Unauthorized: It is none that waits for one.
        """
        expected = self._expected.pop(_key(token), None)
        if expected is None or expected.until < self._clock.monotonic() or expected.sid not in ("", sid):
            raise Unauthorized("no call waits for this stream")
        if expected.number in self._calls or not self._opened.is_set():
            raise Unavailable("there is a call with this number already")
        accept()
        outgoing = expected.answered is not None
        call = PhoneCall(
            sid, expected.number, outgoing=outgoing, limit_s=expected.limit_s, silence_ms=self.config.silence_ms
        )
        self._calls[call.number] = call
        work = [
            self._tasks.spawn(self._listen(call), name=f"listen to {sid}"),
            self._tasks.spawn(self._count(call), name=f"count {sid}"),
        ]
        if expected.answered is not None and not expected.answered.done():
            expected.answered.set_result(call)
        greeting = self._say("call.greeting") if self.config.greeting is None else self.config.greeting
        if greeting and not outgoing:
            work.append(self._tasks.spawn(self._tell(call, greeting), name=f"greet {sid}"))
        try:
            await call.run(socket, stream)
        finally:
            del self._calls[call.number]
            await self._keep(call)
            self._tell_ended(call)
            await asyncio.wait(work, timeout=HEARING_S)

    def ended(self, sid: str, status: str) -> None:
        """Note what Twilio tells about a call that was made here."""
        self._receive.progress()
        made = self._made.get(sid)
        if made is not None and not made.done() and status in _FAILED:
            made.set_exception(Unavailable(_FAILED[status]))

    async def _count(self, call: PhoneCall) -> None:
        """Keep how long a call lasts, and end it when its time is up."""
        kept = 0
        while not call.ended.is_set():
            waits = [asyncio.ensure_future(each.wait()) for each in (call.ended, call.over_time)]
            _, pending = await asyncio.wait(waits, timeout=SAVED_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            for each in pending:
                each.cancel()
            if call.over_time.is_set() and not call.ended.is_set():
                await self._tell(call, self._say("call.limit"))
                await call.hang_up()
            elif call.seconds >= kept + SAVED_EVERY_S:
                kept = call.seconds
                await self._keep(call)

    async def _keep(self, call: PhoneCall) -> None:
        record = self._records.get(call.sid) or CallRecord(call.number, int(self._clock.time()), call.outgoing)
        try:
            await self._records.put(call.sid, replace(record, seconds=call.seconds))
        except HubError as error:
            _log.warning("voice_call: the length of a call is not kept: %s", error)

    # --- what it cost ---

    def describe_day(self) -> str:
        """Return a sentence about the calls of today and what they cost."""
        return describe_day((each for _, each in self._records.items()), self._clock.time())

    def _tell_ended(self, call: PhoneCall) -> None:
        """Tell the audit of a call that ended, and ask Twilio later what it cost."""
        per_minute = self.config.limits.price_per_minute
        estimate = {} if per_minute is None else {"estimate": round(per_minute * -(-call.seconds // 60), 4)}
        self._fire(EVENT_CALL_ENDED, {**self._about(call.sid), **estimate})
        self._ask_prices([call.sid])

    def _ask_prices(self, sids: Iterable[str]) -> None:
        if unknown := set(sids):
            self._tasks.spawn(self._find_prices(unknown), name="ask what calls cost")

    async def _find_prices(self, unknown: set[str]) -> None:
        for wait_s in PRICE_WAITS_S:
            await self._clock.sleep(wait_s)
            for sid in sorted(unknown):
                try:
                    found = await self._asked("GET", f"/Calls/{sid}.json")
                    price, currency = found.get("price"), str(found.get("price_unit") or "")
                    if price is None or (record := self._records.get(sid)) is None:
                        continue
                    amount = abs(float(price))  # what is charged is negative there
                    await self._records.put(sid, replace(record, price=amount, currency=currency))
                except (HubError, PlatformError, ValueError) as error:
                    _log.info("voice_call: what the call %s cost is not known yet: %s", sid, error)
                    continue
                unknown.discard(sid)
                self._fire(EVENT_CALL_PRICED, {**self._about(sid), "price": f"{amount:.4f} {currency}"})
            if not unknown:
                return

    def _about(self, sid: str) -> dict[str, Any]:
        record = self._records.get(sid) or CallRecord("", 0)
        them, us = record.number, self.config.number
        told = {"id": sid, "channel": NAME, "account": self.account, "seconds": record.seconds}
        return {**told, "from": us if record.outgoing else them, "to": them if record.outgoing else us}

    # --- what is said ---

    async def _listen(self, call: PhoneCall) -> None:
        """Hand what the other side says to its conversation, or keep it for the agent that called."""
        while (said := await call.words.get()) is not None:
            try:
                text = said if isinstance(said, str) else await self._text_of(said)
                if not text:
                    continue
                message = self._message(call.number, f"{call.sid}-{next(call.utterances)}", text)
                if call.interrupted is not None:
                    message = replace(message, note=broken_off(call.interrupted))
                    call.interrupted = None
                if not self._receive.admits(message):
                    if call.outgoing and not call.heard.full():
                        call.heard.put_nowait(text)
                    continue
                receipt = await self._receive(message)
                call.keys.add(receipt.session_key or "")
                self._answered.append(receipt.run_id or "")
            except HubError as error:
                _log.warning("voice_call: what was said is lost: %s", error)
                if call.is_up:
                    await self._tell(call, self._say("call.not_understood"))

    async def _text_of(self, sound: bytes) -> str:
        if (transcribe := self._voice.transcriber()) is None:
            return ""
        try:
            async with asyncio.timeout(HEARING_S):
                return (await transcribe(to_wav(sound), "call.wav", self.config.language)).strip()
        except TimeoutError as error:
            raise TimedOut("the model does not say what was said") from error

    def _message(self, number: str, id: str, text: str) -> InboundMessage:
        address = Address(NAME, number, self.account)
        return InboundMessage(address, id, f"{NAME}:user:{number}", text, sent_at=self._clock.time())

    async def _tell(self, call: PhoneCall, text: str) -> None:
        """Say something whose loss does not matter."""
        try:
            await call.speak(await self._sound_of(text))
        except HubError as error:
            _log.info("voice_call: %s", error)

    async def _sound_of(self, text: str) -> bytes:
        """Return a text as sound of the telephone.

        Raises:
            HubError: The model does not speak.
        """
        try:
            async with asyncio.timeout(SPEECH_S):
                data = await self._voice.speak(text, self.config.language)
        except TimeoutError as error:
            raise TimedOut("the model that speaks does not answer") from error
        try:
            return await asyncio.to_thread(from_wav, data)
        except ValueError as error:
            raise Unavailable(f"the model that speaks did not give a WAV file: {error}") from error

    def _say(self, key: str) -> str:
        return say(key, self.config.language)

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str | None:
        """Say a message in the call with its number; without one, call, where that is allowed."""
        number, text = message.address.peer, spoken_words(message.text)
        text = text or render(message.text, Flavour.PLAIN)
        if (code := self._refusing.get(number)) is not None and not code.done():
            code.set_result(text)
            return None
        if message.run_id is not None and message.run_id in self._ended_by:
            return None  # who says it hung up
        if number not in self._calls and (refusal := self._why_not_call(message)) is not None:
            raise PlatformError(DeliveryState.PERMANENT, refusal)
        sentences = sentences_of(text) or [text]
        first = await self._sound_of(sentences[0])
        try:
            await self._speak_all(await self.call_out(number), first, sentences, message.run_id)
        except PlatformError:
            raise
        except TimedOut as error:
            raise PlatformError(DeliveryState.UNKNOWN, error.message) from error
        except HubError as error:
            raise PlatformError(DeliveryState.PERMANENT, error.message) from error
        return message.id

    async def _speak_all(self, call: PhoneCall, sound: bytes, sentences: Sequence[str], run_id: str | None) -> None:
        """Say sentences, of which the first is made; each is made while the one before is spoken."""
        for text, following in zip_longest(sentences, sentences[1:]):
            making = asyncio.ensure_future(self._sound_of(following)) if following is not None else None
            try:
                if not await call.speak(sound, run_id, text) or making is None:
                    return
                sound = await making
            finally:
                if making is not None:
                    making.cancel()

    def _why_not_call(self, message: OutboundMessage) -> str | None:
        number = message.address.peer
        if message.run_id is not None and message.run_id in self._answered:
            return "the call was over before the answer was ready; it is in the conversation"
        if not self.config.outgoing:
            return f"there is no call with {number}, and the account may not call (outgoing: true lets it)"
        if not self._receive.admits(self._message(number, message.id, "")):
            return f"{number} may not talk here, and is called by the tool voice_call alone"
        return None

    def call_with(self, number: str) -> PhoneCall | None:
        """Return the call with a number, if there is one."""
        return self._calls.get(number)

    def calls(self) -> list[PhoneCall]:
        """Return the calls that are up."""
        return list(self._calls.values())

    def seconds_left(self) -> int:
        """Return how long a call may last that begins now."""
        return seconds_left(self.config.limits, (each for _, each in self._records.items()), self._clock.time())

    async def call_out(self, number: str) -> PhoneCall:
        """Call somebody, and wait until they answer; the call with them, if there is one.

        Raises:
            LimitExceeded: The limits of the day are reached.
            Unavailable: They do not answer.
            PlatformError: Twilio does not call.
        """
        if not self._opened.is_set():
            raise Unavailable("the number is not connected")
        if (call := self._calls.get(number)) is not None:
            return call
        if not (left_s := self.seconds_left()):
            raise LimitExceeded("the calls of today have reached the limit of minutes or money of this account")
        answered: asyncio.Future[PhoneCall] = asyncio.get_running_loop().create_future()
        form = {
            "To": number,
            "From": self.config.number,
            "Twiml": self._expect("", number, left_s, answered),
            "Timeout": str(RING_S),
            "TimeLimit": str(left_s),
            "StatusCallback": f"{self.config.public_url}{self.path}/status",
        }
        sid = ""
        try:
            try:
                sid = str((await self._asked("POST", "Calls.json", data=form))["sid"])
                self._made[sid] = answered
                await self._records.put(sid, CallRecord(number, int(self._clock.time()), outgoing=True))
            except PlatformError as error:
                if error.state is not DeliveryState.UNKNOWN:
                    raise
                _log.warning("voice_call: %s; whether it rings is seen when somebody answers", error)
            async with asyncio.timeout(RING_S + ANSWER_S):
                return await answered
        except TimeoutError as error:
            raise Unavailable("nobody answers") from error
        finally:
            self._made.pop(sid, None)
            answered.cancel()
            self._expected = {key: each for key, each in self._expected.items() if each.answered is not answered}

    async def speak(self, call: PhoneCall, text: str) -> bool:
        """Say something in a call; return whether it was heard to its end.

        Raises:
            HubError: It cannot be said.
        """
        return await call.speak(await self._sound_of(text))

    async def transfer(self, call: PhoneCall, number: str) -> None:
        """Put a call through to another number; it is over here then.

        Raises:
            PlatformError: Twilio refuses.
        """
        await self._asked("POST", f"Calls/{call.sid}.json", data={"Twiml": twiml.dial(number)})

    async def hang_up(self, call: PhoneCall, run_id: str | None = None) -> None:
        """End a call; what the run that ended it says later is not said any more."""
        self._ended_by.append(run_id)
        await call.hang_up()


def _key(token: str) -> bytes:
    """Return what a token is found by: looking it up must not tell how much of it is right."""
    return hashlib.sha256(token.encode()).digest()
