"""Interceptors: asked in their order whether a message is theirs, and only while they wait for one."""

from __future__ import annotations

from hub.messaging.access.decide import Accept
from hub.messaging.inbox.interceptor import Answer, Interceptor
from tests.messaging.post import Post


class Listening:
    """Answers messages by its name while something is in `pending`; `asked` are the texts it was asked about."""

    def __init__(self, post: Post, name: str, *pending: str) -> None:
        self.name, self.pending, self.asked = name, list(pending), list[str]()
        post.inbox.add_interceptor(Interceptor(self.pending, self.intercept))

    async def intercept(self, accepted: Accept) -> Answer | None:
        self.asked.append(accepted.message.text)
        return self.answer if accepted.message.text in self.pending else None

    async def answer(self) -> str:
        return self.name


async def test_one_that_waits_for_nothing_is_not_asked_until_it_does(post: Post) -> None:
    idle = Listening(post, "idle")

    await post.said("one")
    await post.until(lambda: post.pigeons.texts() == ["ok"])
    idle.pending.append("two")
    receipt = await post.said("two")

    assert (receipt.reply, idle.asked) == ("idle", ["two"])


async def test_the_first_that_takes_a_message_answers_it(post: Post) -> None:
    passing, first, second = (Listening(post, name, text) for name, text in [("a", "x"), ("b", "y"), ("c", "y")])

    receipt = await post.said("y")

    assert (receipt.reply, passing.asked, first.asked, second.asked) == ("b", ["y"], ["y"], [])
