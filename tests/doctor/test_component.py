"""The audit in a running hub: its methods, its repairs, its days, and what only the hub knows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.surfaces import READ, WRITE
from hub.doctor.component import FIRST_S, SOURCE, AuditComponent
from tests.backup.test_in_hub import asked, rpc
from tests.hub_fixture import HubFixture
from tests.until import until

NOBODY = "http://127.0.0.1:9/v1"
DAY_S = 86_400.0
LOOSE: dict[str, Any] = {
    "hub": {"update": {"advisories": None}},
    "exec": {"mode": "full", "trust_output": True},
    "tools": {"strangers": "full"},
}
FULL = "commands.full@exec.mode"


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[HubFixture]:
    (tmp_path / "home").mkdir(mode=0o700)
    async with HubFixture(tmp_path / "home", NOBODY, sections=LOOSE, clock=ManualClock()) as hub:
        yield hub


def told(hub: HubFixture) -> set[str]:
    return {each.id for each in hub.repairs.all() if each.source == SOURCE}


async def test_findings_are_for_administrators_alone(hub: HubFixture) -> None:
    _, secret = await hub.tokens.create("writer", [READ, WRITE])

    for method in ("security.audit", "security.fix"):
        refused = await rpc(hub, method, token=secret.reveal())
        assert refused["error"]["code"] == "FORBIDDEN"

    report = await asked(hub, "security.audit")
    assert FULL in {each["id"] for each in report["findings"]}
    assert report["live"] is True


async def test_the_first_look_is_soon_after_the_start_and_raises_what_is_critical(hub: HubFixture) -> None:
    assert told(hub) == set()

    await advance(hub, FIRST_S)
    await until(lambda: told(hub) == {FULL})

    repair = hub.repairs.get(SOURCE, FULL)
    assert repair is not None
    assert repair.severity == "critical"
    assert repair.location is not None
    assert repair.location["path"] == "exec.mode"


async def test_a_repair_is_mended_by_its_fix_and_goes(hub: HubFixture) -> None:
    await asked(hub, "security.audit")
    assert told(hub) == {FULL}

    await asked(hub, "repairs.fix", {"source": SOURCE, "id": FULL})

    assert told(hub) == set()
    assert hub.config.current["exec"]["mode"] == "ask"
    assert hub.config.current["tools"]["strangers"] == "full", "only what the repair names is changed"


async def test_a_change_by_hand_is_looked_at_and_closes_what_it_mends(hub: HubFixture) -> None:
    await asked(hub, "security.audit")
    config = hub.home.configuration

    config.write_text(config.read_text().replace('"full", "trust_output": true', '"deny"'))
    await hub.apply(await hub.config.reload())
    await until(lambda: told(hub) == set())

    config.write_text(config.read_text().replace('"deny"', '"full", "trust_output": true'))
    await hub.apply(await hub.config.reload())
    await until(lambda: told(hub) == {FULL})


async def test_all_above_a_note_is_mended_at_once_and_the_file_is_kept(hub: HubFixture) -> None:
    before = hub.home.configuration.read_text()

    done = await asked(hub, "security.fix")

    assert {each["change"] for each in done["fixed"]} >= {"exec.mode: ask", "tools.strangers: minimal"}
    assert done["failed"] == []
    (version,) = done["versions"]
    assert hub.config.editor.history.read(version["file"], version["id"]).decode() == before
    assert (await asked(hub, "security.audit"))["counts"]["critical"] == 0


async def test_it_looks_again_every_day(hub: HubFixture) -> None:
    await advance(hub, FIRST_S)
    await until(lambda: told(hub) == {FULL})
    hub.repairs.clear(SOURCE)
    hub.home.secrets.write_text("a: b\n")
    hub.home.secrets.chmod(0o644)

    await advance(hub, DAY_S)

    await until(lambda: {FULL, "files.secrets@secrets.yaml"} <= told(hub))


async def test_a_token_that_nobody_used_for_long_is_named_with_how_to_revoke_it(hub: HubFixture) -> None:
    token, secret = await hub.tokens.create("old tablet", [READ, WRITE])
    await rpc(hub, "status", token=secret.reveal())
    gone, _ = await hub.tokens.create("revoked", [READ, WRITE])
    await hub.tokens.revoke(gone.id)

    assert isinstance(hub.clock, ManualClock)
    hub.clock.jump(91 * DAY_S)
    report = await asked(hub, "security.audit")

    (found,) = [each for each in report["findings"] if each["check"] == "credentials.unused"]
    assert found["what"] == "The token “old tablet” was not used for 91 days"
    assert found["command"] == f"homarus token revoke {token.id}"


async def test_the_ports_are_tried_and_refuse(hub: HubFixture) -> None:
    report = await asked(hub, "security.audit", {"deep": True})

    tried = {each["id"]: each["ok"] for each in report["checks"] if each["id"].startswith("tried.")}
    assert tried == dict.fromkeys(tried, True)
    assert len(tried) == 5
    port = hub.gateway.address[1]
    assert {
        "what": f"Dashboard and API (127.0.0.1:{port})",
        "who": "this machine alone, with a token",
        "wide": False,
    } in (report["reach"])


async def test_two_changes_at_once_are_looked_at_once(hub: HubFixture) -> None:
    audit = hub.component(AuditComponent)
    before = {task for task in asyncio.all_tasks() if task.get_name() == "security audit"}

    await audit.apply(frozenset({"exec"}))
    await audit.apply(frozenset({"tools"}))

    looking = {task for task in asyncio.all_tasks() if task.get_name() == "security audit"} - before
    assert len(looking) == 1


async def advance(hub: HubFixture, seconds: float) -> None:
    assert isinstance(hub.clock, ManualClock)
    await hub.clock.advance(seconds)
