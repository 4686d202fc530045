"""What was made with a credential ends with it: automations are turned off, not deleted, with a notice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.automation.component import MAKING
from hub.core.context import Context
from hub.core.events import Event
from hub.core.surfaces import ADMIN, WRITE
from tests.security_review.automating import add
from tests.security_review.besieged import WAIT_LIMIT_S, Besieged, besieged
from tests.security_review.test_laundering import tool_call
from tests.servers.openai_server import OpenAIServer
from tests.until import ShiftedClock, until

YAML = "id: {id}\nalias: {id}\ntriggers: []\nactions: [{{event: x}}]\n"
JOB = {
    "name": "job",
    "schedule": {"kind": "every", "everyMs": 3_600_000},
    "sessionTarget": "main",
    "payload": {"kind": "systemEvent", "text": "look"},
}


def is_on(house: Besieged, id: str) -> bool:
    return house.hub.automation.automations.get(id).is_on


def repairs(house: Besieged) -> list[str]:
    return [each.id for each in house.hub.repairs.all() if each.id.endswith(":maker")]


async def make(house: Besieged, method: str, headers: Mapping[str, str]) -> str:
    """Make or change an automation by a method; return its id."""
    params: dict[str, Any] = {"idempotencyKey": f"make-{method}"}
    match method:
        case "automation.save":
            params |= {"yaml": YAML.format(id="made")}
        case "automation.duplicate":
            params |= {"id": await add(house, YAML.format(id="mine"))}
        case "blueprint.use":
            params |= {"path": "homarus/heartbeat.yaml", "input": {}}
        case "cron.add":
            params |= JOB
        case "cron.update":
            job = await house.rpc("cron.add", {**JOB, "idempotencyKey": "job"})
            params |= {"id": job["id"], "patch": {"name": "changed"}}
    made = await house.rpc(method, params, headers)
    assert "id" in made, made
    return str(made["id"])


@pytest.mark.parametrize("method", sorted(MAKING))
async def test_what_a_token_made_is_turned_off_when_it_is_revoked(house: Besieged, method: str) -> None:
    own = await add(house, YAML.format(id="own"))
    token, headers = await house.token(ADMIN)
    id = await make(house, method, headers)
    await house.rpc("automation.on", {"id": id, "idempotencyKey": "on"})  # a copy begins turned off

    await house.rpc("token.revoke", {"id": token, "idempotencyKey": "end"})
    await until(lambda: not is_on(house, id))

    assert is_on(house, own)
    await until(lambda: repairs(house) == [f"{id}:maker"])
    shown = await house.rpc("automation.get", {"id": id})
    assert shown["state"] == "off"


async def test_what_a_token_of_a_token_made_ends_with_the_first(house: Besieged) -> None:
    first, headers = await house.token(ADMIN)
    second = await house.rpc("token.create", {"name": "second", "scopes": [ADMIN]}, headers)
    id = await make(house, "automation.save", {"Authorization": f"Bearer {second['token']}"})

    await house.rpc("token.revoke", {"id": first, "idempotencyKey": "end"})

    await until(lambda: not is_on(house, id))


async def test_it_ends_when_the_token_expires(tmp_path: Path, openai_server: OpenAIServer) -> None:
    clock = ShiftedClock()
    async with besieged(tmp_path / "home", openai_server, clock=clock) as house:
        _, headers = await house.token(ADMIN, expires=600)
        id = await make(house, "automation.save", headers)

        clock.skip(600)
        await until(lambda: repairs(house) == [f"{id}:maker"])

        assert not is_on(house, id)


async def test_the_owner_turns_it_on_again_and_it_stays(house: Besieged) -> None:
    token, headers = await house.token(ADMIN)
    id = await make(house, "automation.save", headers)
    await house.rpc("token.revoke", {"id": token, "idempotencyKey": "end"})
    await until(lambda: repairs(house) != [])

    await house.rpc("automation.on", {"id": id, "idempotencyKey": "on"})
    await house.hub.clock.sleep(1.7)

    assert is_on(house, id)
    assert repairs(house) == []


async def test_what_the_owner_changed_since_is_theirs(house: Besieged) -> None:
    token, headers = await house.token(ADMIN)
    id = await make(house, "automation.save", headers)
    other = str((await house.rpc("automation.save", {"yaml": YAML.format(id="other")}, headers))["id"])
    await house.rpc("automation.save", {"id": id, "yaml": YAML.format(id=id) + "description: mine\n"})

    await house.rpc("token.revoke", {"id": token, "idempotencyKey": "end"})
    await until(lambda: not is_on(house, other))

    assert is_on(house, id)


async def test_what_an_agent_scheduled_for_a_token_ends_with_it(house: Besieged, openai_server: OpenAIServer) -> None:
    token, headers = await house.token(WRITE)

    async def approve(event: Event) -> None:
        await house.hub.approvals.resolve(event.data["id"], True, Context(house.hub.people.owner_authority()))

    house.hub.bus.listen("approval_requested", approve)
    openai_server.queue(tool_call("schedule", action="add", text="water the gnome", every="6h"), "done")
    sent = {"sessionKey": "agent:main:direct:gnome", "message": "please", "idempotencyKey": "ask"}
    await house.rpc("chat.send", sent, headers)
    await house.rpc("agent.wait", {"runId": "ask", "timeoutMs": int(WAIT_LIMIT_S * 1000)})
    (id,) = [each.id for each in house.hub.automation.automations.all()]

    await house.rpc("token.revoke", {"id": token, "idempotencyKey": "end"})

    await until(lambda: not is_on(house, id))


async def test_it_is_remembered_over_a_restart(house: Besieged) -> None:
    _, headers = await house.token(ADMIN)
    id = await make(house, "automation.save", headers)

    rows = await house.hub.db.read(
        lambda connection: connection.execute("SELECT id, links FROM automation_makers").fetchall()
    )

    assert [row[0] for row in rows] == [id]
    assert rows[0][1].startswith("token:")


async def test_one_that_is_broken_when_the_token_ends_is_off_when_it_works_again(house: Besieged) -> None:
    token, headers = await house.token(ADMIN)
    id = await make(house, "automation.save", headers)
    other = str((await house.rpc("automation.save", {"yaml": YAML.format(id="other")}, headers))["id"])
    file = house.hub.home.path / "automations.yaml"
    written = file.read_text()
    file.write_text(written.replace("triggers: []", "triggers: [{trigger: nosuch}]", 1))
    await house.rpc("service.call", {"service": "hub.reload"})
    assert (await house.rpc("automation.get", {"id": id}))["state"] == "unavailable"

    await house.rpc("token.revoke", {"id": token, "idempotencyKey": "end"})
    await until(lambda: not is_on(house, other))
    file.write_text(written)
    await house.rpc("service.call", {"service": "hub.reload"})

    assert not is_on(house, id)
