"""The servers of a home die, freeze or have no room while people talk to its hub: they notice only that it waits."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.e2e.talk import until
from tests.faults.numbers_platform import NumbersPlatform
from tests.faults.test_kill import ACCOUNTS, CUSTOM
from tests.lengths import in_long_runs, rounds
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess
from tests.servers.postgresql import PostgresqlServer

PACE_S = 0.08
AWAY_S = rounds(30, 1)
FROZEN_S = 10
LIMIT_S = 120.0
ANOTHER_HAS_IT = 75
OPEN = """SELECT (SELECT count(*) FROM homarus.inbox WHERE state IN ('received', 'queued'))
    + (SELECT count(*) FROM homarus.runs WHERE state IN ('queued', 'running'))
    + (SELECT count(*) FROM homarus.outbox WHERE state IN ('queued', 'pending', 'sending'))"""


class People:
    """Four people who talk to the hub all the time, each through an account; they number what they say."""

    def __init__(self, platform: NumbersPlatform) -> None:
        self._platform = platform
        self.said: dict[str, list[str]] = {account: [] for account in ACCOUNTS}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._talk)

    def all_said(self) -> set[str]:
        return {each for said in self.said.values() for each in said}

    def _talk(self) -> None:
        number = 0
        while not self._end.wait(PACE_S):
            account = ACCOUNTS[number % len(ACCOUNTS)]
            self.said[account].append(f"<{account}{number}>")
            self._platform.say(account, self.said[account][-1], self.said[account][-1])
            number += 1

    def heard(self) -> dict[str, list[str]]:
        """Return what was answered to each, in the order in which they heard it."""
        texts = " ".join(self._platform.texts.values())
        return {account: re.findall(rf"<{account}\d+>", texts) for account in ACCOUNTS}

    def wait_for_more(self, count: int = 20) -> None:
        """Wait until so many more messages were taken and answered."""
        taken, answered = len(self._platform.acknowledged), len(self._platform.texts)
        until(
            lambda: len(self._platform.acknowledged) >= taken + count and len(self._platform.texts) >= answered + count,
            LIMIT_S,
        )

    def wait_for_silence(self, server: PostgresqlServer) -> None:
        """Let them say no more, and wait until nothing is left to be done."""
        self._end.set()
        self._thread.join()
        until(lambda: self._platform.waiting() == 0 and server.execute(OPEN) == [(0,)], LIMIT_S)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServerProcess]:
    with OpenAIServerProcess() as server:
        server.set_default([{"delay_s": 0.02}, {"echo": True}])
        yield server


@pytest.fixture
def platform() -> Iterator[NumbersPlatform]:
    with NumbersPlatform() as platform:
        yield platform


@pytest.fixture
def primary(request: pytest.FixtureRequest) -> Iterator[PostgresqlServer]:
    """A server; with a parameter, on a disk of so many MB, where this user may mount one."""
    server = PostgresqlServer()
    if size := getattr(request, "param", None):
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(server.folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a file system")
    with server:
        yield server
    if size:
        subprocess.run(["umount", "-l", str(server.folder)], check=True)


@pytest.fixture
def standby(primary: PostgresqlServer) -> Iterator[PostgresqlServer]:
    """The synchronous one."""
    with PostgresqlServer(primary) as server:
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")
        yield server


MakeHub = Callable[..., HubProcess]


@pytest.fixture
def make_hub(
    tmp_path: Path, platform: NumbersPlatform, model: OpenAIServerProcess, primary: PostgresqlServer
) -> Iterator[MakeHub]:
    """Makes hubs with folders of their own; they all have the same home, in the database of the servers."""
    made: list[HubProcess] = []

    def make(*standbys: PostgresqlServer) -> HubProcess:
        home = tmp_path / f"machine{len(made)}"
        home.mkdir(mode=0o700)
        provider = {"api": "openai", "base_url": model.base_url, "models": [{"id": "slow"}]}
        hosts = ",".join(str(each.folder) for each in (primary, *standbys))
        sections = {
            "models": {"default": "test/slow", "providers": {"test": provider}},
            "numbers": {"port": platform.port},
            "messages": {
                "queue": {"mode": "followup", "debounce_ms": 0, "cap": 1_000},
                "inbound": {"debounce_ms": 0},
            },
            "storage": {"postgresql": {"url": f"postgresql://homarus@/postgres?host={hosts}", "home": "elm"}},
        }
        (home / "configuration.yaml").write_text(
            "".join(f"{name}: {json.dumps(each)}\n" for name, each in sections.items())
        )
        shutil.copytree(CUSTOM / "numbers", home / "custom_integrations" / "numbers")
        made.append(HubProcess(home))
        return made[-1]

    yield make
    for each in made:
        each.__exit__(None, None, None)


def assert_in_order(people: People, platform: NumbersPlatform, server: PostgresqlServer) -> None:
    """All that was said was taken; what was answered was answered once, in order."""
    assert platform.acknowledged == people.all_said()
    for account, heard in people.heard().items():
        assert heard == [each for each in people.said[account] if each in heard]
    assert_once(platform, server)


def assert_once(platform: NumbersPlatform, server: PostgresqlServer) -> None:
    """Nothing was sent twice but where it shows once, however often it is sent."""
    once = server.execute("SELECT id FROM homarus.outbox WHERE account NOT IN ('a', 'b')")
    assert max(platform.sent[id] for (id,) in once) == 1


def assert_nobody_noticed(people: People, platform: NumbersPlatform, server: PostgresqlServer) -> None:
    """All that was said was answered, once, in order; nothing is left that may have been sent."""
    assert_in_order(people, platform, server)
    assert people.heard() == people.said
    assert len(platform.sent) == len(people.all_said())
    assert server.execute("SELECT DISTINCT state FROM homarus.outbox") == [("sent",)]


@pytest.mark.slow
def test_a_standby_takes_over_and_the_former_primary_that_is_back_gets_nothing(
    standby: PostgresqlServer, primary: PostgresqlServer, make_hub: MakeHub, platform: NumbersPlatform
) -> None:
    hub = make_hub(standby)
    hub.start()
    with People(platform) as people:
        people.wait_for_more()
        primary.crash()
        standby.promote()
        people.wait_for_more()
        people.wait_for_silence(standby)
    assert_nobody_noticed(people, platform, standby)
    assert hub.stop() == 0

    primary.start()
    hub.start()
    platform.say("a", "<a-again>", "<a-again>")
    until(lambda: "<a-again>" in platform.acknowledged)

    found = "SELECT count(*) FROM homarus.inbox WHERE message_id = '<a-again>'"
    assert [each.execute(found) for each in (primary, standby)] == [[(0,)], [(1,)]]


def goes(server: PostgresqlServer) -> None:
    """Let it be away for a while."""
    server.crash()
    time.sleep(AWAY_S)
    server.start()


def freezes(server: PostgresqlServer) -> None:
    """Let it answer nothing for a while, though it is there."""
    frozen = server.freeze()
    time.sleep(FROZEN_S)
    for each in reversed(frozen):
        each.resume()


@pytest.mark.slow
@pytest.mark.parametrize("happens", [goes, *in_long_runs(freezes)])
def test_while_the_server_is_away_people_only_wait(
    make_hub: MakeHub, platform: NumbersPlatform, primary: PostgresqlServer, happens: Callable[[PostgresqlServer], None]
) -> None:
    make_hub().start()
    with People(platform) as people:
        people.wait_for_more()

        happens(primary)

        people.wait_for_more()
        people.wait_for_silence(primary)
    assert_nobody_noticed(people, platform, primary)


@pytest.mark.slow
def test_another_machine_goes_on_with_the_home_of_one_that_died_or_stood_still(
    make_hub: MakeHub, platform: NumbersPlatform, primary: PostgresqlServer
) -> None:
    one, two, three = (make_hub() for _ in range(3))
    one.start()
    with People(platform) as people:
        people.wait_for_more()
        one.kill()
        two.start()
        people.wait_for_more()

        os.kill(two.pid, signal.SIGSTOP)
        primary.execute("SELECT pg_terminate_backend(backend::int) FROM homarus.owners")  # its machine is cut off
        three.start()
        people.wait_for_more()
        os.kill(two.pid, signal.SIGCONT)
        code = two.ended()
        people.wait_for_more()
        people.wait_for_silence(primary)

    assert code == ANOTHER_HAS_IT
    assert "has taken over the home elm" in two.log.read_text()
    assert primary.execute("SELECT process FROM homarus.owners") == [(three.pid,)]
    # What was on its way when a machine went may have been sent, or is when that one wakes: it is not sent again.
    assert platform.acknowledged == people.all_said()
    assert_once(platform, primary)
    [(unknown,)] = primary.execute("SELECT count(*) FROM homarus.outbox WHERE state = 'unknown'")
    heard = {each for answered in people.heard().values() for each in answered}
    assert len(people.all_said() - heard) <= unknown


def fill(file: Path) -> None:
    """Leave no room on the disk of a file."""
    with suppress(OSError), file.open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(65_536))


@pytest.mark.slow
@pytest.mark.parametrize("primary", [96], indirect=True)
def test_a_full_disk_of_the_server_loses_nothing_and_whoever_is_not_answered_is_told(
    make_hub: MakeHub, platform: NumbersPlatform, primary: PostgresqlServer
) -> None:
    make_hub().start()
    filler = primary.folder / "filler"
    with People(platform) as people:
        people.wait_for_more()
        fill(filler)
        until(lambda: platform.waiting() >= 20)
        filler.unlink()
        people.wait_for_more()
        people.wait_for_silence(primary)

    assert_in_order(people, platform, primary)
    assert len(platform.sent) == len(people.all_said())
    told = [text for text in platform.texts.values() if not re.search(r"<[a-d]\d+>", text)]
    assert [each for each in told if not each.startswith("I could not answer")] == []
