"""Who may ask a program: an owner in person, in private, with their own words; and what it may do only after a yes."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from hub.agent.run_request import RunStatus, SteeredMessage, Steering
from hub.core.context import SYSTEM, Authority, Context, ToolPolicy
from hub.sessions.keys import cron_key, group_key, incognito_key, subagent_key
from hub.tools.approval import Approval, ApprovalState
from tests.agent.house import MAIN
from tests.integrations.models.acp.acp_house import AcpHouse

OWNER = Authority("owner", person="me", owner=True)


@pytest.mark.parametrize(
    ("authority", "why"),
    [
        (Authority("peer:telegram:user:7", person="anna"), "Only an owner of this home"),
        (Authority("token:3"), "Only an owner of this home"),
        (OWNER.narrow(tainted=True), "Text that others wrote"),
        (SYSTEM, "in person"),
        (OWNER.narrow(policy=ToolPolicy(deny=frozenset({"write"}))), "restricted"),
    ],
)
async def test_only_an_owner_in_person_may_ask_it(house: AcpHouse, authority: Authority, why: str) -> None:
    result = await house.ask("greet me", authority=authority)

    assert result.status is RunStatus.ERROR
    assert why in (result.error or {})["message"]
    assert not house.heard.exists()


@pytest.mark.parametrize(
    ("session", "why"),
    [
        (group_key("main", "telegram", "-100"), "private"),
        (subagent_key("main", "s1"), "private"),
        (cron_key("main", "daily"), "private"),
        (incognito_key("main", "i1", "webchat"), "nothing is to be kept"),
    ],
)
async def test_it_answers_only_in_private_conversations_that_are_kept(house: AcpHouse, session: str, why: str) -> None:
    result = await house.ask("greet me", session=session)

    assert why in (result.error or {})["message"]
    assert not house.heard.exists()


async def test_what_the_hub_sets_off_does_not_ask_it(house: AcpHouse) -> None:
    request = house.asking("greet me")
    caused = Context(request.context.authority).child()

    result = await house.runner.run(replace(request, context=caused))

    assert "no automation, no subagent and no other agent" in (result.error or {})["message"]
    assert not house.heard.exists()


async def test_a_run_that_keeps_nothing_does_not_ask_it(house: AcpHouse) -> None:
    result = await house.ask("greet me", history=())

    assert "conversations that are kept" in (result.error or {})["message"]
    assert not house.heard.exists()


async def test_it_is_given_the_message_without_the_secrets_in_it(house: AcpHouse) -> None:
    house.redactor.register("a-very-secret-word")

    await house.ask("show a-very-secret-word")

    assert "a-very-secret-word" not in house.heard.read_text()


async def test_what_is_said_meanwhile_waits_for_a_turn_of_its_own(house: AcpHouse) -> None:
    async def take() -> list[SteeredMessage]:
        raise AssertionError("it answers one message at a time")

    result = await house.ask("greet me", steering=Steering(lambda: True, take))

    assert result.status is RunStatus.OK


async def question(house: AcpHouse) -> Approval:
    await house.until(house.approvals.pending)
    return house.approvals.pending()[0]


@pytest.mark.parametrize(("approved", "option"), [(True, "once"), (False, "reject")])
async def test_what_it_asks_permission_for_is_asked_of_the_owner(house: AcpHouse, approved: bool, option: str) -> None:
    running = house.tasks.spawn(house.ask("ask"), name="ask")
    asked = await question(house)

    await house.approvals.resolve(asked.id, approved, Context(house.people.owner_authority()))

    assert json.loads((await running).reply) == {"optionId": option, "outcome": "selected"}
    assert (asked.kind, asked.title, asked.session_key) == ("exec", r"double: Run \u202erm notes.txt", MAIN)
    assert asked.details["call"]["rawInput"] == {"command": "rm notes.txt"}
    assert asked.details["folder"] == str(house.project)


@pytest.mark.parametrize(
    ("text", "outcome"), [("huge", {"optionId": "reject", "outcome": "selected"}), ("always", {"outcome": "cancelled"})]
)
async def test_what_cannot_be_shown_or_allowed_once_is_refused_unasked(
    house: AcpHouse, text: str, outcome: dict[str, str]
) -> None:
    assert json.loads((await house.ask(text)).reply) == outcome
    assert house.told("approval_requested") == []


async def test_no_answer_means_no(house: AcpHouse) -> None:
    running = house.tasks.spawn(house.ask("ask"), name="ask")
    await question(house)

    await house.clock.advance(3_700)  # type: ignore[attr-defined]

    assert json.loads((await running).reply) == {"optionId": "reject", "outcome": "selected"}


async def test_a_question_is_withdrawn_with_the_run_and_its_program(house: AcpHouse) -> None:
    request = house.asking("ask")
    running = house.tasks.spawn(house.runner.run(request), name="ask")
    asked = await question(house)

    house.runner.abort(request.run_id)

    assert (await running).status is RunStatus.ABORTED
    known = await house.approvals.get(asked.id)
    assert known is not None
    assert known.state is ApprovalState.CANCELLED


async def test_a_question_is_withdrawn_when_its_program_ends(house: AcpHouse) -> None:
    result = await house.ask("die")

    assert "exit code 4" in (result.error or {})["message"]
    assert house.approvals.pending() == []
