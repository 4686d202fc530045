"""Automations at mosquitto, MQTT in to MQTT out: one trigger, a thousand at once, and who answers after a start.

Each automation waits for a topic of its own and publishes on another. One trigger is sent when the last was answered;
a thousand topics are sent in one go, and the first and the last answer count. After a start with 5 000 automations,
topics spread evenly over all of them are asked every 50 ms until each has answered: asking all would measure 5 000
runs. All times are those of a client in this process, which takes part of the machine from the hub.
"""

from __future__ import annotations

import time
from pathlib import Path
from threading import Condition
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from tests.benchmarks.homes import BenchHub, empty_home
from tests.benchmarks.table import Row, row
from tests.servers.mosquitto import Mosquitto

BURST = 1_000
BURSTS = 5
SINGLES = 200
MANY = 5_000
ASKED = 50
STARTS = 3
SETTLE_S = 3.0
"""What is written behind a start or a burst is written by then."""
LIMIT_S = 120.0
ITEM = """\
- id: rule_{n}
  triggers: [{{trigger: mqtt, topic: in/{n}}}]
  actions: [{{action: mqtt.publish, data: {{topic: out/{n}, payload: done}}}}]
"""


def measure_triggers() -> list[Row]:
    """Time triggers in a home of 1 000 automations, then starts of one of 5 000."""
    with Mosquitto() as broker:
        with empty_home() as home:
            _write(home, broker.port, BURST)
            with BenchHub(home), Answers(broker.port) as answers:
                answers.ask_until_answered(range(BURST))
                time.sleep(SETTLE_S)
                singles = [1000 * answers.ask([n * 37 % BURST])[0] for n in range(SINGLES)]
                bursts = []
                for _ in range(BURSTS):
                    time.sleep(SETTLE_S)
                    taken = answers.ask(range(BURST))
                    bursts.append((1000 * taken[0], 1000 * taken[-1]))
        with empty_home() as home:
            _write(home, broker.port, MANY)
            starts = [_start(home, broker.port) for _ in range(STARTS)]
    return [
        row("mqtt: one trigger, message in to message out", "ms", singles, "< 2.7"),
        row(f"mqtt: {BURST} triggers at once, the first", "ms", [first for first, _ in bursts]),
        row(f"mqtt: {BURST} triggers at once, the last", "ms", [last for _, last in bursts], "< 753"),
        row(f"mqtt: start with {MANY} automations, the first answers", "s", [first for first, _ in starts]),
        row(f"mqtt: start with {MANY} automations, the last answers", "s", [last for _, last in starts]),
        row("mqtt: … the last over the first", "×", [last / first for first, last in starts], "≤ 1.5"),
    ]


class Answers:
    """A client that asks automations and notes when each has answered.

    Args:
        port: The broker's.
        prefix: What stands before their topics.
    """

    def __init__(self, port: int, prefix: str = "") -> None:
        self._prefix = prefix
        self._at: dict[int, float] = {}
        self._asked: frozenset[int] = frozenset()
        self._came = Condition()
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._note
        self._client.connect("127.0.0.1", port)
        self._client.subscribe(f"{prefix}out/#")
        self._client.loop_start()

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def ask(self, numbers: range | list[int], by: str = "") -> list[float]:
        """Set automations off, each once; return how long the answers took, the quickest first, seconds.

        Args:
            by: The topic of one message that sets off all of them; each has its own otherwise.
        """
        self._at.clear()
        self._asked = frozenset(numbers)
        begun = time.monotonic()
        for topic in [by] if by else [f"in/{number}" for number in numbers]:
            self._client.publish(self._prefix + topic, "on")
        with self._came:
            assert self._came.wait_for(lambda: len(self._at) == len(numbers), LIMIT_S), f"{len(self._at)} answered"
        return sorted(at - begun for at in self._at.values())

    def ask_until_answered(self, numbers: range) -> list[float]:
        """Set automations off, again and again, until each has answered; return when they did, the first first."""
        self._at.clear()
        self._asked = frozenset(numbers)
        end = time.monotonic() + LIMIT_S
        while left := [number for number in numbers if number not in self._at]:
            assert time.monotonic() < end, f"{len(left)} automations do not answer"
            for number in left:
                self._client.publish(f"{self._prefix}in/{number}", "on")
            time.sleep(0.05)
        return sorted(self._at.values())

    def _note(self, client: Client, data: Any, message: MQTTMessage) -> None:
        number, now = int(message.topic.rpartition("/")[2]), time.monotonic()
        if number in self._asked:  # an earlier question may be answered only now
            with self._came:
                self._at.setdefault(number, now)
                self._came.notify_all()


def _start(home: Path, port: int) -> tuple[float, float]:
    """Return when the first and the last of those that are asked have answered after a start, seconds."""
    with Answers(port) as answers:
        begun = time.monotonic()
        hub = BenchHub(home)
        hub.start(wait=False)
        try:
            at = answers.ask_until_answered(range(MANY - 1, -1, -MANY // ASKED))
        finally:
            hub.wait_ready()
            hub.stop()
    return at[0] - begun, at[-1] - begun


def _write(home: Path, port: int, count: int) -> None:
    home.mkdir(mode=0o700, parents=True)
    (home / "configuration.yaml").write_text(
        "hub: {name: Bench}\nmodels: {default: offline/rules}\n"
        f"mqtt: {{broker: 127.0.0.1, port: {port}}}\nautomation: !include automations.yaml\n"
    )
    (home / "automations.yaml").write_text("".join(ITEM.format(n=number) for number in range(count)))
