"""Approvals over the gateway: listed, told and answered by those who may."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from hub.core.context import SCOPES, Authority, Context
from hub.tools.approval import Approval, ApprovalDecision, Ask
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture

OWNER = Authority("owner", "owner", SCOPES, owner=True)
DETAILS = {"tool": "send", "arguments": {"to": "bob"}, "agent": "main"}


async def asked(house: HubFixture, authority: Authority = OWNER) -> tuple[asyncio.Task[ApprovalDecision], Approval]:
    """Ask in a task; return it with what is pending."""
    requested = house.tasks.spawn(house.bus.wait_for("approval_requested"), name="requested")
    await asyncio.sleep(0)
    ask = Ask("tool", "send", "why", DETAILS, Context(authority).child(), "agent:main:main", "r1")
    task = house.tasks.spawn(house.approvals.ask(ask), name="ask")
    await requested
    return task, house.approvals.pending()[-1]


async def test_a_client_is_told_and_answers(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.approvals"]) as client:
        task, pending = await asked(house)
        told = (await client.event("exec.approval.requested"))["payload"]
        listed = (await client.call("approval.list"))["payload"]["approvals"]
        answer = await client.call("approval.resolve", {"id": pending.code.lower(), "decision": "allow-once"})
        resolved = (await client.event("exec.approval.resolved"))["payload"]
        history = (await client.call("approval.list", {"all": True}))["payload"]["approvals"]
        left = (await client.call("approval.list"))["payload"]["approvals"]

    assert (await task).approved
    assert told["id"] == pending.id
    assert told["request"]["allowedDecisions"] == ["allow-once", "deny"]
    assert '"to": "bob"' in told["request"]["command"]
    assert [each["details"] for each in listed] == [DETAILS]
    assert "requested_by" not in listed[0]
    assert answer["payload"]["applied"] is True
    assert answer["payload"]["approval"]["status"] == "allowed"
    assert (resolved["id"], resolved["decision"], resolved["resolvedBy"]) == (pending.id, "allow-once", "owner")
    assert [each["state"] for each in history] == ["approved"]
    assert left == []


async def test_clients_of_the_protocol_answer_under_their_own_names(house: HubFixture) -> None:
    async with connected(house) as client:
        task, pending = await asked(house)
        listed = (await client.call("exec.approval.list"))["payload"]
        waiting = (await client.call("exec.approval.get", {"id": pending.id}))["payload"]
        always = await client.call("exec.approval.resolve", {"id": pending.id, "decision": "allow-always"})
        denied = await client.call("exec.approval.resolve", {"id": pending.id, "decision": "deny"})
        ended = (await client.call("exec.approval.get", {"id": pending.id}))["payload"]

    assert [each["id"] for each in listed] == [pending.id]
    assert waiting["decision"] is None
    assert always["error"]["code"] == "INVALID_REQUEST"
    assert denied["payload"] == {"ok": True}
    assert ended["decision"] == "deny"
    assert not (await task).approved


@pytest.mark.parametrize("scope", ["operator.read", "operator.write", "operator.pairing", "operator.talk"])
async def test_without_the_scope_nobody_is_told_or_answers(
    house: HubFixture, http: aiohttp.ClientSession, scope: str
) -> None:
    _, secret = await house.tokens.create("other", [scope])
    headers = {"Authorization": f"Bearer {secret.reveal()}"}
    _, pending = await asked(house)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("approval.list", {}),
        ("approval.get", {"id": pending.id}),
        ("approval.resolve", {"id": pending.code, "decision": "allow-once"}),
        ("exec.approval.list", {}),
        ("exec.approval.get", {"id": pending.id}),
        ("exec.approval.resolve", {"id": pending.id, "decision": "allow-once"}),
    ]

    for method, params in calls:
        body = {"method": method, "params": params}
        async with http.post(f"{house.url}/api/rpc", json=body, headers=headers) as answer:
            assert answer.status == 403, method
            assert pending.code not in await answer.text()
    async with connected(house, scopes=[scope]) as client:
        await asked(house)
        await client.call("health")
        seen = [each.get("event") for each in client.events]

    assert "exec.approval.requested" not in seen
    assert len(house.approvals.pending()) == 2


async def test_a_token_that_asked_does_not_answer_itself(house: HubFixture, http: aiohttp.ClientSession) -> None:
    token, secret = await house.tokens.create("program", ["operator.approvals"])
    _, pending = await asked(house, Authority(f"token:{token.id}", None, frozenset({"operator.approvals"})))
    headers = {"Authorization": f"Bearer {secret.reveal()}"}

    body = {"method": "approval.resolve", "params": {"id": pending.id, "decision": "allow-once"}}
    async with http.post(f"{house.url}/api/rpc", json=body, headers=headers) as answer:
        assert answer.status == 403

    assert house.approvals.pending() == [pending]


async def test_wrong_codes_are_limited_over_the_gateway_too(house: HubFixture) -> None:
    _, pending = await asked(house)

    async with connected(house) as client:
        codes = []
        for number in range(11):
            answer = await client.call("approval.resolve", {"id": f"WRONG{number}", "decision": "allow-once"})
            codes.append(answer["error"]["code"])
        right = await client.call("approval.resolve", {"id": pending.code, "decision": "allow-once"})

    assert codes == ["NOT_FOUND"] * 10 + ["LIMIT_EXCEEDED"]
    assert right["error"]["code"] == "LIMIT_EXCEEDED"
    assert right["error"]["retryAfterMs"] > 0
    assert house.approvals.pending() == [pending]


REQUEST = {"command": "rm x", "commandArgv": ["rm", "x"], "host": "gateway", "sessionKey": "agent:main:main"}


@pytest.mark.parametrize("decision", ["allow-once", "deny"])
async def test_a_client_asks_about_a_command_and_waits_for_the_answer(house: HubFixture, decision: str) -> None:
    async with connected(house, scopes=["operator.approvals"]) as asker, connected(house) as owner:
        id = await asker.send("exec.approval.request", {**REQUEST, "id": "approval-1", "twoPhase": True})
        accepted = (await asker.answer(id))["payload"]
        shown = (await owner.event("exec.approval.requested"))["payload"]
        again = await asker.call("exec.approval.request", {**REQUEST, "id": "approval-1"})
        await owner.call("exec.approval.resolve", {"id": "approval-1", "decision": decision})
        told = (await asker.answer(id))["payload"]
        waited = (await asker.call("exec.approval.waitDecision", {"id": "approval-1"}))["payload"]
        history = (await owner.call("approval.history"))["payload"]["items"]

    assert (accepted["status"], accepted["id"]) == ("accepted", "approval-1")
    assert '"rm x"' in shown["request"]["command"]
    assert again["error"]["code"] == "CONFLICT"
    assert told == waited
    assert (told["decision"], told["terminalReason"]) == (decision, "user")
    assert [(each["id"], each["decision"]) for each in history] == [("approval-1", decision)]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "INVALID_REQUEST"),
        ({"command": "x", "host": "node"}, "INVALID_REQUEST"),
        ({"command": "x", "id": "no"}, "INVALID_REQUEST"),
        ({"command": "x", "timeoutMs": 0}, "INVALID_REQUEST"),
    ],
)
async def test_a_request_that_cannot_be_shown_is_refused(house: HubFixture, params: dict[str, Any], code: str) -> None:
    async with connected(house) as client:
        answer = await client.call("exec.approval.request", params)
        unknown = await client.call("exec.approval.waitDecision", {"id": "none-such"})

    assert answer["error"]["code"] == code
    assert unknown["error"]["code"] == "NOT_FOUND"
    assert house.approvals.pending() == []
