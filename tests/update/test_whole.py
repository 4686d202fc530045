"""Real hubs in a real clone or a package that update and go back: with git or an index, processes and files alone."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hub import __version__
from hub.core.container import in_container
from hub.storage.instance_lock import read_running
from hub.storage.migrations import HUB_MIGRATIONS
from hub.update.record import UpdateRecord, UpdateState, read_record
from tests.e2e.homes import MODELS, make_home
from tests.lengths import LONG
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.update.releases import REPOSITORY, PackageIndex, Project, git

LIMIT_S = 600.0
KNOWN = len(HUB_MIGRATIONS)
CONFIGURATION = "memory: {embeddings: {provider: none}}\n"
KETTLE = 'self._base.repairs.raise_("kettle", "cold", "The kettle is cold")'
MIGRATION = """
HUB_MIGRATIONS = (*HUB_MIGRATIONS, lambda connection: connection.execute("CREATE TABLE oven(heat INTEGER)"))
"""

pytestmark = [pytest.mark.timeout(1800), pytest.mark.skipif(not LONG, reason="takes a long run")]


def watching_for(first_s: float, *, more: str = "") -> dict[str, str]:
    """Return the part that judges a version as a release has it that judges itself after a time.

    Args:
        more: Code that it runs as it starts.
    """
    name = "hub/update/component.py"
    text = (REPOSITORY / name).read_text()
    start = 'self._base.bus.listen("hub_started", lambda _: self._started.set())'
    told = "FIRST_S, AGAIN_S = 30.0, 60.0"
    assert start in text
    assert told in text
    return {name: text.replace(told, f"FIRST_S, AGAIN_S = {first_s}, 1.0").replace(start, f"{start}\n        {more}")}


def crashing() -> dict[str, str]:
    """Return what a release changes whose schema is newer, and that ends once it has opened the database."""
    bootstrap, migrations = "hub/bootstrap.py", "hub/storage/migrations.py"
    text = (REPOSITORY / bootstrap).read_text()
    started = "        lock.update(host, port, tls="
    assert started in text
    return {
        bootstrap: text.replace(started, f'        raise RuntimeError("the oven is broken")\n{started}'),
        migrations: (REPOSITORY / migrations).read_text() + MIGRATION,
    }


class Household(HubProcess):
    """A home; its port and its process stay the same over all updates.

    Args:
        home: Its folder.
        python: Of the environment that Homarus was installed into.
        environment: Of its process.
    """

    start_limit_s = LIMIT_S  # a new clone is compiled first

    def __init__(self, home: Path, python: Path, environment: dict[str, str] | None = None) -> None:
        super().__init__(home, environment)
        self.python = python

    def _run(self, *arguments: str, output: object) -> subprocess.Popen[bytes]:
        argv = [self.python, "-P", "-m", "hub", *arguments]
        environment = {name: text for name, text in self._environment.items() if name != "PYTHONPATH"}
        return subprocess.Popen(argv, env=environment, stdout=output, stderr=output)  # type: ignore[call-overload,no-any-return]

    def _find_port(self) -> bool:
        return True  # it was told to

    @property
    def record(self) -> UpdateRecord | None:
        """How far its update is."""
        return read_record(self.home)

    async def update(self, version: str = "") -> UpdateRecord:
        """Update, and return what became of it once a hub is there again."""
        self.rpc("update.run", {"version": version})
        return await self.outcome(lambda now: now.state in (UpdateState.KEPT, UpdateState.BACK))

    async def outcome(self, holds: Callable[[UpdateRecord], bool]) -> UpdateRecord:
        """Wait until something holds of the record and a hub is ready; return the record."""
        before = self.record

        def found() -> UpdateRecord | None:
            now = self.record
            return now if now is not None and now != before and holds(now) and self._ready() else None

        record = await until(found, LIMIT_S)
        assert record is not None
        return record

    async def kill_trial(self, *not_these: int) -> int:
        """Kill the version that is on trial once its process is another than these; return it."""
        pid = await until(lambda: (at := self.running()) not in (None, *not_these) and self._ready() and at, LIMIT_S)
        assert pid
        os.kill(pid, signal.SIGKILL)
        return pid

    def running(self) -> int | None:
        """Return the process that holds the home."""
        found = read_running(self.home)
        return found.pid if found is not None else None

    def processes(self) -> int:
        """Return how many processes of Homarus there are for the home."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return 1 + sum(b"-m\0hub\0start" in Path(f"/proc/{child}/cmdline").read_bytes() for child in children)

    def version(self) -> str:
        """Return the version that answers."""
        return str(self.rpc("update.status")["version"])

    def schema(self) -> int:
        """Return the version of its database."""
        with closing(sqlite3.connect(self.home / ".storage/hub.db")) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])


class Cloned(Household):
    """A home that runs from a clone.

    Args:
        folder: For the project, the clone and the home.
    """

    def __init__(self, folder: Path, configuration: str = CONFIGURATION) -> None:
        self.project = Project(folder, real=True)
        self.project.release(__version__)
        python = self.project.clone(__version__) / "bin/python"
        super().__init__(make_home(folder / "home", configuration), python)


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Cloned]:
    with Cloned(tmp_path) as household:
        yield household


async def test_a_good_version_stays_and_one_that_does_not_start_is_taken_back_with_its_schema(
    household: Cloned,
) -> None:
    household.project.release("99.1", files=watching_for(0.5))
    good = await household.update()
    kept = (household.version(), household.processes())
    household.project.release("99.2", files=crashing())
    bad = await household.update()

    assert (good.state, good.version, good.why) == (UpdateState.KEPT, "99.1", "")
    assert kept == ("99.1", 2)
    assert (bad.state, bad.version, bad.why) == (UpdateState.BACK, "99.2", "RuntimeError: the oven is broken")
    assert (household.version(), household.schema(), household.processes()) == ("99.1", KNOWN, 1)
    assert [each["id"] for each in household.rpc("repairs.list")["repairs"] if each["source"] == "update"] == ["back"]
    assert (household.stop(), household.start() and household.processes(), household.version()) == (0, 1, "99.1")


async def test_a_version_with_a_new_problem_goes_back_by_itself(household: Cloned) -> None:
    household.project.release("99.1", files=watching_for(0.5, more=KETTLE))

    record = await household.update()

    assert (record.state, record.why) == (UpdateState.BACK, "it has problems that were not there: kettle cold")
    assert (household.version(), household.processes()) == (__version__, 1)


async def test_one_that_is_killed_on_trial_is_tried_once_more_and_then_taken_back(household: Cloned) -> None:
    household.project.release("99.1", files=watching_for(600.0))
    first = household.running()
    assert first
    household.rpc("update.run")

    second = await household.kill_trial(first)
    third = await household.kill_trial(first, second)
    record = await household.outcome(lambda now: now.state is UpdateState.BACK)

    assert third not in (first, second)
    assert (record.starts, record.why) == (2, "it ended with signal 9 before it was ready")
    assert (household.version(), household.processes()) == (__version__, 1)


async def test_after_a_power_cut_the_trial_goes_on(household: Cloned) -> None:
    household.project.release("99.1", files=watching_for(600.0))
    first = household.running()
    assert first
    household.rpc("update.run")
    await until(lambda: household.running() not in (None, first) and household._ready(), LIMIT_S)
    household.kill()
    await household.kill_trial(first)
    component = household.python.parent.parent / "versions/99.1/hub/update/component.py"
    component.write_text(component.read_text().replace("FIRST_S, AGAIN_S = 600.0", "FIRST_S, AGAIN_S = 0.5"))

    household.start()
    record = await household.outcome(lambda now: now.state is UpdateState.KEPT)

    assert (record.starts, household.version()) == (2, "99.1")


async def test_a_program_that_a_run_has_started_is_not_cut_off(tmp_path: Path, openai_server: OpenAIServer) -> None:
    begun, go, ended = (tmp_path / name for name in ("begun", "go", "ended"))
    command = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.1; done; touch {ended}"
    openai_server.queue([{"tool_call": {"name": "exec", "arguments": {"command": command, "timeout_s": 600}}}], "Done.")
    configuration = MODELS.format(base_url=openai_server.base_url) + "exec: {mode: full}\n"
    with Cloned(tmp_path, configuration) as household:
        household.project.release("99.1", files=watching_for(0.5))
        household.rpc("chat.send", {"sessionKey": "main", "message": "wait for it", "idempotencyKey": "one"})
        await until(begun.exists, LIMIT_S)
        household.rpc("update.run")
        await until(lambda: (household.rpc("update.status")["working"] or {}).get("what") == "wait", LIMIT_S)
        before = (household.version(), ended.exists())
        go.touch()
        record = await household.outcome(lambda now: now.state is UpdateState.KEPT)

        assert before == (__version__, False)
        assert ended.exists()
        assert (record.version, household.version()) == ("99.1", "99.1")


def test_what_cannot_be_updated_says_so_and_changes_nothing(household: Cloned) -> None:
    household.project.release("99.1")
    (household.project.checkout / "CHANGELOG.md").write_text("mine")
    dirty = household.cli("update", "--yes")
    git(household.project.checkout, "restore", ".")
    unknown = household.cli("update", "--version", "98.7", "--yes")
    older = household.cli("update", "--version", "0.0.1", "--yes")

    assert "changes of your own" in dirty.stderr
    assert "There is no version 98.7; there are: 99.1" in unknown.stderr
    assert "0.0.1 is older than" in older.stderr
    assert 0 not in (dirty.returncode, unknown.returncode, older.returncode)
    assert (household.record, household.version()) == (None, __version__)


@pytest.mark.skipif(in_container(), reason="a container is replaced as a whole")
@pytest.mark.parametrize("client", ["pip", "uv"])
async def test_a_package_updates_from_the_index_of_its_client(tmp_path: Path, client: str) -> None:
    index = PackageIndex(tmp_path)
    index.release(__version__)
    environment = index.environment(client)
    python = index.install(client, environment)
    with Household(make_home(tmp_path / "home", CONFIGURATION), python, environment) as household:
        none = household.rpc("update.check", timeout_s=LIMIT_S)
        index.release("99.1", notes="**The oven** is warm.", files=watching_for(0.5))
        there = household.rpc("update.check", timeout_s=LIMIT_S)
        with pytest.raises(AssertionError, match=r"There is no version 99\.5"):
            household.rpc("update.check", {"version": "99.5"}, timeout_s=LIMIT_S)
        record = await household.update()

        assert none["release"] is None
        assert (there["release"]["version"], there["release"]["notes"]) == (
            "99.1",
            "## 99.1 (2026-11-29)\n\n**The oven** is warm.",
        )
        assert (record.state, household.version(), household.processes()) == (UpdateState.KEPT, "99.1", 2)
