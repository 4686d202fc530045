"""An update up to the restart: prepared, tested, backed up and recorded, or refused with nothing changed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hub import __version__
from hub.core.clock import ManualClock
from hub.core.errors import Conflict, HubError, TimedOut
from hub.storage.homedir import Home
from hub.update.errors import UpdateFailed
from hub.update.place import Kind, Place
from hub.update.prepare import drop_unused, prepare
from hub.update.record import UpdateRecord, UpdateState, read_record, write_record
from hub.update.sources import GitSource
from hub.update.updates import Facts, Updates, judge
from tests.until import as_time_passes, until
from tests.update.releases import ERROR, Project, git


class Household:
    """A home, a clone and its updates, with what they did."""

    def __init__(self, project: Project, home: Home, clock: ManualClock) -> None:
        self.project, self.home = project, home
        self.base = project.checkout / ".venv"
        self.did: list[str] = []
        self.runs = 0
        self.updates = Updates(
            home,
            Place(Kind.CHECKOUT, self.base, project.checkout),
            backup=self.backup,
            busy=lambda: self.runs,
            facts=lambda: Facts(problems=("channels telegram",)),
            switch=lambda: self.did.append("switch"),
            clock=clock,
            changed=lambda: self.did.append(self.updates.work.what if self.updates.work else "end"),
        )

    async def backup(self) -> str:
        return "home.tar.gz"

    def record(self) -> UpdateRecord | None:
        return read_record(self.home.path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def household(tmp_path: Path, clock: ManualClock) -> Household:
    project = Project(tmp_path)
    project.release(__version__)
    project.clone(__version__)
    home = Home(tmp_path / "home")
    home.create()
    home.configuration.write_text("hub: {name: Elm Street}\n")
    return Household(project, home, clock)


async def test_it_is_prepared_tested_backed_up_and_recorded(household: Household) -> None:
    household.project.release("99.1")

    assert await household.updates.run() == "99.1"

    assert list(dict.fromkeys(household.did)) == [
        "look",
        "prepare",
        "test",
        "backup",
        "wait",
        "restart",
        "switch",
        "end",
    ]
    record = household.record()
    assert record is not None
    assert (record.version, record.previous, record.state) == ("99.1", __version__, UpdateState.READY)
    assert (record.backup, record.problems) == ("home.tar.gz", ("channels telegram",))
    assert run_version(household, "99.1") == "99.1"
    assert git(household.project.checkout, "status", "--porcelain") == ""


def run_version(household: Household, version: str) -> str:
    """Return what the prepared version says that it is."""
    python = household.base / f"versions/{version}/.venv/bin/python"
    return subprocess.check_output([python, "-P", "-c", "import hub; print(hub.__version__)"], text=True).strip()


async def test_there_is_nothing_to_do(household: Household) -> None:
    with pytest.raises(Conflict, match="runs already"):
        await household.updates.run()


@pytest.mark.parametrize(
    ("errors", "broken", "told"),
    [
        ([ERROR], "", r"does not fit the new version: configuration.yaml:3: there is no kettle"),
        ([], "import kettle\n", r"does not start: .*No module named 'kettle'"),
    ],
)
async def test_one_that_is_not_fit_is_refused_before_anything_changes(
    household: Household, errors: list[object], broken: str, told: str
) -> None:
    household.project.release("99.1", errors=errors, broken=broken)

    with pytest.raises(UpdateFailed, match=told):
        await household.updates.run()

    assert household.record() is None
    assert "switch" not in household.did
    assert household.updates.status()["error"]


async def test_a_tag_that_is_not_what_it_says_is_refused(household: Household) -> None:
    household.project.release("99.1")
    git(household.project.work, "tag", "v99.2", "v99.1")
    git(household.project.work, "push", "--quiet", "origin", "v99.2")

    with pytest.raises(UpdateFailed, match=r"says that it is 99\.1"):
        await household.updates.run("99.2")


async def test_an_installer_that_fails_says_why(household: Household) -> None:
    failing = {"script/setup": "#!/bin/sh\necho 'script/setup: no room on the disk'; exit 1\n"}
    household.project.release("99.1", files=failing)

    with pytest.raises(UpdateFailed, match="could not be installed: no room on the disk"):
        await household.updates.run()


async def test_a_backup_that_fails_stops_it(household: Household) -> None:
    household.project.release("99.1")

    async def backup() -> str:
        raise HubError("the stick is full")

    household.updates._backup = backup
    with pytest.raises(HubError, match="the stick is full"):
        await household.updates.run()

    assert household.record() is None


async def test_it_waits_until_no_run_is_at_work(household: Household, clock: ManualClock) -> None:
    household.project.release("99.1")
    household.runs = 1
    update = asyncio.create_task(household.updates.run())
    await until(lambda: household.updates.work is not None and household.updates.work.what == "wait")
    await clock.advance(60)
    assert household.record() is None

    household.runs = 0
    await as_time_passes(clock, 1.0, update.done)

    assert household.did[-3:] == ["restart", "switch", "end"]


async def test_it_does_not_wait_for_ever(household: Household, clock: ManualClock) -> None:
    household.project.release("99.1")
    household.runs = 1
    update = asyncio.create_task(household.updates.run())

    await as_time_passes(clock, 600.0, update.done)

    with pytest.raises(TimedOut, match="at work for 30 min"):
        await update
    assert household.record() is None


async def test_two_at_once_are_refused(household: Household) -> None:
    household.project.release("99.1")
    update = asyncio.create_task(household.updates.run())
    await asyncio.sleep(0)

    with pytest.raises(Conflict, match="going on already"):
        await household.updates.run()

    await update


async def test_what_was_killed_half_way_is_made_again(household: Household) -> None:
    """Kill the process that prepares, while its installer runs, as a power cut would."""
    hanging = {"script/setup": "#!/bin/sh\necho $PPID > ../../pid; exec sleep 600\n"}
    household.project.release("99.1", files=hanging)
    script = household.home.path / "prepare.py"
    script.write_text(
        "import asyncio, sys; from pathlib import Path\n"
        "from hub.update.prepare import prepare; from hub.update.sources import GitSource\n"
        f"checkout = Path({str(household.project.checkout)!r}); base = checkout / '.venv'\n"
        "source = GitSource(checkout, base)\n"
        "async def main():\n"
        "    await source.find()\n"
        f"    await prepare(source, '99.1', base, Path({str(household.home.path)!r}), print)\n"
        "asyncio.run(main())\n"
    )
    root = str(Path(__file__).parents[2])
    process = await asyncio.create_subprocess_exec(sys.executable, script, env={**os.environ, "PYTHONPATH": root})
    await until((household.base / "pid").exists)
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    folder = household.base / "versions/99.1"
    assert folder.exists()
    assert not (folder / "whole").exists()

    good = (household.project.checkout / "script/setup").read_text()
    household.project.release("99.1.1", files={"script/setup": good})
    git(household.project.checkout, "fetch", "--quiet", "--tags")
    git(
        household.project.checkout,
        "tag",
        "--force",
        "v99.1",
        git(household.project.checkout, "rev-parse", "v99.1.1^{}").strip(),
    )
    (household.base / "versions/99.1/left").touch()
    source = GitSource(household.project.checkout, household.base)
    with pytest.raises(UpdateFailed, match=r"says that it is 99\.1\.1"):  # so it was made from the beginning
        await prepare(source, "99.1", household.base, household.home.path, household.did.append)
    assert not (folder / "left").exists()


async def test_versions_that_no_home_needs_are_deleted(household: Household, tmp_path: Path) -> None:
    source = GitSource(household.project.checkout, household.base)
    for version in ("99.1", "99.2", "99.3", "99.4"):
        household.project.release(version)
        await source.find(version)
        await prepare(source, version, household.base, household.home.path, household.did.append)
    other = tmp_path / "other"
    other.mkdir()
    await prepare(source, "99.2", household.base, other, household.did.append)
    write_record(household.home.path, UpdateRecord("99.4", "99.3", UpdateState.KEPT))

    drop_unused(household.base, household.home.path)

    assert sorted(each.name for each in (household.base / "versions").glob("9*")) == ["99.2", "99.3", "99.4"]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (Facts(problems=("channels telegram",)), ""),
        (Facts(), ""),
        (Facts(problems=("channels telegram", "models key")), "problems that were not there: models key"),
        (Facts(recovery=True), "only its editor runs"),
    ],
)
def test_a_new_version_is_worse_when_something_is_broken_that_was_not(facts: Facts, why: str) -> None:
    record = UpdateRecord("99.1", "99.0", UpdateState.TRYING, problems=("channels telegram",))

    assert why in judge(record, facts)
    assert bool(why) is bool(judge(record, facts))
