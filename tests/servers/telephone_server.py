"""Twilio's API for calls, and telephones that speak its Media Streams: real sockets, faults as told.

Written after Twilio's documentation. A call that somebody makes is announced to the webhook, signed; the TwiML of the
answer is done: a stream is opened, a text is said, or the call is refused. A telephone plays at once what it is sent,
unless it is told to be slow. What people and models say is coded in the sound (`as_sound`), so that nothing depends on
a model that understands speech.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from xml.etree import ElementTree

import aiohttp
from aiohttp import encode_basic_auth, web

from integrations.channels.twilio_signature import sign
from integrations.channels.voice_call.mulaw import FRAME_BYTES, from_wav, to_wav
from tests.servers.coded_sound import as_sound, text_of

SID, TOKEN, NUMBER = "AC" + "a1" * 16, "b2" * 16, "+4930111111"
SILENCE = b"\xff" * FRAME_BYTES
DIGITS = "0123456789ABCDabcdwW*#"

Json = dict[str, Any]


async def speak(text: str, language: str) -> bytes:
    """Return a text as a WAV file, as a model that speaks does."""
    return to_wav(as_sound(text))


async def transcribe(data: bytes, name: str, language: str | None = None) -> str:
    """Return what is said in a WAV file, as a model that hears does."""
    assert name.endswith(".wav")
    return text_of(from_wav(data))


@dataclass
class CallFault:
    """What goes wrong with the next request; without a status the line breaks."""

    status: int = 0
    code: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


@dataclass
class Telephone:
    """The telephone of somebody, and what is heard on it.

    Attributes:
        answers: What it does when it is called: None to be taken, or a status of Twilio's.
        slow: Whether it plays nothing until `play`.
        heard: What was said, in order: by a model, or by Twilio itself.
        told: The text frames of the stream.
        played: How many pieces were played to their end.
        dialled: The number that the call was put through to.
    """

    number: str
    server: TwilioServer
    answers: str | None = None
    slow: bool = False
    heard: list[str] = field(default_factory=list)
    told: list[Json] = field(default_factory=list)
    refused: list[int | str] = field(default_factory=list)
    dialled: str | None = None
    sid: str = ""
    token: str = ""
    closed: int | None = None
    played: int = 0
    sound: bytes = b""
    _socket: aiohttp.ClientWebSocketResponse | None = None
    _playing: list[tuple[bytes, str | None]] = field(default_factory=list)
    _sequence: int = 0

    @property
    def is_up(self) -> bool:
        return self._socket is not None and not self._socket.closed

    @property
    def waits_for_play(self) -> bool:
        """Whether there is something whole that it has not played."""
        return any(name is not None for _, name in self._playing)

    async def dial(self, **more: str) -> None:
        """Call the assistant."""
        self.sid = more.pop("CallSid", "") or self.server.new_sid()
        fields = {
            "CallSid": self.sid,
            "AccountSid": self.server.sid,
            "From": self.number,
            "To": self.server.number,
            "CallStatus": "ringing",
            "Direction": "inbound",
            "ApiVersion": "2010-04-01",
            **more,
        }
        status, twiml = await self.server.post("", fields)
        if status != 200:
            self.refused.append(status)
            return
        await self.do(twiml)

    async def do(self, twiml: str) -> None:
        """Do what a TwiML document says."""
        for verb in ElementTree.fromstring(twiml):
            match verb.tag:
                case "Reject":
                    self.refused.append("rejected")
                case "Say":
                    self.heard.append(verb.text or "")
                case "Dial":
                    self.dialled = verb.text
                case "Connect":
                    (stream,) = verb
                    named = {each.attrib["name"]: each.attrib["value"] for each in stream}
                    self.token = named.get("token", "")
                    await self.connect(stream.attrib["url"], named)
                case "Pause" | "Hangup":
                    pass
                case _:
                    raise AssertionError(f"Twilio knows no {verb.tag}")

    async def connect(self, url: str, named: dict[str, str], sid: str | None = None) -> None:
        """Open a stream, as Twilio does."""
        assert "?" not in url  # Twilio drops it
        try:
            self._socket = await self.server.client.ws_connect(url)
        except aiohttp.ClientError:
            self.refused.append("no stream")
            return
        await self._socket.send_json({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        start = {
            "accountSid": self.server.sid,
            "streamSid": f"MZ{self.sid[2:]}",
            "callSid": sid or self.sid,
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
            "customParameters": named,
        }
        await self._put("start", start=start)
        self.server.running.append(asyncio.create_task(self._listen(self._socket)))

    async def _put(self, event: str, **more: Any) -> None:
        assert self._socket is not None
        self._sequence += 1
        frame = {"event": event, "sequenceNumber": str(self._sequence), "streamSid": f"MZ{self.sid[2:]}", **more}
        with suppress(ConnectionError):
            await self._socket.send_str(json.dumps(frame))

    async def hear(self, sound: bytes) -> None:
        """Let sound come from the telephone, in frames of 20 ms, as fast as they go."""
        for at in range(0, len(sound), FRAME_BYTES):
            payload = base64.b64encode(sound[at : at + FRAME_BYTES]).decode()
            await self._put("media", media={"track": "inbound", "chunk": "1", "timestamp": "1", "payload": payload})

    async def say(self, text: str, silence_ms: int = 400) -> None:
        """Let somebody say something, and then be silent."""
        await self.hear(as_sound(text) + SILENCE * (silence_ms // 20))

    async def press(self, digits: str) -> None:
        """Press keys."""
        for digit in digits:
            assert digit in DIGITS
            await self._put("dtmf", dtmf={"track": "inbound_track", "digit": digit})

    async def hang_up(self) -> None:
        """End the call."""
        if self._socket is not None:
            await self._put("stop", stop={"accountSid": self.server.sid, "callSid": self.sid})
            await self._socket.close()

    async def play(self) -> None:
        """Play what was sent, and tell so."""
        playing, self._playing = self._playing, []
        for sound, name in playing:
            self.sound += sound
            if name is None:
                continue
            self.played += 1
            if text := text_of(self.sound):
                self.heard.append(text)
                self.sound = b""
            await self._put("mark", mark={"name": name})

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            frame = json.loads(message.data)
            self.told.append(frame)
            assert frame["streamSid"] == f"MZ{self.sid[2:]}"
            match frame["event"]:
                case "media":
                    self._playing.append((base64.b64decode(frame["media"]["payload"], validate=True), None))
                case "mark":
                    self._playing.append((b"", frame["mark"]["name"]))
                case "clear":
                    marks = [name for _, name in self._playing if name is not None]
                    self._playing = []
                    for name in marks:
                        await self._put("mark", mark={"name": name})
                case other:
                    raise AssertionError(f"Twilio knows no frame {other}")
            if not self.slow:
                await self.play()
        self.closed = socket.close_code


class TwilioServer:
    """An account with one number; telephones exist when they are spoken of."""

    def __init__(self, sid: str = SID, number: str = NUMBER) -> None:
        self.sid = sid
        self.number = number
        self.token = TOKEN
        self.hub = ""
        """The webhook for calls that come in."""
        self.telephones: dict[str, Telephone] = {}
        self.asked: list[tuple[str, Json]] = []
        self.faults: list[CallFault] = []
        self.running: list[asyncio.Task[None]] = []
        self.voice_url: str | None = None
        self.prices: list[str | None] = []
        """What the next questions for a price are answered with; None: it is not known yet."""
        self._count = itertools.count(1)

    async def __aenter__(self) -> Self:
        application = web.Application()
        account = f"/2010-04-01/Accounts/{self.sid}"
        application.router.add_get(f"{account}.json", self._account)
        application.router.add_get(f"{account}/IncomingPhoneNumbers.json", self._numbers)
        application.router.add_post(f"{account}/Calls.json", self._call)
        application.router.add_post(f"{account}/Calls/{{sid}}.json", self._change)
        application.router.add_get(f"{account}/Calls/{{sid}}.json", self._called)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.root = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.client = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        await self.client.close()
        await self._runner.cleanup()

    def telephone(self, number: str) -> Telephone:
        """Return somebody's telephone."""
        return self.telephones.setdefault(number, Telephone(number, self))

    def new_sid(self) -> str:
        """Return the id of a new call."""
        return f"CA{next(self._count):032x}"

    def fail(self, **more: Any) -> None:
        """Let the next request that makes or changes a call fail."""
        self.faults.append(CallFault(**more))

    async def post(
        self, path: str, fields: dict[str, str] | Sequence[tuple[str, str]], signature: str | None = None
    ) -> tuple[int, str]:
        """Tell the hub something, signed; return its answer."""
        pairs = list(fields.items()) if isinstance(fields, dict) else list(fields)
        url = self.hub + path
        headers = {"X-Twilio-Signature": sign(self.token, url, pairs) if signature is None else signature}
        async with self.client.post(url, data=aiohttp.FormData(pairs), headers=headers) as answer:
            return answer.status, await answer.text()

    # --- the API ---

    async def _account(self, request: web.Request) -> web.Response:
        return self._unauthorized(request) or web.json_response({"sid": self.sid, "status": "active"})

    async def _numbers(self, request: web.Request) -> web.Response:
        if refusal := self._unauthorized(request):
            return refusal
        wanted = request.query["PhoneNumber"] == self.number
        number = {"phone_number": self.number, "voice_url": self.voice_url or self.hub}
        return web.json_response({"incoming_phone_numbers": [number] if wanted else []})

    async def _call(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(("call", form))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.done:
            return self._broken(request, fault)
        if not re.fullmatch(r"\+[1-9]\d{6,14}", form.get("To", "")):
            return _refused(400, 21211, f"Invalid 'To' Phone Number: {form.get('To')}")
        if form.get("From") != self.number:
            return _refused(400, 21210, "'From' phone number not verified")
        if len(form.get("Twiml", "")) not in range(1, 4_001) or not 5 <= int(form["Timeout"]) <= 600:
            return _refused(400, 21218, "Invalid Twiml")
        telephone = self.telephone(form["To"])
        telephone.sid = sid = self.new_sid()
        self.running.append(asyncio.create_task(self._ring(telephone, form)))
        if fault is not None:
            return self._broken(request, fault)
        return web.json_response({"sid": sid, "status": "queued", "to": form["To"]}, status=201)

    async def _ring(self, telephone: Telephone, form: Json) -> None:
        await asyncio.sleep(0.01)
        if telephone.answers is None:
            await telephone.do(form["Twiml"])
            return
        fields = {"CallSid": telephone.sid, "CallStatus": telephone.answers, "To": telephone.number}
        assert form["StatusCallback"] == f"{self.hub}/status"
        await self.post("/status", fields)

    async def _called(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        price = self.prices.pop(0) if self.prices else None
        call = {"sid": request.match_info["sid"], "status": "completed", "price": price, "price_unit": "USD"}
        return web.json_response(call)

    async def _change(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        sid = request.match_info["sid"]
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(("change", form))
        if self.faults:
            return self._broken(request, self.faults.pop(0))
        telephone = next((each for each in self.telephones.values() if each.sid == sid and each.is_up), None)
        if telephone is None:
            return _refused(400, 21220, "Call is not in-progress. Cannot redirect.")
        await telephone.do(form["Twiml"])
        await telephone.hang_up()
        return web.json_response({"sid": sid, "status": "in-progress"})

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") == encode_basic_auth(self.sid, self.token):
            return None
        return _refused(401, 20003, "Authenticate")

    def _broken(self, request: web.Request, fault: CallFault) -> web.StreamResponse:
        if fault.status and fault.code is None:
            return web.Response(status=fault.status, text="upstream error", headers=fault.headers)
        if fault.status:
            return _refused(fault.status, fault.code or 0, "as told", fault.headers)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


def _refused(status: int, code: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {"code": code, "message": message, "more_info": "", "status": status}
    return web.json_response(body, status=status, headers=headers)
