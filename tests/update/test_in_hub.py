"""Updates in a hub: who may, what it says, and how a new version is judged after its start."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub import __version__
from hub.core.clock import ManualClock
from hub.core.repairs import Severity
from hub.update.component import ENTITY
from hub.update.record import UpdateRecord, UpdateState, read_record, write_record
from tests.backup.test_in_hub import NOBODY, asked, rpc
from tests.hub_fixture import HubFixture
from tests.until import as_time_passes, until


async def test_only_an_owner_may_and_the_status_is_what_openclaws_clients_read(tmp_path: Path) -> None:
    async with HubFixture(tmp_path / "home", NOBODY) as hub:
        reader = await asked(hub, "token.create", {"name": "reader", "scopes": ["operator.read", "operator.write"]})
        refused = [
            await rpc(hub, name, token=reader["token"]) for name in ("update.status", "update.check", "update.run")
        ]
        status = await asked(hub, "update.status")
        # The tests were not started by `homarus start`.
        run = await rpc(hub, "update.run", {"version": "99.1"})
        entity = hub.states.get(ENTITY)

    assert {each["error"]["code"] for each in refused} == {"FORBIDDEN"}
    assert (status["sentinel"], status["updateAvailable"], status["version"]) == (None, None, __version__)
    assert run["error"]["code"] == "CONFLICT"
    assert entity is not None
    assert (entity.state, entity.attributes["installed_version"]) == ("unknown", __version__)


def on_trial(home: Path) -> None:
    (home / ".storage").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    write_record(home, UpdateRecord(__version__, "0.0.1", UpdateState.TRYING, starts=1))


async def test_a_new_version_without_new_problems_stays(tmp_path: Path) -> None:
    clock = ManualClock()
    on_trial(tmp_path / "home")

    async with HubFixture(tmp_path / "home", NOBODY, clock=clock):
        await as_time_passes(clock, 10.0, lambda: state_in(tmp_path / "home") is not UpdateState.TRYING)

    assert state_in(tmp_path / "home") is UpdateState.KEPT


async def test_one_with_a_new_problem_restarts_into_the_version_before(tmp_path: Path) -> None:
    clock, restarted = ManualClock(), asyncio.Event()
    on_trial(tmp_path / "home")
    hub = HubFixture(tmp_path / "home", NOBODY, clock=clock)
    await hub.start(on_restart=restarted.set)
    try:
        hub.repairs.raise_("kettle", "cold", "The kettle is cold")
        await as_time_passes(clock, 10.0, restarted.is_set)
    finally:
        await hub.stop()

    record = read_record(tmp_path / "home")
    assert record is not None
    assert (record.state, record.runs) == (UpdateState.BACK, "0.0.1")
    assert record.why == "it has problems that were not there: kettle cold"


async def test_a_problem_that_goes_away_by_itself_is_none(tmp_path: Path) -> None:
    clock = ManualClock()
    on_trial(tmp_path / "home")

    async with HubFixture(tmp_path / "home", NOBODY, clock=clock) as hub:
        hub.repairs.raise_("kettle", "cold", "The kettle is cold")
        await clock.advance(31.0)
        hub.repairs.clear("kettle")
        await as_time_passes(clock, 10.0, lambda: state_in(tmp_path / "home") is not UpdateState.TRYING)

    assert state_in(tmp_path / "home") is UpdateState.KEPT


async def test_that_one_was_taken_back_is_a_repair(tmp_path: Path) -> None:
    (tmp_path / "home/.storage").mkdir(parents=True, mode=0o700)
    write_record(tmp_path / "home", UpdateRecord("99.1", __version__, UpdateState.BACK, why="the oven is broken"))

    async with HubFixture(tmp_path / "home", NOBODY) as hub:
        repair = await until(lambda: hub.repairs.get("update", "back"))

    assert repair is not None
    assert "99.1 was taken back" in repair.title
    assert "the oven is broken" in repair.text
    assert repair.severity is Severity.WARNING  # else the next update would count it


@pytest.mark.parametrize(("check", "armed"), [("never", False), ("daily", True)])
async def test_it_asks_by_itself_only_where_that_is_allowed(tmp_path: Path, check: str, *, armed: bool) -> None:
    async with HubFixture(tmp_path / "home", NOBODY, sections={"hub": {"update": {"check": check}}}) as hub:
        update = next(each for each in hub.components if each.name == "update")

        assert (update._entry is not None) is armed  # type: ignore[attr-defined]


def state_in(home: Path) -> UpdateState | None:
    record = read_record(home)
    return record.state if record is not None else None
