"""A node with a microphone: it listens when its person turned that on there, and speaks when the hub says something.

The programs are doubles that read and write the same raw streams as parec and paplay do.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from node.backends.linux import LinuxBackend
from node.cli import RunOptions, settled
from node.doctor import examine
from node.home import NodeHome, NodeProblem
from node.microphone import PIECE_BYTES, Microphone
from tests.node_program.conftest import at_once, running_node
from tests.node_program.gateway_double import GatewayDouble
from tests.until import until

PAREC = f"""#!{sys.executable} -S
import pathlib, sys, time
folder = pathlib.Path(__file__).parent
with (folder / "parec.log").open("a") as log:
    print(*sys.argv[1:], file=log)
while True:
    piece, spoken = bytes(640), folder / "spoken.raw"
    if spoken.exists():
        piece = spoken.read_bytes()
        spoken.unlink()
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    time.sleep(0.005)
"""
PAPLAY = f"""#!{sys.executable} -S
import pathlib, sys
folder = pathlib.Path(__file__).parent
data = sys.stdin.buffer.read()
with (folder / "paplay.log").open("a") as log:
    print(len(data), *sys.argv[1:], file=log)
"""


class SoundPrograms:
    """The programs of this machine's sound."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.write("parec", PAREC)
        self.write("paplay", PAPLAY)

    def write(self, name: str, source: str) -> None:
        (self.folder / name).write_text(source)
        (self.folder / name).chmod(0o755)

    def say(self, samples: bytes) -> None:
        """Let the microphone hear something."""
        (self.folder / "new").write_bytes(samples)
        (self.folder / "new").rename(self.folder / "spoken.raw")

    def log(self, name: str) -> list[str]:
        log = self.folder / f"{name}.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SoundPrograms:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return SoundPrograms(tmp_path / "bin")


def turned_on(home: NodeHome) -> NodeHome:
    home.keep(replace(home.settings(), microphone=True))
    return home


def heard(gateway: GatewayDouble) -> bytes:
    pieces = [each["payload"]["base64"] for each in gateway.events if each["event"] == "voice.audio"]
    return b"".join(map(base64.b64decode, pieces))


async def test_what_it_hears_goes_to_the_hub_and_what_the_hub_says_is_played(
    gateway: tuple[GatewayDouble, NodeHome], sound: SoundPrograms
) -> None:
    double, home = gateway
    said = bytes(range(256)) * 50
    async with running_node(turned_on(home), double) as node:
        await node.connected()
        await until(lambda: bool(heard(double)))
        sound.say(said)
        await until(lambda: said in heard(double))
        played = await double.payload("voice.play", {"base64": base64.b64encode(bytes(4_410)).decode(), "rate": 22_050})
        bad = await double.invoke("voice.play", {"base64": "?"})
    assert "voice" in double.connects[0]["caps"]
    assert played == {"durationMs": 100}
    assert sound.log("parec") == ["--raw --format=s16le --channels=1 --rate=16000 --latency-msec=50"]
    assert sound.log("paplay") == ["4410 --raw --format=s16le --channels=1 --rate=22050 --latency-msec=100"]
    assert bad["error"]["code"] == "INVALID_PARAMS"


async def test_it_hears_nothing_unless_somebody_turned_it_on_there(
    gateway: tuple[GatewayDouble, NodeHome], sound: SoundPrograms
) -> None:
    double, home = gateway
    async with running_node(home, double) as node:
        await node.connected()
        await until(lambda: bool(double.events))
        refused = await double.invoke("voice.play", {"base64": ""})

    assert "voice.play" not in double.connects[0]["commands"]
    assert refused["error"]["code"] == "INVALID_REQUEST"
    assert sound.log("parec") == []


async def test_it_stops_listening_with_the_connection_and_goes_on_with_the_next(
    gateway: tuple[GatewayDouble, NodeHome], sound: SoundPrograms
) -> None:
    double, home = gateway
    async with running_node(turned_on(home), double) as node:
        await node.connected()
        await until(lambda: bool(heard(double)))
        await double.drop()
        await node.connected(2)
        await until(lambda: len(sound.log("parec")) == 2)
    left = _running(sound.folder / "parec")

    assert left == []


def _running(program: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(program) in (process / "cmdline").read_text():
                found.append(process.name)
    return found


async def test_a_program_that_ends_is_told_once_and_started_again(sound: SoundPrograms) -> None:
    sound.write("parec", f"#!{sys.executable} -S\nimport sys\nsys.exit('Connection refused')\n")
    said, pieces, pauses = list[str](), list[str](), list[float]()

    async def send(piece: str) -> None:
        pieces.append(piece)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            sound.write("parec", PAREC)
        await at_once(seconds)

    listening = asyncio.create_task(Microphone(said.append).run(send, pause))
    await until(lambda: bool(pieces))
    listening.cancel()
    await asyncio.wait([listening])

    assert said.count("the microphone is silent: parec ended: Connection refused") == 1
    assert pauses == [5.0, 5.0]
    assert len(base64.b64decode(pieces[0])) == PIECE_BYTES


def test_the_doctor_names_what_is_missing(gateway: tuple[GatewayDouble, NodeHome], sound: SoundPrograms) -> None:
    _, home = gateway

    def findings() -> dict[str, str]:
        found = examine(home, LinuxBackend(), offline=True)
        return {each.about: each.text for each in found if each.about in ("microphone", "voice.play")}

    off, on = findings(), {}
    turned_on(home)
    on = findings()
    for name in ("parec", "paplay"):
        (sound.folder / name).unlink()
    missing = findings()

    assert off == {}
    assert on == {"microphone": "on: what is said here is heard by the hub", "voice.play": "works"}
    assert missing["microphone"] == "needs parec or arecord or rec: install pulseaudio-utils or alsa-utils"
    assert missing["voice.play"].startswith("needs paplay or aplay or play or ffplay")


def test_it_is_turned_on_and_off_by_an_option_that_is_kept(gateway: tuple[GatewayDouble, NodeHome]) -> None:
    _, home = gateway
    with pytest.raises(NodeProblem, match="--microphone: expected on or off"):
        settled(home, RunOptions(microphone="maybe"))
    for given, kept in (("on", True), ("", True), ("off", False)):
        home.keep(settled(home, RunOptions(microphone=given))[0])
        assert json.loads(home.settings_file.read_text())["microphone"] is kept
