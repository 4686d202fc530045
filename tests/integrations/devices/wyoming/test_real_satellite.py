"""The program wyoming-satellite itself, with files for a microphone and a loudspeaker; in long runs of the tests."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.voice.contract import Stage
from hub.voice.sound import read_wav
from integrations.devices.wyoming.satellite import WyomingSatellite
from integrations.devices.wyoming.schema import CONFIG_SCHEMA
from tests.hosting import host_on
from tests.hub_fixture import HubFixture
from tests.integrations.devices.wyoming.satellite_double import RecordingSatellites
from tests.lengths import LONG
from tests.until import until

pytestmark = [
    pytest.mark.skipif(not LONG, reason="installs wyoming-satellite; script/test --long does"),
    pytest.mark.skipif(importlib.util.find_spec("audioop") is None, reason="its library needs Python 3.12 or older"),
    pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed"),
]
PROGRAM = ("wyoming-satellite==1.0.0", "wyoming==1.4.1", "pyring-buffer==1.1.0")
MICROPHONE = """\
import sys, time
data, began, at = open(sys.argv[1], "rb").read(), time.monotonic(), 0
while True:
    piece = data[at : at + 2048]
    sys.stdout.buffer.write(piece + bytes(2048 - len(piece)))
    sys.stdout.buffer.flush()
    at += 2048
    time.sleep(max(0, began + at / 32000 - time.monotonic()))
"""
WORD = """\
import sys
sys.stdin.buffer.read(96000)
print("ok_nabu", flush=True)
while sys.stdin.buffer.read(2048):
    pass
"""


async def run(*command: str | Path, **options: Any) -> bytes:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, **options)
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    uv = Path(sys.executable).with_name("uv")
    asyncio.run(run(uv, "pip", "install", "--quiet", "--no-deps", "--target", folder, *PROGRAM))
    return folder


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[HubFixture]:
    async with HubFixture(tmp_path / "home", "", integrations=(), only=("registries", "helpers")) as hub:
        yield hub


@pytest.mark.parametrize("wakes_itself", [True, False])
async def test_it_is_heard_and_speaks(hub: HubFixture, program: Path, tmp_path: Path, wakes_itself: bool) -> None:
    said = read_wav(await run("espeak-ng", "--stdout", "turn on the kitchen light"))
    assert said is not None
    (tmp_path / "said.raw").write_bytes(bytes(160_000) + said.samples)
    for name, text in {"microphone.py": MICROPHONE, "word.py": WORD}.items():
        (tmp_path / name).write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "wyoming_satellite", "--uri", f"tcp://127.0.0.1:{port}", "--no-zeroconf"]
    command += ["--name", "Box", "--area", "Kitchen", "--snd-command", f"sh -c 'cat >> {tmp_path}/out.raw'"]
    command += ["--mic-command", f"{sys.executable} {tmp_path}/microphone.py {tmp_path}/said.raw"]
    if wakes_itself:
        command += ["--wake-command", f"{sys.executable} {tmp_path}/word.py"]
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, "PYTHONPATH": str(program)})
    satellites = RecordingSatellites()
    host, registrations = host_on(hub, "wyoming")
    (item,) = CONFIG_SCHEMA({"satellites": [{"url": f"tcp://127.0.0.1:{port}", "id": "box"}]})["satellites"]
    satellite, line = WyomingSatellite(host, item, satellites.add), satellites.lines["box"]
    host.spawn(satellite.follow(), name="follow")
    try:
        await until(lambda: line.is_connected and any(line.samples))
        await satellite.show(Stage.LISTENING)
        await satellite.show(Stage.PROCESSING, "turn on the kitchen light")
        await satellite.play(said)
        await until(lambda: (tmp_path / "out.raw").stat().st_size >= len(said.samples))
        await satellite.show(Stage.IDLE)
    finally:
        await registrations.undo_all()
        process.terminate()
        await process.wait()

    woke = [each for each in line.calls if each[0] == "wake"]
    assert (woke, satellite.info.always_sends) == (([("wake", None)], False) if wakes_itself else ([], True))
    assert (tmp_path / "out.raw").read_bytes() == said.samples
