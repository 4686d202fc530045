"""Questions of agents over the gateway: told to clients, and answered by those who may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.core.context import SCOPES, Authority, Context
from hub.tools.approval import QUESTION, Approval, ApprovalDecision, Ask
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture

OWNER = Authority("owner", "owner", SCOPES, owner=True)
DETAILS = {"question": "Which day?", "choices": ["Saturday", "Sunday"], "agent": "main"}
SCOPE = "operator.questions"


async def asked(house: HubFixture) -> tuple[asyncio.Task[ApprovalDecision], Approval]:
    """Ask in a task; return it with what waits."""
    requested = house.tasks.spawn(house.bus.wait_for("question_requested"), name="requested")
    await asyncio.sleep(0)
    ask = Ask(QUESTION, "Which day?", "", DETAILS, Context(OWNER).child(), "agent:main:main", "r1")
    task = house.tasks.spawn(house.approvals.ask(ask), name="ask")
    await requested
    return task, house.approvals.questions()[-1]


@pytest.mark.parametrize(
    "answer",
    [{"answer": "2"}, {"answers": {"answers": {"answer": ["Sunday"]}}}, {"answers": {"answers": {"answer": "Sunday"}}}],
)
async def test_a_client_is_told_and_answers(house: HubFixture, answer: dict[str, Any]) -> None:
    async with connected(house, scopes=[SCOPE]) as client:
        task, pending = await asked(house)
        told = (await client.event("question.requested"))["payload"]
        listed = (await client.call("question.list"))["payload"]["questions"]
        ended = (await client.call("question.resolve", {"id": pending.code.lower(), **answer}))["payload"]
        resolved = (await client.event("question.resolved"))["payload"]
        known = (await client.call("question.get", {"id": pending.id}))["payload"]
        left = (await client.call("question.list"))["payload"]

    assert (await task).answer == "Sunday"
    assert listed == [told]
    assert (told["id"], told["status"], told["sessionKey"]) == (pending.id, "pending", "agent:main:main")
    assert told["questions"][0]["options"] == [{"label": "Saturday"}, {"label": "Sunday"}]
    assert ended == {"status": "answered", "answer": "Sunday", "answers": {"answers": {"answer": ["Sunday"]}}}
    assert (resolved["id"], resolved["status"]) == (pending.id, "answered")
    assert known["question"]["status"] == "answered"
    assert left == {"questions": []}


async def test_a_question_can_be_declined(house: HubFixture) -> None:
    async with connected(house, scopes=[SCOPE]) as client:
        task, pending = await asked(house)
        ended = (await client.call("question.resolve", {"id": pending.id, "cancel": True}))["payload"]

    assert ended["status"] == "cancelled"
    assert (await task).answer is None


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"answer": ""},
        {"answer": "x" * 4_001},
        {"answer": "1", "cancel": True},
        {"answers": {"answers": {"other": ["1"]}}},
        {"answers": {"answers": {"answer": ["1", "2"]}}},
    ],
)
async def test_a_bad_answer_is_refused_and_the_question_stays(house: HubFixture, params: dict[str, Any]) -> None:
    async with connected(house, scopes=[SCOPE]) as client:
        _, pending = await asked(house)
        answer = await client.call("question.resolve", {"id": pending.id, **params})

    assert answer["error"]["code"] == "INVALID_REQUEST"
    assert house.approvals.questions() == [pending]


async def test_a_question_is_no_approval_and_an_approval_is_no_question(house: HubFixture) -> None:
    async with connected(house, scopes=[SCOPE, "operator.approvals"]) as client:
        _, pending = await asked(house)
        approvals = (await client.call("approval.list"))["payload"]["approvals"]
        commands = (await client.call("exec.approval.list"))["payload"]
        approved = await client.call("approval.resolve", {"id": pending.id, "decision": "allow-once"})
        unknown = await client.call("question.get", {"id": "nothing-here"})

    assert approvals == commands == []
    assert approved["error"]["code"] == "INVALID_REQUEST"
    assert unknown["error"]["code"] == "NOT_FOUND"
    assert house.approvals.questions() == [pending]


async def test_without_the_right_nobody_sees_or_answers_questions(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.write", "operator.approvals"]) as client:
        _, pending = await asked(house)
        answers = [
            await client.call(method, {"id": pending.id, "answer": "1"} if method.endswith("resolve") else {})
            for method in ("question.list", "question.resolve")
        ]

    assert [each["error"]["code"] for each in answers] == ["FORBIDDEN", "FORBIDDEN"]
    assert house.approvals.questions() == [pending]
