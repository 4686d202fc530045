"""A real Music Player Daemon on a free port, which plays into nothing."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.servers.ports import free_port

CONFIG = """\
music_directory "{folder}/music"
playlist_directory "{folder}/lists"
db_file "{folder}/db"
state_file "{folder}/state"
bind_to_address "127.0.0.1"
port "{port}"
password "sesame@read,add,control,admin"
default_permissions ""
zeroconf_enabled "no"
audio_output {{
  type "null"
  name "nothing"
  mixer_type "null"
}}
"""


def song(path: Path, seconds: float) -> None:
    """Write a recording of silence."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(round(16_000 * seconds)))


@asynccontextmanager
async def running_mpd(folder: Path, port: int | None = None) -> AsyncIterator[int]:
    """Run one with the songs `long.wav` and `other.wav`, and a playlist `Evening`; yields its port."""
    port = port or free_port()
    for name in ("music", "lists"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    song(folder / "music/long.wav", 600)
    song(folder / "music/other.wav", 300)
    (folder / "lists/Evening.m3u").write_text("other.wav\n")
    (folder / "mpd.conf").write_text(CONFIG.format(folder=folder, port=port))
    program = shutil.which("mpd") or "/usr/bin/mpd"
    process = await asyncio.create_subprocess_exec(
        program, "--no-daemon", str(folder / "mpd.conf"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            await _answers(port)
        yield port
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _answers(port: int) -> None:
    """Wait until it answers, and its songs are known."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except OSError:
            await asyncio.sleep(0.02)
    writer.write(b"password sesame\nupdate\nidle update\n")
    while b"changed: update" not in await reader.readuntil(b"\n"):
        pass
    writer.close()
