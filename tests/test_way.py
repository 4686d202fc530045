"""The way: how many of our files, functions and calls a message, an automation and an MQTT state pass, warm.

Each walk goes through the real hub in process; its clock stands still, so that none of its timers comes in between.
`python -m tests.test_way write` prints the figures and writes `tests/way.txt`, the names that they stand for.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from itertools import count, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, NamedTuple

import aiomqtt
import msgspec
import pytest

from hub.core.clock import Clock
from hub.core.context import system_context
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.e2e.homes import BY_WORD, make_home
from tests.e2e.talk import connected, say
from tests.servers.mosquitto import Mosquitto
from tests.servers.telegram_server import TelegramServer
from tests.until import until

CHECKOUT = Path(__file__).parents[1]
NAMES = Path(__file__).with_name("way.txt")
OURS = tuple(f"{CHECKOUT / folder}/" for folder in ("hub", "integrations", "web"))
WARM, ROUNDS = 3, 5
QUIET_S = 0.15
"""Without a call for so long, a walk is over."""
SLACK = 1.05
OWNER = 7

pytestmark = pytest.mark.timeout(600)  # the walks take a minute and a half on a busy machine

Round = Callable[[], Awaitable[None]]
"""Does a walk once, until its end can be seen."""


class Figures(NamedTuple):
    """How long a way is."""

    files: int
    functions: int
    calls: int


class Way(NamedTuple):
    """What every round of a walk passed, and the calls of the round with the fewest."""

    functions: frozenset[tuple[str, str]]
    calls: int

    @property
    def files(self) -> frozenset[str]:
        """The files that it passed."""
        return frozenset(file for file, _ in self.functions)

    @property
    def figures(self) -> Figures:
        """How long it was."""
        return Figures(len(self.files), len(self.functions), self.calls)


class Recorder:
    """Counts the calls of our functions, in every thread that was started since."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.calls[frame.f_code] += 1

    @contextmanager
    def on(self) -> Iterator[None]:
        """Count in this thread, and in those that are started meanwhile."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    async def watch(self, round: Round) -> Counter[CodeType]:
        """Return the calls of a round, and of what it leaves to be done behind its end."""
        self.calls.clear()
        await round()
        seen = -1
        while (now := self.calls.total()) != seen:
            seen = now
            await asyncio.sleep(QUIET_S)
        return self.calls.copy()


RECORDER = Recorder()
"""One for all walks: threads that outlive a hub go on telling it."""


async def measured(walk: Callable[[Path], AbstractAsyncContextManager[Round]], folder: Path) -> Way:
    """Return the way of a walk, by the rounds after those that warm it up."""
    async with walk(folder) as round:
        rounds = [await RECORDER.watch(round) for _ in range(WARM + ROUNDS)][WARM:]
    passed = set.intersection(*(set(each) for each in rounds))
    names = frozenset((str(Path(code.co_filename).relative_to(CHECKOUT)), code.co_qualname) for code in passed)
    return Way(names, min(each.total() for each in rounds))


class StoppedClock(Clock):
    """A clock that stands still, and costs no call of ours, as the real one."""

    time = staticmethod(lambda: 1_767_225_600.0)
    monotonic = staticmethod(lambda: 0.0)

    async def sleep(self, seconds: float) -> None:
        """Wait for ever, unless there is nothing to wait for."""
        await (asyncio.sleep(0) if seconds <= 0 else asyncio.get_running_loop().create_future())


@asynccontextmanager
async def running(folder: Path, configuration: str, automations: str = "") -> AsyncIterator[Hub]:
    """Run a hub without keys, which answers by itself."""
    home = Home(make_home(folder / "home", f"models: {{default: offline}}\nmemory: {{{BY_WORD}}}\n{configuration}"))
    home.create()
    if automations:
        (home.path / "automations.yaml").write_text(automations)
    hub = Hub(home, port=0, clock=StoppedClock())
    await hub.start()
    try:
        yield hub
    finally:
        await hub.stop()


@asynccontextmanager
async def hello(folder: Path) -> AsyncIterator[Round]:
    """Write hello in Telegram, as the owner."""
    async with TelegramServer() as server:
        configuration = (
            f"people: [{{id: me, name: Me, owner: true, identities: ['telegram:user:{OWNER}']}}]\n"
            "messages: {inbound: {debounce_ms: 0}}\n"
            f'telegram: [{{token: "{server.token}", api_root: "{server.api_root}"}}]\n'
        )

        async def write() -> None:
            shown = len(server.chats.shown(OWNER))
            server.chats.says("hello", chat=OWNER, who=OWNER)
            await until(lambda: len(server.chats.shown(OWNER)) > shown)

        async with running(folder, configuration):
            yield write


@asynccontextmanager
async def remember(folder: Path) -> AsyncIterator[Round]:
    """Have a thing remembered through `chat.send`: one call of a tool."""
    numbers = count(1)
    async with running(folder, "") as hub:
        token = (hub.home.storage / "hub_token").read_text().strip()
        reached: Any = SimpleNamespace(url=hub.gateway.url, token=token)
        async with connected(reached) as client:

            async def send() -> None:
                number = next(numbers)
                await say(client, f"remember that box {number} is in the cellar", f"run-{number}")

            yield send


@asynccontextmanager
async def automation(folder: Path) -> AsyncIterator[Round]:
    """Fire an event at an automation with a template condition, which fires another one."""
    rule = (
        "- id: rule\n  triggers: [{trigger: event, event_type: way_begins}]\n"
        '  conditions: ["{{ trigger.event.data.level | int > 3 }}"]\n  actions: [{event: way_ends}]\n'
    )
    async with running(folder, "automation: !include automations.yaml\n", rule) as hub:
        ended = asyncio.Event()
        hub.bus.listen("way_ends", lambda event: ended.set())

        async def fire() -> None:
            ended.clear()
            hub.bus.fire("way_begins", {"level": 5}, system_context())
            await ended.wait()

        yield fire


@asynccontextmanager
async def state(folder: Path) -> AsyncIterator[Round]:
    """Tell the state of a sensor over MQTT."""
    values = count(20)
    with Mosquitto() as broker:
        configuration = f"mqtt: {{broker: 127.0.0.1, port: {broker.port}, publish_hub: false}}\n"
        async with running(folder, configuration) as hub, aiomqtt.Client("127.0.0.1", broker.port) as device:
            announced = '{"name": "Cellar", "state_topic": "cellar/temperature", "unique_id": "cellar"}'
            await device.publish("homeassistant/sensor/cellar/config", announced, qos=1, retain=True)
            await until(lambda: hub.states.get("sensor.cellar"))

            async def tell() -> None:
                value = str(next(values))
                # Kept by the broker: the first may be told before the hub subscribes.
                await device.publish("cellar/temperature", value, retain=True)
                await until(lambda: (found := hub.states.get("sensor.cellar")) and found.state == value)

            yield tell


TODAY = {
    hello: Figures(103, 453, 770),
    remember: Figures(168, 795, 2_000),  # the most of six runs: its steps meet in other orders on a busy machine
    automation: Figures(50, 169, 238),
    state: Figures(13, 24, 25),
}
"""A function counts once, a call each time that it begins or goes on. Who shortens a way writes its figures here."""


@pytest.fixture(scope="module")
def ways() -> dict[str, Way]:
    """Measure all walks in a process of their own: what other tests have loaded and begun counts for nothing."""
    command = [sys.executable, "-m", "tests.test_way"]
    ran = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr
    return msgspec.json.decode(ran.stdout, type=dict[str, Way])


@pytest.mark.parametrize("walk", [each.__name__ for each in TODAY])
def test_a_way_is_no_longer_than_it_was(ways: dict[str, Way], walk: str) -> None:
    way, before = ways[walk], next(figures for each, figures in TODAY.items() if each.__name__ == walk)

    grown = [now > was * SLACK for now, was in zip(way.figures, before, strict=True)]
    assert not any(grown), f"{way.figures}, not {before}:\n" + "\n".join(_new(walk, way))


def _new(walk: str, way: Way) -> list[str]:
    """Return what is on a way that was not, by file."""
    lines = [line.split(" ") for line in NAMES.read_text().splitlines()]
    known = {(file, function) for name, file, *functions in lines if name == walk for function in functions}
    return _lines(walk, way.functions - known)


def _lines(walk: str, functions: Iterable[tuple[str, str]]) -> list[str]:
    by_file = groupby(sorted(functions), lambda each: each[0])
    return [" ".join([walk, file, *(function for _, function in found)]) for file, found in by_file]


async def _measure_all() -> dict[str, Way]:
    ways = {}
    for walk in TODAY:
        with TemporaryDirectory() as folder:
            ways[walk.__name__] = await measured(walk, Path(folder))
    return ways


def main() -> None:
    """Measure; `write` writes the names and prints the figures, else everything is printed as JSON."""
    with RECORDER.on():
        ways = asyncio.run(_measure_all())
    if sys.argv[1:] != ["write"]:
        sys.stdout.write(msgspec.json.encode(ways).decode())
        return
    for walk, way in ways.items():
        sys.stdout.write(f"{walk}: {way.figures}\n")
    NAMES.write_text("".join(f"{line}\n" for walk, way in ways.items() for line in _lines(walk, way.functions)))


if __name__ == "__main__":
    main()
