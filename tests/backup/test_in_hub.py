"""Backups in a whole hub: its methods, its schedule, its repairs, and a restore that it restarts on."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.backup.swap import finish, replaced_home
from hub.core.clock import ManualClock
from hub.core.context import system_context
from hub.messaging.contract import Address, InboundMessage
from hub.messaging.inbox.inbox import BEFORE_RESTORE
from tests.backup.homes import PASSPHRASE
from tests.hub_fixture import HubFixture
from tests.servers.forked import run
from tests.until import until

NOBODY = "http://127.0.0.1:9/v1"
WORK_LIMIT_S = 120.0
SCHEDULE = {"schedule": {"every": "day", "at": "03:30"}}


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[HubFixture]:
    async with HubFixture(tmp_path / "home", NOBODY, files={"secrets.yaml": "one: two\n"}) as hub:
        yield hub


async def rpc(hub: HubFixture, method: str, params: dict[str, Any] | None = None, token: str = "") -> Any:
    header = {"Authorization": f"Bearer {token}"} if token else hub.bearer
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{hub.url}/api/rpc", json={"method": method, "params": params or {}}, headers=header) as answer,
    ):
        return json.loads(await answer.text())


async def asked(hub: HubFixture, method: str, params: dict[str, Any] | None = None) -> Any:
    answer = await rpc(hub, method, params)
    assert answer.get("ok"), answer
    return answer["payload"]


async def test_it_is_made_listed_verified_and_deleted(hub: HubFixture) -> None:
    run = (await asked(hub, "backup.create", {"wait": True}))["run"]
    listed = await asked(hub, "backup.list")
    verified = await asked(hub, "backup.verify", {"source": run["name"]})
    status = await asked(hub, "backup.status")

    assert [(each["name"], each["places"], each["own"]) for each in listed["backups"]] == [
        (run["name"], ["folder"], True)
    ]
    assert verified["files"] == run["files"] > 3
    assert status["last"]["name"] == run["name"]
    assert (status["working"], status["encrypted"]) == (None, False)

    await asked(hub, "backup.delete", {"name": run["name"]})
    assert (await asked(hub, "backup.list"))["backups"] == []


async def test_it_says_how_far_it_is(hub: HubFixture) -> None:
    seen: list[Any] = []
    hub.bus.listen("backup_changed", lambda event: seen.append(event.data))

    await asked(hub, "backup.create", {"wait": True})

    assert seen[0]["working"] == "create"
    assert any(each["working"] and each["done"] == each["total"] > 0 for each in seen)
    assert seen[-1] == {"working": None}


async def begin_a_long_one(hub: HubFixture) -> None:
    with (hub.home.workspace / "large").open("wb") as file:
        file.truncate(4_000_000_000)
    await asked(hub, "backup.create")


async def cut_off(hub: HubFixture) -> None:
    assert await hub.tasks.cancel_all(timeout_s=WORK_LIMIT_S) == []


async def test_two_at_once_are_refused(hub: HubFixture) -> None:
    await begin_a_long_one(hub)

    answer = await rpc(hub, "backup.verify", {"source": "homarus-home-20261129T033000Z.tar.gz"})

    assert answer["error"]["code"] == "CONFLICT"
    await cut_off(hub)


async def test_the_hub_is_busy_while_one_is_made(hub: HubFixture) -> None:
    busy = [hub.is_busy]
    await begin_a_long_one(hub)
    busy.append(hub.is_busy)
    await cut_off(hub)
    busy.append(hub.is_busy)

    assert busy == [False, True, False]


async def test_only_an_owner_may(hub: HubFixture) -> None:
    made = await asked(hub, "token.create", {"name": "reader", "scopes": ["operator.read", "operator.write"]})

    answer = await rpc(hub, "backup.status", token=made["token"])

    assert answer["error"]["code"] == "FORBIDDEN"


async def test_an_automation_may_make_one(hub: HubFixture) -> None:
    await hub.services.call("backup", "create", {}, context=system_context())

    assert len((await asked(hub, "backup.list"))["backups"]) == 1


async def test_the_hub_restarts_on_what_was_restored(tmp_path: Path) -> None:
    sections = {"backup": {"passphrase": PASSPHRASE}}
    hub = HubFixture(tmp_path / "home", NOBODY, sections=sections, files={"secrets.yaml": "one: two\n"})
    restarting = asyncio.Event()
    await hub.start(on_restart=restarting.set)
    try:
        name = (await asked(hub, "backup.create", {"wait": True}))["run"]["name"]
        hub.home.secrets.write_text("one: changed\n")

        told = await asked(hub, "backup.preview", {"source": name})
        await asked(hub, "backup.restore", {"source": name})
        await asyncio.wait_for(restarting.wait(), 30)
    finally:
        await hub.stop()
    assert name.endswith(".age")
    assert told["encrypted"]
    assert told["replaces"]["secrets.yaml"] == 1

    finish(hub.home)

    assert hub.home.secrets.read_text() == "one: two\n"
    assert replaced_home(hub.home) is not None
    async with HubFixture(tmp_path / "home", NOBODY, sections=sections) as again:
        assert (await asked(again, "backup.status"))["replaced"] is not None
        await asked(again, "backup.forgetReplaced")
        assert replaced_home(hub.home) is None


async def test_a_scheduled_one_is_made_at_its_time_and_a_missed_one_once(tmp_path: Path) -> None:
    clock = ManualClock(1_795_910_000.0)  # 2026-11-28, 23:53
    async with HubFixture(tmp_path / "home", NOBODY, sections={"backup": SCHEDULE}, clock=clock) as hub:
        assert (await asked(hub, "backup.status"))["nextMs"] == 1_795_923_000_000
        await clock.advance(4 * 3600)
        await until(lambda: list((hub.home.path / "backups").glob("homarus-*.gz")), WORK_LIMIT_S)
        await until((hub.home.storage / "backup.json").exists)
        await hub_idle(hub)

    later = ManualClock(clock.time() + 3 * 86_400)
    async with HubFixture(tmp_path / "home", NOBODY, sections={"backup": SCHEDULE}, clock=later) as hub:
        await later.advance(1)
        await until(lambda: len(list((hub.home.path / "backups").glob("homarus-*.gz"))) == 2, WORK_LIMIT_S)
        await hub_idle(hub)

        assert (await asked(hub, "backup.status"))["last"]["error"] == ""


async def hub_idle(hub: HubFixture) -> None:
    """Wait until nothing about backups goes on."""
    async with asyncio.timeout(WORK_LIMIT_S):
        while (await asked(hub, "backup.status"))["working"] is not None:  # noqa: ASYNC110  no event of another hub
            await asyncio.sleep(0.05)


def repairs(hub: HubFixture) -> dict[str, str]:
    return {each.id: each.title for each in hub.repairs.all() if each.source == "backup"}


async def test_a_failure_is_a_repair_until_one_succeeds(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    sections = {"backup": {"to": {"folder": str(tmp_path / "a file")}}}
    async with HubFixture(tmp_path / "home", NOBODY, sections=sections) as hub:
        answer = await rpc(hub, "backup.create", {"wait": True})
        assert answer["error"]["code"] == "STORAGE"
        assert repairs(hub) == {"failed": "The last backup failed"}

        (tmp_path / "a file").unlink()
        await asked(hub, "backup.create", {"wait": True})
        assert repairs(hub) == {}


async def test_a_copy_that_fails_leaves_the_backup_and_a_repair(tmp_path: Path) -> None:
    sections = {"backup": {"to": {"webdav": {"url": "http://127.0.0.1:9/dav"}}}}
    async with HubFixture(tmp_path / "home", NOBODY, sections=sections) as hub:
        run = (await asked(hub, "backup.create", {"wait": True}))["run"]

        assert "127.0.0.1" in run["error"]
        assert (hub.home.path / "backups" / run["name"]).exists()
        assert repairs(hub) == {"failed": "A copy of the last backup failed"}
        listed = await asked(hub, "backup.list")
        assert list(listed["failed"]) == ["webdav"]


async def test_one_that_is_too_old_is_a_repair(tmp_path: Path) -> None:
    clock = ManualClock(1_795_910_000.0)
    sections = {"backup": {**SCHEDULE, "to": {"folder": "elsewhere"}}}
    async with HubFixture(tmp_path / "home", NOBODY, sections=sections, clock=clock) as hub:
        await asked(hub, "backup.create", {"wait": True})
        assert repairs(hub) == {}

    (tmp_path / "home" / "elsewhere").rename(tmp_path / "gone")
    (tmp_path / "home" / "elsewhere").write_text("")
    later = ManualClock(clock.time() + 5 * 86_400)
    async with HubFixture(tmp_path / "home", NOBODY, sections=sections, clock=later) as hub:
        await until(lambda: "old" in repairs(hub))

        assert repairs(hub)["old"] == "The last good backup is 5 days old"


async def test_what_a_platform_delivers_again_after_a_restore_is_not_answered(tmp_path: Path) -> None:
    async with HubFixture(tmp_path / "home", NOBODY) as hub:
        await hub.db.write(lambda connection: connection.execute("INSERT INTO meta VALUES('restored_ms', '2000000')"))
    async with HubFixture(tmp_path / "home", NOBODY) as hub:
        receipts = [
            await hub.inbox.receive(
                InboundMessage(
                    Address("telegram", "default", "7"), str(sent_at), "telegram:user:7", "hello", sent_at=sent_at
                ),
                system_context(),
            )
            for sent_at in (1_999.0, 2_001.0)
        ]

    assert [each.reason == BEFORE_RESTORE for each in receipts] == [True, False]


async def test_one_that_is_cut_off_by_the_end_of_the_hub_leaves_nothing(hub: HubFixture) -> None:
    await begin_a_long_one(hub)
    await until(lambda: list((hub.home.path / "backups").glob(".homarus-*")), WORK_LIMIT_S)

    await cut_off(hub)

    assert list((hub.home.path / "backups").iterdir()) == []
    assert not (hub.home.storage / "backup").exists()


async def test_a_restore_takes_no_entry_of_the_audit_log_back_and_the_log_is_whole(tmp_path: Path) -> None:
    hub = HubFixture(tmp_path / "home", NOBODY)
    restarting = asyncio.Event()
    await hub.start(on_restart=restarting.set)
    try:
        name = (await asked(hub, "backup.create", {"wait": True}))["run"]["name"]
        await asked(hub, "token.create", {"name": "since", "scopes": ["operator.read"]})
        await asked(hub, "backup.restore", {"source": name})
        await asyncio.wait_for(restarting.wait(), WORK_LIMIT_S)
    finally:
        await hub.stop()
    finish(hub.home)
    offline = verify_offline(hub.home.path)

    async with HubFixture(tmp_path / "home", NOBODY) as again:
        entries = (await asked(again, "audit.log"))["entries"]
        verified = await asked(again, "audit.verify")
        tokens = (await asked(again, "token.list"))["tokens"]
    after = verify_offline(hub.home.path)

    done = [each["what"] for each in reversed(entries)]
    assert done[:4] == ["backup.create", "token.create", "backup.restore", "home.restored"]
    assert [each["name"] for each in tokens if each["name"] == "since"] == []
    assert verified["ok"], verified
    assert (offline.returncode, after.returncode) == (0, 0), (offline.stdout, after.stdout)
    assert "The home was restored" in offline.stdout
    assert "The home was restored" not in after.stdout


def verify_offline(home: Path) -> subprocess.CompletedProcess[str]:
    return run("hub", "audit", "verify", "--config", str(home))
