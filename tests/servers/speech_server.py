"""A scripted server that hears and speaks, by OpenAI's API: it takes real WAV files, and gives real ones."""

from __future__ import annotations

import asyncio
import io
import math
import struct
import wave
from collections import deque
from typing import Any

from aiohttp import web

from tests.servers.scripted import ThreadedServer

RATE = 16_000
LETTERS_PER_S = 25


def tone(seconds: float) -> bytes:
    """Return a WAV file of a quiet tone."""
    samples = [round(3_000 * math.sin(at / 8)) for at in range(round(RATE * seconds))]
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, RATE, 0, "NONE", ""))
        written.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return file.getvalue()


class SpeechServer(ThreadedServer):
    """Hears what it is told to, and speaks every text as a tone.

    Attributes:
        texts: What is understood next; empty is no speech, an exception fails.
        heard_s: How long each recording was that came.
        spoken: The texts that were to be spoken.
        seconds: How long each takes; None is as long as its letters ask.
        mute: Whether speaking fails.
    """

    def __init__(self) -> None:
        super().__init__("speech server")
        self.texts: deque[str | Exception] = deque()
        self.heard_s: list[float] = []
        self.spoken: list[str] = []
        self.seconds: float | None = None
        self.mute = False

    def reset(self) -> None:
        """Forget what was scripted, and what came."""
        for each in (self.texts, self.heard_s, self.spoken):
            each.clear()
        self.seconds, self.mute = None, False

    def application(self) -> web.Application:
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.router.add_post("/v1/audio/transcriptions", self._hear)
        application.router.add_post("/v1/audio/speech", self._speak)
        return application

    async def _hear(self, request: web.Request) -> web.Response:
        file = (await request.post())["file"]
        assert isinstance(file, web.FileField)
        with wave.open(io.BytesIO(file.file.read())) as sound:
            assert (sound.getframerate(), sound.getsampwidth(), sound.getnchannels()) == (RATE, 2, 1)
            self.heard_s.append(sound.getnframes() / RATE)
        text = self.texts.popleft() if self.texts else ""
        if isinstance(text, Exception):
            return web.json_response({"error": {"message": str(text)}}, status=400)
        return web.json_response({"text": text})

    async def _speak(self, request: web.Request) -> web.Response:
        asked: dict[str, Any] = await request.json()
        assert asked["response_format"] == "wav"
        if self.mute:
            return web.json_response({"error": {"message": "no such voice"}}, status=400)
        self.spoken.append(asked["input"])
        seconds = self.seconds or max(0.2, len(asked["input"]) / LETTERS_PER_S)
        return web.Response(body=await asyncio.to_thread(tone, seconds), content_type="audio/wav")
