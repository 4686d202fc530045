"""Subagents with a thread in the chat: their results come there, and what is written there goes to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.agent.subagents.record import Subagent
from hub.agent.subagents.spawning import SpawnMode
from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.ids import new_id
from hub.hooks.registry import Hook
from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupPolicy
from hub.messaging.contract import Address, ChannelLimits, ChatType, InboundMessage
from tests.agent.house import MAIN
from tests.agent.subagents.test_subagents import ANNAS, Delegating, tools
from tests.channels.test_initiative import ForwardClock
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

    def __init__(self, folder: Path, base_url: str, pigeons: Pigeons | None = None, clock: Clock | None = None) -> None:
        pigeons = pigeons or Pigeons(limits=ChannelLimits(text=400, threads=True))
        super().__init__(folder, base_url, pigeons, clock=clock)
        self._access = AccessPolicy(dm=DmPolicy.OPEN, group=GroupPolicy.OPEN)

    async def write(
        self, text: str, thread: str | None, who: str = "7", peer: str = "7", kind: ChatType = ChatType.DIRECT
    ) -> None:
        assert self.pigeons.receive is not None
        address = Address("test", peer, chat_type=kind, thread=thread)
        mentioned = text.startswith("/")  # in a group; elsewhere nobody asks
        await self.pigeons.receive(InboundMessage(address, new_id(), f"test:user:{who}", text, mentioned=mentioned))

    def said_in(self, thread: str | None) -> list[str]:
        return [each.text for each in self.pigeons.sent if each.address.thread == thread]


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Threading]:
    post = Threading(tmp_path / "home", openai_server.base_url, clock=ForwardClock())
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


async def threaded(post: Threading, authority: Authority = OWNER, **more: Any) -> str:
    """Begin a task in a thread; return its id, which is the number of the message that begins it."""
    await post.spawn("count the cats", label="cats", session=MAIN, authority=authority, thread=True, **more)
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


async def counted(post: Threading, server: OpenAIServer, **more: Any) -> tuple[str, Subagent]:
    """Have a task done in a thread; return the thread and the subagent."""
    server.rule(r"(?s)\A(?!.*(Subagent results|how many)).*count", "Four.")
    server.rule("Subagent results", "Four cats, says my helper.")
    server.rule("how many", "One black.")
    server.rule("where are you", "Here I am.")
    thread = await threaded(post, **more)
    await post.until(lambda: post.said_in(thread) == ["Four cats, says my helper."])
    await post.all_answered()
    return thread, post.subagents.below(MAIN)[0]


def heard_in(post: Threading, session: str) -> list[str]:
    return [text.splitlines()[-1] for role, text in post.transcript(session) if role == "user"]


async def test_after_its_end_the_thread_stays_with_the_subagent_also_over_a_restart_until_unfocus(
    post: Threading, openai_server: OpenAIServer
) -> None:
    thread, cats = await counted(post, openai_server)
    before = len(openai_server.requests())

    await post.write("how many black ones?", thread)
    await post.until(lambda: post.said_in(thread)[1:] == ["One black."])
    told = [str(each["content"]) for each in openai_server.requests()[before]["body"]["messages"][1:]]
    assert [each.splitlines()[-1] for each in told] == ["count the cats", "Four.", "how many black ones?"]
    assert not tools(openai_server, before) & {"sessions_spawn", "sessions_send", "schedule"}
    await post.all_answered()
    await post.close()

    again = Threading(post.home.path, openai_server.base_url, post.pigeons)
    await again.open()
    try:
        await again.write("how many white ones?", thread)
        await again.until(lambda: again.said_in(thread)[2:] == ["One black."])
        assert heard_in(again, cats.session_key)[1:] == [
            "how many black ones?",
            "how many white ones?",
        ]

        await again.write("/unfocus", thread)
        left = "What you write here goes to me again, and no longer to cats."
        await again.until(lambda: again.said_in(thread)[3:] == [left])
        await again.write("where are you?", thread)
        await again.until(lambda: again.said_in(thread)[4:] == ["Here I am."])
        assert len(heard_in(again, cats.session_key)) == 3
    finally:
        await again.close()


@pytest.mark.parametrize("more", [{"mode": SpawnMode.RUN}, {"delete": True}], ids=["run", "a conversation that goes"])
async def test_a_thread_for_a_run_alone_goes_back_to_the_agent_with_its_end(
    post: Threading, openai_server: OpenAIServer, more: dict[str, Any]
) -> None:
    thread, _ = await counted(post, openai_server, **more)

    await post.write("where are you?", thread)
    await post.until(lambda: post.said_in(thread)[1:] == ["Here I am."])

    assert "where are you?" in heard_in(post, MAIN)[-1]
    assert post.messaging.threads.all() == []


async def test_a_hub_that_stopped_at_work_gives_the_thread_of_a_run_back(
    post: Threading, openai_server: OpenAIServer
) -> None:
    openai_server.rule("count the cats", WORKING)
    openai_server.rule("Subagent results", "It was interrupted.")
    openai_server.rule("where are you", "Here I am.")
    thread = await threaded(post, mode=SpawnMode.RUN)
    await openai_server.until_arrived(2)
    await post.close()

    again = Threading(post.home.path, openai_server.base_url, post.pigeons)
    await again.open()
    try:
        await again.until(lambda: again.said_in(thread) == ["It was interrupted."])
        await again.write("where are you?", thread)
        await again.until(lambda: again.said_in(thread)[1:] == ["Here I am."])
        assert "where are you?" in heard_in(again, MAIN)[-1]
    finally:
        await again.close()


async def test_a_thread_in_which_nothing_happens_for_a_day_goes_back_to_the_agent_and_its_subagent_is_archived(
    post: Threading, openai_server: OpenAIServer
) -> None:
    clock, archiving = post.clock, post.subagents.archive()
    assert isinstance(clock, ForwardClock)
    post.tasks.spawn(archiving, name="archive")
    thread, cats = await counted(post, openai_server)

    clock.put_forward(23 * 3_600)
    await post.write("how many black ones?", thread)
    await post.until(lambda: post.said_in(thread)[1:] == ["One black."])
    await post.all_answered()
    assert post.subagents.below(MAIN) == [cats]
    clock.put_forward(25 * 3_600)
    await post.until(lambda: not post.subagents.below(MAIN))
    await post.write("where are you?", thread)
    await post.until(lambda: post.said_in(thread)[2:] == ["Here I am."])

    assert post.sessions.get(cats.session_key) is None


async def test_a_mode_that_cannot_be_is_refused_and_nothing_begins(post: Threading) -> None:
    for thread in (False, True):
        with pytest.raises(InvalidRequest, match="mode: session needs thread: true"):
            await post.spawn("count the cats", mode=SpawnMode.SESSION, thread=thread, delete=thread)
    await post.write("hello", "5")
    await post.until(lambda: len(post.said_in("5")) == 1)
    with pytest.raises(InvalidRequest, match="this conversation is a thread already"):
        await post.spawn("count the cats", thread=True, mode=SpawnMode.SESSION)
    assert post.state() == {}


async def test_focus_binds_a_thread_to_what_its_sender_may_see_and_agents_lists_it(
    post: Threading, openai_server: OpenAIServer
) -> None:
    openai_server.rule(r"(?s)\A(?!.*(Subagent results|how many)).*count", "Four.")
    openai_server.rule("Subagent results", "NO_REPLY")
    openai_server.rule("how many", "One black.")
    cats = await post.spawn("count the cats", label="cats", session=MAIN, authority=OWNER)
    await post.sessions.ensure(ANNAS, person="anna")
    await post.until(lambda: bool(post.heard()))
    await post.all_answered()
    says = post.said_in

    await post.write("/focus cats", None)
    await post.until(lambda: says(None)[-1].startswith("Use this in a thread or in a topic"))
    await post.write(f"/focus {ANNAS}", "5")
    await post.until(lambda: says("5") and says("5")[-1].startswith("There is no subagent and no conversation"))
    await post.write("/focus", "5")
    await post.until(lambda: f"/focus {cats.session_key}" in says("5")[-1])
    assert "/focus agent:main:main" in says("5")[-1]
    await post.write("/focus CATS", "5")
    bound = "What you write here goes to cats now, until you write /unfocus. It ends by itself after 24 hours"
    await post.until(lambda: says("5")[-1].startswith(bound))
    await post.write("how many black ones?", "5")
    await post.until(lambda: says("5")[-1] == "One black.")
    await post.write("/agents", None)
    await post.until(lambda: f"- test 5: cats, {cats.session_key}" in says(None)[-1])

    assert heard_in(post, cats.session_key)[1:] == ["how many black ones?"]


async def test_nobody_else_can_take_a_thread_or_what_is_not_theirs(
    post: Threading, openai_server: OpenAIServer
) -> None:
    openai_server.rule("hello", "Hello Anna.")
    openai_server.rule("how many", "I cannot say.")
    await post.write("hello", None, who="8", peer="8")
    await post.all_answered()
    says, write = post.said_in, partial(post.write, peer="family", kind=ChatType.GROUP)

    await write("/focus main", "5")
    await post.until(lambda: bool(says("5")) and "Others who can read this thread" in says("5")[-1])
    await write("/focus agent:main:test:direct:8", "5", who="8")
    await post.until(lambda: says("5")[-1].startswith("Somebody else has bound this thread."))
    await write("/unfocus", "5", who="8")
    await post.until(lambda: says("5")[-1].startswith("This thread is not bound to"))
    await write("/focus main", "6", who="8")
    await post.until(lambda: bool(says("6")) and says("6")[-1].startswith("There is no subagent"))
    before = len(openai_server.requests())
    await write("how many?", "5")
    await post.until(lambda: says("5")[-1] == "I cannot say.")

    assert "how many?" in heard_in(post, MAIN)[-1]
    assert not tools(openai_server, before) & {"memory_search", "memory_get"}


async def test_after_unfocus_the_agent_answers_in_the_thread_while_the_subagent_works(
    post: Threading, openai_server: OpenAIServer
) -> None:
    openai_server.rule(r"(?s)\A(?!.*(Subagent results|are you)).*count", WORKING)
    openai_server.rule("Subagent results", "NO_REPLY")
    openai_server.rule("are you", "Here I am.")
    thread = await threaded(post)

    await post.write("/unfocus", thread)
    await post.until(lambda: post.said_in(thread) == ["What you write here goes to me again, and no longer to cats."])
    await post.write("where are you?", thread)
    await post.until(lambda: post.said_in(thread)[1:] == ["Here I am."])
    await post.write("/unfocus", thread)
    none = "This thread is not bound to a subagent or to another conversation of yours."
    await post.until(lambda: post.said_in(thread)[2:] == [none])


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
