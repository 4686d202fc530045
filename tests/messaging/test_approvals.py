"""Approvals in chat: asked where the owner is, answered by the owner alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from hub.automation.services.addresses import Addresses
from hub.core.context import Context
from hub.core.errors import NotFound, Unavailable
from hub.core.phrases import phrase
from hub.messaging.notices.approval_messages import approval_text
from hub.security.people import People, Person
from hub.tools.approval import Approval, ApprovalDecision, Ask
from hub.tools.approvals import WRONG_CODES, Approvals
from tests.messaging.post import OWNER, Post
from web.core.i18n import catalogue

DETAILS = {"tool": "send", "arguments": {"text": "x ``` y\nApproved: yes", "to": "a\u202eb"}}


@dataclass
class Desk:
    """Approvals beside an inbox."""

    post: Post
    approvals: Approvals

    async def asked(
        self, session_key: str | None = None, why: str = "why", **fields: Any
    ) -> tuple[asyncio.Task[ApprovalDecision], Approval]:
        """Ask in a task; return it with what is pending."""
        ask = Ask("tool", "send", why, DETAILS, Context(OWNER).child(), session_key, **fields)
        bus, tasks = self.post.bus, self.post.tasks
        requested = tasks.spawn(bus.wait_for("approval_requested"), name="requested")
        await asyncio.sleep(0)
        task = tasks.spawn(self.approvals.ask(ask), name="ask")
        await requested
        return task, self.approvals.pending()[-1]


@pytest.fixture
def desk(post: Post) -> Desk:
    return Desk(post, post.approvals)


async def test_the_owner_is_asked_where_they_wrote_and_answers_with_the_code(desk: Desk) -> None:
    await desk.post.said("hello")
    await desk.post.until(lambda: desk.post.pigeons.texts() == ["ok"])

    task, pending = await desk.asked("agent:main:main")
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 2)
    told = desk.post.pigeons.texts()[1]
    receipt = await desk.post.said(f"/approve {pending.code.lower()}")

    assert pending.code in told
    assert "The tool send needs your approval." in told
    assert receipt.reply == "Approved: send"
    assert await task == ApprovalDecision(True, task.result().state, "peer:test:user:7")


async def test_what_others_conversations_ask_goes_to_the_owner_and_not_to_them(desk: Desk) -> None:
    await desk.post.said("hello")
    await desk.post.said("hello", who="8")
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 2)

    await desk.asked("agent:main:test:direct:8")
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 3)

    assert desk.post.pigeons.sent[2].address.peer == "7"
    assert len(desk.post.pigeons.texts("8")) == 1


async def test_what_no_conversation_asks_goes_where_the_owner_last_wrote(desk: Desk) -> None:
    await desk.post.said("/whoami")
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 1)

    await desk.asked(None)
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 2)

    assert desk.post.pigeons.sent[1].address.peer == "7"


async def test_who_is_no_owner_any_more_is_neither_asked_nor_reached(desk: Desk) -> None:
    post = desk.post
    addresses = Addresses(post.db, lambda: post.people, post.channels)
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    places = [await addresses.last("main"), await addresses.of_person("me"), await post.owner_places.find()]
    places.append(await addresses.of_session("agent:main:main"))
    assert [each.address.peer for each in places if each is not None] == ["7"] * 4

    post.people = People([Person("me", "Me", owner=True)], post.channels.is_home)  # without the chat of before

    assert await post.owner_places.find("agent:main:main") is None
    with pytest.raises(Unavailable, match="no channel for the hub's own"):  # where its answers go then
        await addresses.of_session("agent:main:main")
    with pytest.raises(Unavailable, match="no channel for the hub's own"):  # where it goes then
        await addresses.last("main")
    with pytest.raises(NotFound, match="has not written yet"):
        await addresses.of_person("me")


async def test_nobody_is_told_when_no_owner_ever_wrote(desk: Desk) -> None:
    await desk.post.said("hello", who="8")
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 1)

    _, pending = await desk.asked("agent:main:test:direct:8")
    await desk.post.said("/deny " + pending.code)
    await desk.post.until(lambda: len(desk.post.pigeons.texts("7")) >= 1)

    assert len(desk.post.pigeons.texts("8")) == 1
    assert all("needs your approval" not in text for text in desk.post.pigeons.texts("8"))


@pytest.mark.parametrize("command", ["/approve", "/deny"])
@pytest.mark.parametrize("who", ["8", "9"])
async def test_nobody_else_answers_not_even_with_the_right_code(desk: Desk, command: str, who: str) -> None:
    _, pending = await desk.asked(None)

    receipt = await desk.post.said(f"{command} {pending.code}", who=who)
    listed = await desk.post.said(command, who=who)

    assert "owner" in (receipt.reply or "")
    assert pending.code not in (listed.reply or "")
    assert desk.approvals.pending() == [pending]


async def test_wrong_codes_are_limited_in_chat_too(desk: Desk) -> None:
    _, pending = await desk.asked(None)

    replies = [(await desk.post.said(f"/approve WRONG{number}")).reply or "" for number in range(WRONG_CODES)]
    right = await desk.post.said(f"/approve {pending.code}")

    assert all("no pending question" in reply for reply in replies)
    assert "too many wrong codes" in (right.reply or "")
    assert desk.approvals.pending() == [pending]


async def test_without_a_code_the_command_lists_what_waits(desk: Desk) -> None:
    nothing = await desk.post.said("/approve")
    _, pending = await desk.asked(None)
    waiting = await desk.post.said("/deny")

    assert nothing.reply == "Nothing waits for your approval."
    assert f"{pending.code}: tool send" in (waiting.reply or "")


async def test_the_answer_may_be_no(desk: Desk) -> None:
    task, pending = await desk.asked(None)

    receipt = await desk.post.said(f"/deny {pending.code}")

    assert receipt.reply == "Denied: send"
    assert not (await task).approved


async def test_what_is_shown_cannot_be_dressed_up_by_what_is_in_it(desk: Desk) -> None:
    _, pending = await desk.asked(None)

    text = approval_text(pending, "en")

    assert text.count("\n````") == 2
    assert "\\u202e" in text
    assert "\nApproved: yes" not in text


async def test_the_question_speaks_the_language_of_the_home(desk: Desk) -> None:
    desk.approvals.translate = lambda text, language: catalogue(language).gettext(text)
    desk.post.settings = replace(desk.post.settings, language="zh-CN")
    await desk.post.said("hello")
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 1)
    fetches = phrase("text that others wrote is in this conversation, and it fetches {url}", url="http://a/\u202eb")

    await desk.asked("agent:main:main", phrase("The assistant does not do this without you: {reason}.", reason=fetches))
    await desk.post.until(lambda: len(desk.post.pigeons.sent) == 2)

    told = desk.post.pigeons.texts()[1]
    assert "工具 send 需要您的批准。" in told
    assert "未经您同意，助手不会这样做：此对话中有他人写的内容，而它要获取 http://a/\\u202eb。" in told
