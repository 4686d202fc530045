"""A call with a whole hub: somebody asks aloud, is heard, answered aloud, interrupts, and hangs up.

In every run the engines are scripted, and all else is real. In a long run they are Whisper and Piper, where
HOMARUS_VOICE names a home in which `homarus voice install` put them; then espeak-ng is the caller.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from hub.core.events import Event
from integrations.channels.voice_call.mulaw import from_wav
from integrations.models.voice.installed import ENGINES, LOCK, VoiceFolder
from tests.channels.voice_call_rig import PEOPLE
from tests.hub_fixture import HubFixture
from tests.integrations.channels.voice_call.test_mulaw import espeak
from tests.integrations.models.voice.conftest import put
from tests.integrations.models.voice.household import errors, words
from tests.lengths import LONG
from tests.servers import scripted_engine
from tests.servers.coded_sound import as_sound
from tests.servers.openai_script import last_user_text
from tests.servers.openai_server import OpenAIServer
from tests.servers.telephone_server import SILENCE, Telephone, TwilioServer
from tests.until import until

ADAS = next(iter(PEOPLE.values()))
PAUSE = SILENCE * 50
LIMIT_S = 120.0 if LONG else 20.0
REAL = os.environ.get("HOMARUS_VOICE")
STORY = "There was a lobster in the sea. It had two claws, and it was never in a hurry, since it knew the way home."


class Mouth(Struct, frozen=True):
    """How the caller speaks."""

    says: Callable[[str], bytes]
    is_real: bool


def scripted(folder: VoiceFolder) -> Mouth:
    """Put engines into a home that read texts which are coded in sound."""
    put(folder, "whisper-base")
    put(folder, "en_US-joe-medium")
    folder.python.parent.mkdir(parents=True)
    program = shlex.join([sys.executable, "-P", scripted_engine.__file__])
    folder.python.write_text(f'#!/bin/sh\nshift 2\nexec {program} "$@"\n')
    folder.python.chmod(0o700)
    (folder.engines_path / LOCK).write_bytes(ENGINES.read_bytes())
    return Mouth(as_sound, is_real=False)


def real(folder: VoiceFolder) -> Mouth:
    """Give a home the engines of another one."""
    assert REAL is not None
    folder.path.parent.mkdir(parents=True, exist_ok=True)
    folder.path.symlink_to(VoiceFolder(Path(REAL)).path)
    return Mouth(lambda text: from_wav(espeak(text)), is_real=True)


@asynccontextmanager
async def passed_on(find_port: Callable[[], int]) -> AsyncIterator[str]:
    """Yield an address that leads to a port which is found later, as a reverse proxy's does."""

    async def pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            target.write(data)
        target.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", find_port())
        await asyncio.gather(pipe(reader, outer), pipe(inner, writer), return_exceptions=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


@pytest.mark.parametrize(
    "engines",
    [
        scripted,
        pytest.param(
            real, marks=pytest.mark.skipif(not (LONG and REAL), reason="a long run, with HOMARUS_VOICE=HOME, has them")
        ),
    ],
)
@pytest.mark.timeout(300)
async def test_somebody_asks_is_answered_interrupts_and_hangs_up(
    tmp_path: Path, openai_server: OpenAIServer, engines: Callable[[VoiceFolder], Mouth]
) -> None:
    mouth = engines(VoiceFolder(tmp_path))
    server = TwilioServer()
    server.token = "0123456789abcdef0123456789abcdef"
    async with server as twilio, passed_on(lambda: hub.port) as address:
        number = {"account_sid": twilio.sid, "auth_token": twilio.token, "number": twilio.number, "silence_ms": 500}
        calls = {**number, "public_url": address, "api_root": twilio.root, "price_per_minute": 0.1}
        ada_is = {"id": "ada", "owner": True, "identities": [f"voice_call:user:{ADAS}"]}
        hub = HubFixture(
            tmp_path,
            openai_server.base_url,
            sections={"voice": {"timeout_s": 120}, "voice_call": [calls], "people": [ada_is]},
            integrations=("openai_compatible", "webchat", "voice", "voice_call"),
        )
        twilio.hub = f"{address}/voice_call/default"
        async with hub:
            ended: list[Event] = []
            hub.bus.listen("call_ended", ended.append)
            await _talk(twilio.telephone(ADAS), openai_server, mouth)
            await until(lambda: bool(ended))

    (told,) = ended
    assert (told.data["from"], told.data["to"]) == (ADAS, twilio.number)
    assert told.data["seconds"] > 0
    assert told.data["estimate"] == 0.1


async def _talk(ada: Telephone, model: OpenAIServer, mouth: Mouth) -> None:
    script = model
    await ada.dial()
    await until(lambda: _has_spoken(ada, mouth, 1), LIMIT_S)

    script.queue("Yes, the front door is locked.")
    begun = time.monotonic()
    await ada.hear(PAUSE + mouth.says("Is the front door locked?") + PAUSE)
    (asked,) = await until(script.requests, LIMIT_S)
    heard_s = time.monotonic() - begun
    await until(lambda: _has_spoken(ada, mouth, 2), LIMIT_S)
    answered_s = time.monotonic() - begun

    script.queue(STORY)
    ada.slow = True
    await ada.hear(mouth.says("Tell me a story.") + PAUSE)
    await until(lambda: ada.waits_for_play, LIMIT_S)
    script.queue("All right.")
    await ada.hear(mouth.says("Stop it now, please.") + PAUSE)
    ada.slow = False
    await until(lambda: "clear" in [each["event"] for each in ada.told], LIMIT_S)
    await until(lambda: len(script.requests()) == 3, LIMIT_S)
    await until(lambda: _has_spoken(ada, mouth, 3), LIMIT_S)
    await ada.hang_up()

    texts = ["Is the front door locked?", "Tell me a story.", "Stop it now, please."]
    heard = [_last_said(each) for each in script.requests()]
    wrong = sum(errors(words(text), words(found)) for text, found in zip(texts, heard, strict=True))
    assert wrong <= (4 if mouth.is_real else 0), heard
    if mouth.is_real:
        print(f"\nheard {heard}; {heard_s:.2f} s to the model, {answered_s:.2f} s to the first sound of the answer")
    else:
        assert ada.heard == ["Hello. What can I do for you?", "Yes, the front door is locked.", "All right."]
    assert asked["body"]["messages"]


def _has_spoken(ada: Telephone, mouth: Mouth, count: int) -> bool:
    return ada.played >= count if mouth.is_real else len(ada.heard) >= count


def _last_said(request: dict[str, object]) -> str:
    body = request["body"]
    assert isinstance(body, dict)
    return last_user_text(body["messages"]).rpartition("\n")[2]
