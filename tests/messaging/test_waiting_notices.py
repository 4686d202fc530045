"""A person who writes while their own turn waits for an answer gets a notice, once for each wait."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.context import Authority, Context
from hub.messaging.contract import Media, MediaKind
from hub.messaging.queue.queue_policy import QueueMode, QueuePolicy, QueueSettings
from hub.tools.approval import QUESTION, Approval, Ask
from hub.tools.approvals import Approvals
from hub.tools.questions import SECRET
from tests.messaging.post import OWNER, Post

ANNA = Authority("peer:test:user:8", person="anna")
IN_GROUP = Authority("peer:test:user:7")
MAIN, ANNAS, GROUP = "agent:main:main", "agent:main:test:direct:8", "agent:main:test:group:family"
ASKED = {"question": "Which day?", "agent": "main"}
KEY = {**ASKED, SECRET: "ha_token", "url": "http://127.0.0.1/secrets"}


@dataclass
class Desk:
    """What waits, beside an inbox."""

    post: Post
    approvals: Approvals

    async def asked(
        self, session_key: str = MAIN, who: Authority = OWNER, kind: str = "tool", **details: Any
    ) -> Approval:
        """Ask in a task; return what waits."""
        ask = Ask(kind, "send mail", "", details or {"tool": "mail"}, Context(who).child(), session_key, "r1")
        known = {each.id for each in self.waiting()}
        self.post.tasks.spawn(self.approvals.ask(ask), name="ask")
        while not (fresh := [each for each in self.waiting() if each.id not in known]):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return fresh[0]

    def waiting(self) -> list[Approval]:
        return [*self.approvals.pending(), *self.approvals.questions()]

    async def told(self, peer: str = "7") -> list[str]:
        """Return the notices in a chat once every message is answered."""
        await self.post.all_answered()
        return [text for text in self.post.pigeons.texts(peer) if text.startswith(("I am waiting", "我在等"))]


@pytest.fixture
def desk(post: Post) -> Desk:
    return Desk(post, post.approvals)


@pytest.mark.parametrize(
    ("language", "words"), [("en", "I am waiting for your answer to: "), ("zh-CN", "我在等您回答：")]
)
async def test_who_writes_is_told_once_for_each_wait_and_answered_as_before(
    desk: Desk, language: str, words: str
) -> None:
    desk.post.settings = replace(desk.post.settings, language=language)
    first = await desk.asked()

    receipts = [await desk.post.said(text) for text in ("hello?", "are you there?")]
    await desk.post.said(f"/approve {first.code}")
    await desk.post.said("thanks")
    second = await desk.asked()
    receipts.append(await desk.post.said("and now?"))

    told = await desk.told()
    assert [text.splitlines()[0] for text in told] == [f"{words}send mail"] * 2
    assert [f"/approve {each.code}" in text for each, text in zip((first, second), told, strict=True)] == [True, True]
    assert all(each.run_id is not None for each in receipts)
    assert desk.post.pigeons.texts().count("ok") == 4


@pytest.mark.parametrize(
    ("waits", "writes", "told"),
    [
        ({"session_key": "agent:main:other"}, {}, []),
        ({"session_key": ANNAS, "who": ANNA}, {}, []),
        ({"session_key": ANNAS, "who": ANNA}, {"who": "8"}, ["I am waiting for an owner of this home to answer"]),
        ({"session_key": GROUP, "who": Authority("peer:test:user:8")}, {"group": "family", "mentioned": True}, []),
        (
            {"session_key": GROUP, "who": IN_GROUP},
            {"group": "family", "mentioned": True},
            ["waiting for an owner of this home"],
        ),
        (
            {"kind": QUESTION, **ASKED},
            {"media": (Media(MediaKind.FILE, "f1"),)},
            ["your answer to: send mail\n/answer"],
        ),
        ({"kind": QUESTION, **KEY}, {}, ["your answer to: send mail\nDo not write it here."]),
        ({"kind": QUESTION, **ASKED}, {}, []),  # it is the answer
    ],
)
async def test_only_who_waits_is_told_and_a_group_no_secrets(
    desk: Desk, waits: dict[str, Any], writes: dict[str, Any], told: list[str]
) -> None:
    await desk.asked(**waits)

    assert (await desk.post.said("hello", **writes)).accepted

    found = await desk.told(writes.get("group") or writes.get("who") or "7")
    assert len(found) == len(told)
    for text, part in zip(found, told, strict=True):
        assert all(each in text for each in part.split("\n")), text


async def test_a_message_that_interrupts_is_told_of_no_wait(desk: Desk) -> None:
    queue = QueueSettings(QueuePolicy(QueueMode.INTERRUPT, debounce_ms=0), inbound_ms=0)
    desk.post.settings = replace(desk.post.settings, queue=queue)
    await desk.asked()

    await desk.post.said("no, wait")

    assert await desk.told() == []
