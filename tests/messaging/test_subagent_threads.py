"""Subagents with a thread in the chat: their results come there, and what is written there goes to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.ids import new_id
from hub.hooks.registry import Hook
from hub.messaging.contract import Address, ChannelLimits, InboundMessage
from tests.agent.house import MAIN
from tests.agent.subagents.test_subagents import Delegating
from tests.messaging.post import OWNER, Pigeons
from tests.servers.openai_server import OpenAIServer

WORKING = [{"hold": "work"}, {"text": "Four."}]


class Opening(Pigeons):
    """A channel whose threads are opened: as topics of a chat, or as rooms of their own."""

    rooms = False
    refusal: HubError | None = None

    async def open_thread(self, address: Address, title: str) -> Address:
        if self.refusal is not None:
            raise self.refusal
        if address.parent is not None:
            return address
        return replace(address, peer="cats", parent=address.peer) if self.rooms else replace(address, thread="cats")


class Threading(Delegating):
    """A post on a platform with threads; `write` says something in one."""

    def __init__(self, folder: Path, base_url: str, pigeons: Pigeons | None = None) -> None:
        super().__init__(folder, base_url, pigeons or Pigeons(limits=ChannelLimits(text=400, threads=True)))

    async def write(self, text: str, thread: str | None, who: str = "7", peer: str = "7") -> None:
        assert self.pigeons.receive is not None
        message = InboundMessage(Address("test", peer, thread=thread), new_id(), f"test:user:{who}", text)
        await self.pigeons.receive(message)

    def said_in(self, thread: str | None) -> list[str]:
        return [each.text for each in self.pigeons.sent if each.address.thread == thread]


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Threading]:
    post = Threading(tmp_path / "home", openai_server.base_url)
    await post.open()
    openai_server.queue("hello")
    await post.write("hello", None)
    await post.until(lambda: post.said_in(None) == ["hello"])
    yield post
    await post.close()


@pytest.fixture
async def opening(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[tuple[Threading, Opening]]:
    channel = Opening(limits=ChannelLimits(text=400))
    post = Threading(tmp_path / "home", openai_server.base_url, channel)
    await post.open()
    openai_server.queue("hello")
    await post.write("hello", None)
    await post.until(lambda: post.said_in(None) == ["hello"])
    yield post, channel
    await post.close()


async def threaded(post: Threading, authority: Authority = OWNER) -> str:
    """Begin a task in a thread; return its id, which is the number of the message that begins it."""
    await post.spawn("count the cats", label="cats", session=MAIN, authority=authority, thread=True)
    assert post.said_in(None)[-1].startswith("cats: I work on this in the background.")
    return str(len(post.pigeons.sent))


async def test_what_is_written_in_the_thread_goes_to_the_subagent_and_its_result_comes_there(
    post: Threading, openai_server: OpenAIServer
) -> None:
    openai_server.rule(r"(?s)\A(?!.*(only the black|Subagent results)).*count", WORKING)
    openai_server.rule("only the black", "One.")
    openai_server.rule("Subagent results", "One black cat, says my helper.")
    thread = await threaded(post)
    await post.until(lambda: len(openai_server.requests()) == 2)

    await post.write("only the black ones", thread)
    await post.until(lambda: post.said_in(thread) == ["cats gets this before its next step."])
    openai_server.release("work")
    await post.until(lambda: len(post.said_in(thread)) >= 2)

    assert post.said_in(thread)[1:] == ["One black cat, says my helper."]
    assert "only the black ones" in openai_server.requests()[2]["body"]["messages"][-1]["content"]


async def test_after_unfocus_and_after_its_end_the_agent_answers_in_the_thread(
    post: Threading, openai_server: OpenAIServer
) -> None:
    openai_server.rule(r"(?s)\A(?!.*(Subagent results|are you)).*count", WORKING)
    openai_server.rule("Subagent results", "NO_REPLY")
    openai_server.rule("are you", "Here I am.")
    thread = await threaded(post)

    await post.write("/unfocus", thread)
    await post.until(lambda: post.said_in(thread) == ["What you write here goes to me again. cats works on."])
    await post.write("where are you?", thread)
    await post.until(lambda: post.said_in(thread)[1:] == ["Here I am."])
    await post.write("/unfocus", thread)
    await post.until(lambda: post.said_in(thread)[2:] == ["No subagent at work has this thread."])


async def test_nobody_else_reaches_a_subagent_through_its_thread(post: Threading, openai_server: OpenAIServer) -> None:
    openai_server.rule(r"(?s)\A(?!.*(Subagent results|keys)).*count", WORKING)
    openai_server.rule("keys", "No.")
    thread = await threaded(post)

    for who, peer, place in (("8", "7", thread), ("7", "8", thread), ("7", "7", "99")):
        await post.write(f"give me the keys, {who}", place, who=who, peer=peer)
    await post.until(lambda: len([each for each in post.pigeons.sent if each.text == "No."]) >= 3)

    steered = [each.text for each in post.pigeons.sent if "before its next step" in each.text]
    assert steered == []


async def test_without_threads_it_is_refused_and_nothing_begins(post: Threading, openai_server: OpenAIServer) -> None:
    await post.sessions.ensure("agent:main:cron:morning")
    with pytest.raises(InvalidRequest, match="there are no threads in this conversation"):
        await post.spawn("count the cats", session="agent:main:cron:morning", thread=True)
    post.pigeons.limits = ChannelLimits(text=400)
    with pytest.raises(InvalidRequest, match="there are no threads in this conversation"):
        await threaded(post)
    assert post.state() == {}


async def test_a_thread_whose_first_message_is_not_sent_is_refused(post: Threading) -> None:
    post.hooks.add(Hook("message_sending", lambda payload: {"block": "not here"}, "integration test"))

    with pytest.raises(Unavailable, match="thread: its first message is stopped"):
        await post.spawn("count the cats", thread=True)
    assert post.state() == {}


@pytest.mark.parametrize("rooms", [False, True], ids=["a topic of the chat", "a room of its own"])
async def test_a_thread_that_is_opened_takes_the_words_and_the_result(
    opening: tuple[Threading, Opening], openai_server: OpenAIServer, rooms: bool
) -> None:
    post, channel = opening
    channel.rooms = rooms
    peer, thread = ("cats", None) if rooms else ("7", "cats")
    openai_server.rule(r"(?s)\A(?!.*(only the black|Subagent results)).*count", WORKING)
    openai_server.rule("only the black", "One.")
    openai_server.rule("Subagent results", "One black cat, says my helper.")

    await post.spawn("count the cats", label="cats", session=MAIN, authority=OWNER, thread=True)
    await post.until(lambda: len(openai_server.requests()) == 2)
    await post.write("only the black ones", thread, peer=peer)
    await post.until(lambda: len(channel.sent) >= 3)
    openai_server.release("work")
    await post.until(lambda: len(channel.sent) >= 4)

    said = [each.text for each in channel.sent if (each.address.peer, each.address.thread) == (peer, thread)]
    assert said[0].startswith("cats: I work on this in the background.")
    assert said[1:] == ["cats gets this before its next step.", "One black cat, says my helper."]


async def test_a_chat_where_no_thread_may_be_opened_has_none(opening: tuple[Threading, Opening]) -> None:
    post, channel = opening
    channel.refusal = HubError("not enough rights to create a topic")

    with pytest.raises(InvalidRequest, match="thread: not enough rights to create a topic; spawn it without one"):
        await post.spawn("count the cats", session=MAIN, authority=OWNER, thread=True)
    assert (post.state(), len(channel.sent)) == ({}, 1)
