"""Questions of agents in chat: put where the run is held, answered by what the person writes next, or by a button."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from hub.core.context import Authority, Context
from hub.messaging.contract import Address, ChannelLimits, ChatType, Media, MediaKind
from hub.messaging.notices.approval_messages import question_text
from hub.tools.approval import QUESTION, Approval, ApprovalDecision, Ask
from hub.tools.approvals import Approvals
from tests.messaging.post import OWNER, Post

ANNA = Authority("peer:test:user:8", person="anna")
ANNAS = "agent:main:test:direct:8"
DETAILS = {"question": "Which day?", "choices": ["Saturday", "Sunday"], "agent": "main"}


@dataclass
class Counter:
    """Questions beside an inbox."""

    post: Post
    approvals: Approvals

    async def asked(
        self, session_key: str = "agent:main:main", authority: Authority = OWNER, **fields: Any
    ) -> tuple[asyncio.Task[ApprovalDecision], Approval]:
        """Ask in a task; return it with what waits."""
        ask = Ask(QUESTION, "Which day?", "", DETAILS, Context(authority).child(), session_key, "r1", **fields)
        bus, tasks = self.post.bus, self.post.tasks
        requested = tasks.spawn(bus.wait_for("question_requested"), name="requested")
        await asyncio.sleep(0)
        task = tasks.spawn(self.approvals.ask(ask), name="ask")
        await requested
        return task, self.approvals.questions()[-1]


@pytest.fixture
def counter(post: Post) -> Counter:
    return Counter(post, post.approvals)


async def test_the_next_message_of_the_person_who_was_asked_is_the_answer(counter: Counter) -> None:
    await counter.post.said("/whoami", who="8")
    task, _ = await counter.asked(ANNAS, ANNA)
    await counter.post.until(lambda: len(counter.post.pigeons.texts("8")) >= 2)

    receipt = await counter.post.said("2", who="8")

    assert (await task).answer == "Sunday"
    assert receipt.reply == "Answer: Sunday"
    assert receipt.run_id is None
    told = counter.post.pigeons.texts("8")[1]
    assert told.startswith("Which day?\n1. Saturday\n2. Sunday\n")
    assert counter.post.pigeons.texts("7") == []


async def test_the_same_message_is_no_answer_twice(counter: Counter) -> None:
    first, _ = await counter.asked(ANNAS, ANNA)
    await counter.post.said("2", id="m1", who="8")
    await first
    _, second = await counter.asked(ANNAS, ANNA)

    again = await counter.post.said("2", id="m1", who="8")

    assert again.duplicate
    assert counter.approvals.questions() == [second]


async def test_what_others_write_and_what_is_written_elsewhere_is_no_answer(counter: Counter) -> None:
    _, pending = await counter.asked(ANNAS, ANNA)

    for who in ("7", "9"):
        receipt = await counter.post.said("Sunday", who=who)
        assert receipt.run_id is not None

    assert counter.approvals.questions() == [pending]


async def test_a_message_with_an_attachment_is_no_answer(counter: Counter) -> None:
    _, pending = await counter.asked()

    receipt = await counter.post.said("Sunday", media=(Media(MediaKind.FILE, "f1"),))

    assert receipt.run_id is not None
    assert counter.approvals.questions() == [pending]


async def test_a_message_that_is_too_long_for_an_answer_goes_to_the_agent(counter: Counter) -> None:
    _, pending = await counter.asked()

    receipt = await counter.post.said("x" * 4_001)
    await counter.post.until(lambda: "ok" in counter.post.pigeons.texts())

    assert receipt.run_id is not None
    assert counter.approvals.questions() == [pending]


async def test_commands_still_work_while_a_question_waits(counter: Counter) -> None:
    _, pending = await counter.asked()

    receipt = await counter.post.said("/whoami")

    assert "You are Me" in (receipt.reply or "")
    assert counter.approvals.questions() == [pending]


async def test_in_a_group_only_who_was_asked_answers_by_the_button(counter: Counter) -> None:
    counter.post.pigeons.limits = ChannelLimits(text=400, buttons=10)
    room = Address("test", "family", chat_type=ChatType.GROUP)
    await counter.post.said("/whoami", group="family", mentioned=True)
    task, pending = await counter.asked("agent:main:test:group:family", ANNA)
    await counter.post.until(lambda: len(counter.post.pigeons.sent) >= 2)
    rows = counter.post.pigeons.sent[-1].buttons
    command = counter.post.messaging.buttons.command(room, rows[0][0].value)

    assert [button.label for row in rows for button in row] == ["Saturday", "Sunday"]
    assert command == f"/answer {pending.code} 1"
    stranger = await counter.post.said(command, who="9")
    anna = await counter.post.said(command, who="8")

    assert "somebody else" in (stranger.reply or "")
    assert anna.reply == "Answer: Saturday"
    assert (await task).answered_by is not None


async def test_what_no_chat_asks_goes_where_the_owner_last_wrote_and_is_answered_with_its_code(
    counter: Counter,
) -> None:
    await counter.post.said("/whoami")
    task, pending = await counter.asked("agent:main:cron:morning")
    await counter.post.until(lambda: len(counter.post.pigeons.sent) >= 2)

    plain = await counter.post.said("Sunday")
    assert plain.run_id is not None
    answered = await counter.post.said(f"/answer {pending.code.lower()} saturday")

    assert f"/answer {pending.code}" in counter.post.pigeons.texts()[1]
    assert answered.reply == "Answer: Saturday"
    assert (await task).answer == "Saturday"


async def test_a_question_to_somebody_else_is_not_sent_to_the_owner(counter: Counter) -> None:
    await counter.post.said("/whoami")
    await counter.asked(ANNAS, ANNA)
    await counter.post.said("/whoami")
    await counter.post.until(lambda: len(counter.post.pigeons.sent) >= 2)

    assert not any("Which day" in text for text in counter.post.pigeons.texts())


async def test_the_command_alone_lists_the_questions_to_its_sender(counter: Counter) -> None:
    nothing = await counter.post.said("/answer")
    _, mine = await counter.asked()
    _, annas = await counter.asked(ANNAS, ANNA)

    listed = (await counter.post.said("/answer")).reply or ""
    theirs = (await counter.post.said("/answer", who="8")).reply or ""
    strangers = (await counter.post.said("/answer", who="9")).reply or ""

    assert nothing.reply == strangers == "No question waits for you."
    assert (mine.code in listed, annas.code in listed) == (True, False)
    assert (mine.code in theirs, annas.code in theirs) == (False, True)


async def test_a_question_speaks_the_language_of_the_home(counter: Counter) -> None:
    _, pending = await counter.asked()

    assert "分钟" in question_text(pending, "zh-CN")
