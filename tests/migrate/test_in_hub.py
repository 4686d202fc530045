"""Moving in through a whole hub: apply, undo, again, and what a cut in the middle leaves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hub.migrate.journal import FOLDER, JOURNAL, State
from tests.hub_fixture import HubFixture
from tests.migrate.homes import home_assistant

NOBODY = "http://127.0.0.1:9/v1"
STARTER = "hub:\n  name: Home   # ours\nautomation: []\nscript: {}\n"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return home_assistant(tmp_path / "ha")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[HubFixture]:
    sections = {"people": [{"id": "me", "name": "Me", "owner": True}]}
    files = {"configuration.yaml": STARTER, "secrets.yaml": "one: two\n"}
    async with HubFixture(tmp_path / "home", NOBODY, sections=sections, files=files) as hub:
        yield hub


async def rpc(hub: HubFixture, method: str, **params: Any) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{hub.url}/api/rpc", json={"method": method, "params": params}, headers=hub.bearer) as answer,
    ):
        return json.loads(await answer.text())


async def asked(hub: HubFixture, method: str, **params: Any) -> Any:
    answer = await rpc(hub, method, **params)
    assert answer.get("ok"), answer
    return answer["payload"]


def files_of(home: Path) -> dict[str, bytes]:
    kept = [each for each in home.rglob("*") if each.is_file() and ".storage" not in each.parts]
    return {str(each.relative_to(home)): each.read_bytes() for each in kept if "workspace" not in each.parts}


async def test_a_plan_changes_nothing_and_is_what_is_done(hub: HubFixture, theirs: Path) -> None:
    before = files_of(hub.home.path)
    wanted = {"source": "home-assistant", "path": str(theirs), "off": True}
    plan = await asked(hub, "migrate.plan", **wanted)
    assert files_of(hub.home.path) == before

    done = await asked(hub, "migrate.apply", **wanted, digest=plan["digest"])
    assert done["items"] == plan["items"]
    assert {each.get("id") for each in hub.config.current["automation"]} >= {"1700000000001", "1700000000002"}
    assert {each.name for each in hub.entities.registry.areas.values()} == {"Kitchen", "Diele"}
    assert "kuche" in hub.entities.registry.areas, "automations name it by this id"
    assert hub.entities.registry.areas["kitchen"].floor_id == "eg"
    assert hub.entities.registry.floors["eg"].name == "Ground floor"
    assert (hub.home.path / "custom_templates/words.jinja").is_file()
    assert "# ours" in (hub.home.path / "configuration.yaml").read_text()


async def test_an_undo_puts_every_file_back(hub: HubFixture, theirs: Path) -> None:
    before = files_of(hub.home.path)
    await asked(hub, "migrate.apply", source="home-assistant", path=str(theirs), secrets=True, off=True)
    assert files_of(hub.home.path) != before

    undone = await asked(hub, "migrate.undo")

    assert undone["left"] == {}
    assert files_of(hub.home.path) == before
    assert (hub.entities.registry.areas, hub.entities.registry.floors, hub.entities.registry.labels) == ({}, {}, {})
    assert not hub.config.current["automation"]
    assert (await asked(hub, "migrate.list"))["moves"][0]["state"] == "undone"
    assert (await rpc(hub, "migrate.undo"))["error"]["code"] == "NOT_FOUND"


async def test_an_undo_leaves_what_was_changed_since(hub: HubFixture, theirs: Path) -> None:
    await asked(hub, "migrate.apply", source="home-assistant", path=str(theirs), secrets=True, off=True)
    package = hub.home.path / "packages/home_assistant.yaml"
    package.write_text(package.read_text() + "# mine\n")
    root = hub.home.path / "configuration.yaml"
    root.write_text(root.read_text() + "# mine too\n")

    undone = await asked(hub, "migrate.undo")

    assert list(undone["left"]) == ["packages/home_assistant.yaml"]
    assert "# mine\n" in package.read_text()
    assert "# mine too" in root.read_text()
    assert "packages" not in root.read_text(), "it is not read any more"
    assert hub.config.errors == []


async def test_again_brings_only_what_is_new(hub: HubFixture, theirs: Path) -> None:
    wanted = {"source": "home-assistant", "path": str(theirs), "off": True}
    await asked(hub, "migrate.apply", **wanted)
    count = len(hub.config.current["automation"])
    assert (await asked(hub, "migrate.apply", **wanted))["id"] is None

    with (theirs / "automations.yaml").open("a") as file:
        file.write("- {id: new, alias: New, triggers: [{trigger: event, event_type: bell}], actions: [{delay: 1}]}\n")
    await asked(hub, "migrate.apply", **wanted)

    assert len(hub.config.current["automation"]) == count + 1
    assert hub.config.errors == []


async def test_a_plan_that_is_old_is_refused(hub: HubFixture, theirs: Path) -> None:
    wanted = {"source": "home-assistant", "path": str(theirs)}
    plan = await asked(hub, "migrate.plan", **wanted)
    (theirs / "scripts.yaml").write_text("other:\n  sequence:\n    - delay: 1\n")

    answer = await rpc(hub, "migrate.apply", **wanted, digest=plan["digest"])

    assert answer["error"]["code"] == "CONFLICT"
    assert not (hub.home.path / "packages").exists()


async def test_a_move_that_fails_leaves_nothing(hub: HubFixture, theirs: Path) -> None:
    for number in range(499):  # of 500; two come, after the files
        hub.entities.registry.create("area", f"Room {number}")
    before = files_of(hub.home.path)

    answer = await rpc(hub, "migrate.apply", source="home-assistant", path=str(theirs), off=True)

    assert answer["error"]["code"] == "LIMIT_EXCEEDED"
    assert files_of(hub.home.path) == before
    assert len(hub.entities.registry.areas) == 499
    assert [each["state"] for each in (await asked(hub, "migrate.list"))["moves"]] == ["undone"]


async def test_a_move_that_was_cut_off_is_shown_and_can_be_taken_back(tmp_path: Path, theirs: Path) -> None:
    files = {"configuration.yaml": STARTER}
    async with HubFixture(tmp_path / "home", NOBODY, files=files) as hub:
        before = files_of(hub.home.path)
        done = await asked(hub, "migrate.apply", source="home-assistant", path=str(theirs), off=True)
    # As kill -9 leaves it: the journal is there, some files are written, the last ones are not.
    journal = hub.home.path / FOLDER / done["id"] / JOURNAL
    stored = msgspec.json.decode(journal.read_bytes())
    journal.write_bytes(msgspec.json.encode({**stored, "state": State.BEGUN.value}))
    (hub.home.path / "configuration.yaml").write_bytes(before["configuration.yaml"])

    async with HubFixture(tmp_path / "home", NOBODY, files={"configuration.yaml": STARTER}) as hub:
        (repair,) = [each for each in hub.repairs.all() if each.source == "migrate"]
        assert repair.command == "homarus migrate undo"
        answer = await rpc(hub, "migrate.apply", source="home-assistant", path=str(theirs), off=True)
        assert answer["error"]["code"] == "CONFLICT"

        await asked(hub, "migrate.undo")

        assert files_of(hub.home.path) == before
        assert not [each for each in hub.repairs.all() if each.source == "migrate"]


async def test_conversations_come_archived_and_tainted_and_go_again(hub: HubFixture, tmp_path: Path) -> None:
    export = tmp_path / "conversations.json"
    said = [{"sender": "human", "text": "Which tea?"}, {"sender": "assistant", "text": "Green."}]
    export.write_text(
        json.dumps([{"uuid": "c1", "name": "Tea", "created_at": "2026-05-01T08:00:00Z", "chat_messages": said}])
    )
    wanted = {"source": "claude", "path": str(export)}
    await asked(hub, "migrate.apply", **wanted)

    session = hub.sessions.get("agent:main:claude:c1")
    assert session is not None
    assert (session.title, session.archived, session.tainted) == ("Tea", True, True)
    assert session.updated_ms == 1_777_622_400_000
    transcript = await hub.sessions.open_transcript(session)
    assert [each.text for each in transcript.messages()] == ["Which tea?", "Green."]
    assert {(each.provenance.who, each.provenance.trusted) for each in transcript.entries()} == {("import", False)}
    assert (await asked(hub, "migrate.apply", **wanted))["id"] is None, "it is here already"

    await asked(hub, "migrate.undo")
    assert hub.sessions.get("agent:main:claude:c1") is None
