"""The audit: what a hub records of whom, through each door, and what it leaves out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.context import SCOPES, Authority, Context
from hub.gateway.calls.dispatch import AUDITED_SCOPES, is_audited
from hub.gateway.component.access import AUDITED_COMMANDS, AccessComponent
from hub.storage.audit_log import FOLDER, segments
from hub.tools.approval import Ask
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.until import until

OWNER = Authority("owner", scopes=SCOPES, owner=True)
READ_ONLY = {
    *("agents.get", "approval.get", "approval.history", "approval.list", "audit.log", "audit.verify"),
    *("automation.draft", "automation.try", "automation.yaml", "backup.list", "backup.preview", "backup.status"),
    *(
        "backup.verify",
        "device.pair.list",
        "diagnostics.bundle",
        "device.pair.setupStatus",
        "exec.approval.get",
        "exec.approval.list",
    ),
    *("exec.approval.request", "exec.approval.waitDecision", "exec.approvals.get", "exec.approvals.node.get"),
    *(
        "hooks.info",
        "integration.info",
        "memory.verify",
        "migrate.list",
        "migrate.plan",
        "models.auth.list",
        "models.auth.wait",
    ),
    *("models.scan", "models.test", "node.pair.list", "openclaw.approval.list", "outbox.get", "outbox.list"),
    *("pairing.list", "plugin.approval.list", "runs.get", "runs.list", "runs.sent", "secrets.list"),
    *("security.audit", "subagents.list", "template.render", "timeline.get", "timeline.list", "token.list"),
    *("update.status",),
}
"""Methods that take more rights than to read, and change nothing."""


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    async with HubFixture(tmp_path / "home", openai_server.base_url) as hub:
        yield hub


async def rpc(house: HubFixture, method: str, params: dict[str, Any], header: dict[str, str] | None = None) -> Any:
    asked = {"method": method, "params": params}
    async with (
        aiohttp.ClientSession(headers=header or house.bearer) as http,
        http.post(f"{house.url}/api/rpc", json=asked) as answer,
    ):
        return await answer.json()


async def recorded(house: HubFixture) -> list[dict[str, Any]]:
    """Return what is recorded, oldest first."""
    return (await house.component(AccessComponent).audit.latest(100))[::-1]


async def test_a_call_that_changes_something_is_recorded_with_who_where_and_how_it_ended(house: HubFixture) -> None:
    made = await rpc(house, "token.create", {"name": "editor", "scopes": ["operator.admin"]})
    secret = made["payload"]["token"]
    header = {"Authorization": f"Bearer {secret}"}
    assert (
        await rpc(
            house, "secrets.set", {"name": "DOOR_PASSWORD", "value": "correct-horse-battery", "person": "anna"}, header
        )
    )["ok"]
    await rpc(house, "token.revoke", {"id": "none"}, header)

    first, second, third = await recorded(house)

    assert (first["who"], first["credential"], first["what"], first["from"]) == (
        *("owner", "hub", "token.create"),
        "127.0.0.1",
    )
    assert first["about"] == {"name": "editor", "scopes": ["operator.admin"]}
    assert second["who"].startswith("token:")
    assert (second["what"], second["about"], second["outcome"]) == ("secrets.set", {"name": "DOOR_PASSWORD"}, "ok")
    assert third["outcome"] == "NOT_FOUND"
    kept = b"".join(file.read_bytes() for file in segments(house.home.storage / FOLDER))
    assert b"correct-horse" not in kept
    assert secret.encode() not in kept


async def test_reading_and_talking_are_not_recorded(house: HubFixture) -> None:
    for method in ("token.list", "config.get", "health", "sessions.list"):
        await rpc(house, method, {})
    await rpc(house, "chat.send", {"sessionKey": "main", "message": "hello", "idempotencyKey": "k"})

    assert await recorded(house) == []


async def test_a_method_that_takes_more_than_reading_is_recorded_or_known_to_change_nothing(house: HubFixture) -> None:
    beyond = {each.name for each in house.gateway.methods if each.scope in AUDITED_SCOPES}
    left_out = {
        each.name for each in house.gateway.methods if each.name in beyond and not is_audited(each.name, each.scope)
    }

    assert left_out <= READ_ONLY, "judge them: does a call change anything?"
    acting = {each.name for each in house.gateway.methods if each.acts}
    assert left_out & acting <= {"automation.try", "memory.verify", "models.scan", "models.test"}


async def test_commands_in_a_chat_that_take_an_owner_are_recorded_or_fire_an_event_of_their_own(
    house: HubFixture,
) -> None:
    owners = {each.name for each in house.commands.all() if each.owner_only}

    assert owners - AUDITED_COMMANDS <= {"approve", "deny", "pair", "model", "send", "activation", "fork"}


async def test_an_edited_file_is_recorded_and_a_change_by_a_call_says_what_changed(house: HubFixture) -> None:
    file = house.home.path / "configuration.yaml"
    file.write_text(file.read_text() + "messages: {inbound: {debounce_ms: 5}}\n")
    await house.apply(await house.config.reload())
    base = (await rpc(house, "config.get", {}))["payload"]["hash"]
    patch = {"raw": '{"hub": {"name": "Villa"}}', "baseHash": base, "idempotencyKey": "k"}
    assert (await rpc(house, "config.patch", patch))["ok"]

    await house.config.reload()

    found = await recorded(house)

    told = [(each["who"], each["what"], each["about"].get("changed")) for each in found]
    assert told == [
        ("files", "config_changed", ["messages"]),
        ("owner", "config.patch", None),
        ("system", "config_changed", ["hub"]),
    ]
    assert found[0]["about"]["edited"] == ["configuration.yaml"]
    assert "Villa" not in json.dumps(found)


async def test_an_approval_is_recorded_once_with_what_it_was_about(house: HubFixture) -> None:
    asked = [
        asyncio.ensure_future(
            house.approvals.ask(
                Ask("exec", title, "", {"argv": [title]}, Context(Authority("system", scopes=SCOPES)), timeout_s=60)
            )
        )
        for title in ("rm old.txt", "ls")
    ]
    await until(lambda: len(house.approvals.pending()) == 2)
    first, second = sorted(house.approvals.pending(), key=lambda each: each.title, reverse=True)
    await rpc(house, "approval.resolve", {"id": first.id, "decision": "allow-once", "idempotencyKey": "k"})
    peer = Authority("peer:telegram:user:7", "anna", SCOPES, owner=True)
    await house.approvals.resolve(second.id, False, Context(peer))
    await asyncio.gather(*asked)

    by_call, in_chat = await recorded(house)

    assert (by_call["who"], by_call["what"]) == ("owner", "approval.resolve")
    assert by_call["about"]["title"] == "rm old.txt"
    assert (in_chat["who"], in_chat["person"], in_chat["what"]) == (peer.principal, "anna", "approval_resolved")
    assert (in_chat["about"]["title"], in_chat["about"]["state"]) == ("ls", "denied")


async def test_signing_in_and_failing_to_are_recorded(house: HubFixture) -> None:
    link = await house.component(AccessComponent).login_link()
    async with aiohttp.ClientSession() as http:
        for code in ("WRONG-CODE", link.code):
            async with http.post(f"{house.url}/api/login", json={"code": code}) as answer:
                await answer.read()

    failed, signed_in = await recorded(house)

    assert (failed["who"], failed["what"], failed["outcome"]) == ("nobody", "signed_in", "UNAUTHORIZED")
    assert (signed_in["who"], signed_in["outcome"], signed_in["from"]) == ("owner", "ok", "127.0.0.1")
    assert signed_in["credential"].startswith("cookie:")
    assert link.code not in json.dumps([failed, signed_in])


async def test_the_log_goes_on_after_a_restart_and_is_verified_by_the_hub(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    for _ in range(2):
        async with HubFixture(tmp_path / "home", openai_server.base_url) as hub:
            await rpc(hub, "token.create", {"name": "n", "scopes": ["operator.read"]})
    async with HubFixture(tmp_path / "home", openai_server.base_url) as hub:
        assert (await hub.component(AccessComponent).audit.verify()).problems == []
        file = segments(hub.home.storage / FOLDER)[0]
        file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])

        found = await hub.component(AccessComponent).audit.verify()

    assert found.entries == 1
    assert "the end is cut off" in found.problems[0]
