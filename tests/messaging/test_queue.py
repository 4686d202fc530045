from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.clock import ManualClock
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.contract import Address, InboundMessage, MessageDeleted, MessageEdited, Quote, Receiver
from hub.messaging.queue.queue_policy import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from hub.security.people import People, Person
from hub.tools.contract import ToolCall, ToolResult
from tests.agent.house import CHANGING, READ_ONLY
from tests.messaging.conftest import OPEN
from tests.messaging.post import ONE_BY_ONE, Pigeons, Post
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S, as_time_passes

HELD: list[dict[str, Any]] = [{"hold": "gate"}, {"text": "first"}]
LOOK = {"tool_call": {"name": "look", "arguments": {}}}


def waits(mode: QueueMode, **more: Any) -> QueueSettings:
    return QueueSettings(QueuePolicy(mode, debounce_ms=0, **more), inbound_ms=0)


def asked(server: OpenAIServer, number: int) -> str:
    """The last message of a request to the model."""
    content = server.requests()[number]["body"]["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


class TypingPigeons(Pigeons):
    """A channel with typing indicators, which fail when they are to."""

    def __init__(self) -> None:
        super().__init__()
        self.typed: list[str] = []
        self.fails = False

    async def typing(self, address: Address) -> None:
        self.typed.append(address.peer)
        if self.fails:
            raise ConnectionError("no network")


@pytest.fixture
async def busy(post: Post, openai_server: OpenAIServer) -> Post:
    """A post whose agent answers a first message until `gate` is released."""
    openai_server.queue(HELD)
    await post.said("hello", "m0")
    await openai_server.until_arrived()
    return post


async def test_what_a_message_quotes_is_told_where_nobody_else_writes(post: Post, openai_server: OpenAIServer) -> None:
    await post.said("please do", quoted=Quote("Shall I water\nthe roses?"))
    await post.until_counts(sent=1)

    assert (
        asked(openai_server, 0).partition("\n\n")[2].startswith('[in reply to: "Shall I water the roses?"]\nplease do')
    )


async def test_what_arrives_while_the_agent_is_busy_is_answered_together(
    busy: Post, openai_server: OpenAIServer
) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.COLLECT))

    for number in (1, 2, 3):
        await busy.said(f"more {number}", f"m{number}", sender_name="Me")
    openai_server.release("gate")
    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])

    assert "[Queued messages while agent was busy]\n---\nQueued #1 (from Me, message_id: m1)\nmore 1\n---" in asked(
        openai_server, 1
    )
    assert len(openai_server.requests()) == 2
    assert await busy.rows("SELECT state, count(*) FROM inbox GROUP BY 1") == [("done", 4)]
    assert await busy.rows("SELECT state, count(*) FROM runs GROUP BY 1") == [("answered", 2)]


async def test_what_waited_is_answered_with_the_rights_that_its_sender_has_by_then(
    busy: Post, openai_server: OpenAIServer
) -> None:
    begun: list[bool] = []
    busy.bus.listen("run_started", lambda event: begun.append(event.context.authority.owner))
    await busy.said("more", "m1")
    busy.people = People([Person("anna", "Anna", owner=True)], busy.channels.is_home)
    openai_server.release("gate")
    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])

    assert begun == [False]


async def test_conversations_that_share_a_session_are_not_mixed(tmp_path: Path, openai_server: OpenAIServer) -> None:
    post = Post(tmp_path / "home", openai_server.base_url, access=OPEN)
    post.settings = MessagingSettings(queue=waits(QueueMode.COLLECT), dm_scope=post.settings.dm_scope)
    other = Pigeons(name="other")
    await post.open()
    await post.channels.add(other, OPEN)
    openai_server.queue(HELD)
    await post.said("hello")
    await openai_server.until_arrived()

    await post.said("one")
    await post.said("in a group", group="family", mentioned=True)
    await post.said("two")
    openai_server.release("gate")
    await post.until(lambda: len(post.pigeons.texts()) == 2 and len(post.pigeons.texts("family")) == 1)

    together = [text for number in range(3) if "Queued" in (text := asked(openai_server, number))]
    assert len(together) == 1
    assert "in a group" not in together[0]
    await post.close()


async def test_one_by_one_each_message_has_a_turn(busy: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue("second", "third")

    await busy.said("one")
    await busy.said("two")
    openai_server.release("gate")

    await busy.until(lambda: busy.pigeons.texts() == ["first", "second", "third"])


async def test_a_session_has_a_mode_of_its_own(busy: Post, openai_server: OpenAIServer) -> None:
    await busy.sessions.patch("agent:main:main", queue="collect debounce:0s")

    await busy.said("one")
    await busy.said("two")
    openai_server.release("gate")

    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])
    assert "Queued #2" in asked(openai_server, 1)


# --- steering ---


def looking(post: Post, openai_server: OpenAIServer, begun: asyncio.Event, go_on: asyncio.Event) -> list[str]:
    """Let the model call a tool three times, of which the first waits; return what was called."""
    called: list[str] = []

    async def look(call: ToolCall) -> ToolResult:
        called.append(call.context.authority.principal)
        begun.set()
        await go_on.wait()
        return ToolResult("seen")

    post.tool("look", look, replace(READ_ONLY, parallel_safe=False))
    openai_server.queue([LOOK, LOOK, LOOK], "done")
    return called


@pytest.mark.parametrize(("mode", "turns"), [(QueueMode.STEER, 1), (QueueMode.STEER_BACKLOG, 2)])
async def test_a_running_turn_hears_a_message_before_its_next_step(
    post: Post, openai_server: OpenAIServer, mode: QueueMode, turns: int
) -> None:
    post.settings = replace(post.settings, queue=waits(mode))
    begun, go_on = asyncio.Event(), asyncio.Event()
    called = looking(post, openai_server, begun, go_on)
    await post.said("look around")
    await begun.wait()

    await post.said("stop at once", "m2")
    go_on.set()
    await post.until(lambda: len(post.pigeons.texts()) == turns)
    await post.runs.drain(timeout_s=LIMIT_S)

    said = openai_server.requests()[1]["body"]["messages"]
    results = [message["content"] for message in said if message["role"] == "tool"]
    assert len(called) == 1
    assert ["Skipped due to queued user message." in str(result) for result in results] == [False, True, True]
    assert "stop at once" in str(said[-1]["content"])
    assert len(post.pigeons.texts()) == turns
    assert await post.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    assert await post.rows("SELECT count(*) FROM runs") == [(turns,)]


async def test_a_mode_written_in_a_message_holds_for_that_message(post: Post, openai_server: OpenAIServer) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    called = looking(post, openai_server, begun, go_on)
    await post.said("look around")
    await begun.wait()

    await post.said("this can wait")
    await post.said("/queue steer stop at once")
    go_on.set()
    await post.until(lambda: len(post.pigeons.texts()) == 2)

    assert len(called) == 1
    heard = openai_server.requests()[1]["body"]["messages"]
    assert "stop at once" in str(heard[-1]["content"])
    assert "this can wait" not in str(heard)
    assert "this can wait" in asked(openai_server, 2)


async def test_words_of_another_sender_do_not_steer_but_follow(post: Post, openai_server: OpenAIServer) -> None:
    post.settings = replace(post.settings, queue=waits(QueueMode.STEER))
    begun, go_on = asyncio.Event(), asyncio.Event()
    called = looking(post, openai_server, begun, go_on)
    await post.said("look around", group="family", mentioned=True)
    await begun.wait()

    await post.said("do something else", who="9", group="family", mentioned=True)
    go_on.set()
    await post.until(lambda: len(post.pigeons.texts("family")) == 2)

    assert len(called) == 3
    assert "do something else" in asked(openai_server, 2)


async def test_a_message_that_no_step_was_left_to_hear_is_answered_next(
    busy: Post, openai_server: OpenAIServer
) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.STEER))

    await busy.said("more")
    openai_server.release("gate")

    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])
    assert "more" in asked(openai_server, 1)


async def test_what_a_killed_turn_had_heard_is_heard_again(tmp_path: Path, openai_server: OpenAIServer) -> None:
    settings = MessagingSettings(queue=waits(QueueMode.STEER))
    before = Post(tmp_path / "home", openai_server.base_url, settings=settings)
    begun, go_on = asyncio.Event(), asyncio.Event()
    looking(before, openai_server, begun, go_on)
    await before.open()
    await before.said("look around")
    await begun.wait()
    await before.said("and behind you")
    openai_server.reset()
    openai_server.queue([{"hold": "never"}])
    go_on.set()
    await openai_server.until_arrived()
    await before.close()
    openai_server.reset()

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, settings=settings)
    after.tool("look", lambda call: "seen", READ_ONLY)
    await after.open()
    await after.until(lambda: after.pigeons.texts() == ["ok"])

    said = str(openai_server.requests()[0]["body"]["messages"][1:])
    assert said.count("look around") == said.count("and behind you") == 1
    assert await after.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    await after.close()


# --- interrupting, stopping ---


async def test_an_interrupt_stops_the_turn_and_answers_the_newest(busy: Post, openai_server: OpenAIServer) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.INTERRUPT))

    await busy.said("rather this")
    await busy.until(lambda: busy.pigeons.texts() == ["ok"])

    assert "rather this" in asked(openai_server, 1)
    assert await busy.rows("SELECT state FROM runs ORDER BY position") == [("aborted",), ("answered",)]


async def test_stop_drops_what_waits(busy: Post, openai_server: OpenAIServer) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.COLLECT))
    waiting = [await busy.said(text) for text in ("one", "two")]

    await busy.said("/stop")
    await busy.runs.drain(timeout_s=LIMIT_S)
    await busy.rows("SELECT 1")

    await busy.until(lambda: busy.pigeons.texts() == ["Stopped. Messages that waited and are dropped: 2"])
    rows = await busy.rows("SELECT state, reason FROM inbox WHERE session_key IS NOT NULL ORDER BY position")
    assert rows[1:3] == [("done", "aborted")] * 2
    assert len(openai_server.requests()) == 1
    assert waiting[0].accepted


# --- more than may wait ---


async def test_the_oldest_give_way_and_are_mentioned(busy: Post, openai_server: OpenAIServer) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.COLLECT, cap=2))

    for number in range(5):
        assert (await busy.said(f"word {number}", sender_name="Me")).accepted
    openai_server.release("gate")
    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])

    text = asked(openai_server, 1)
    assert "[Dropped 3 earlier messages" in text
    assert "- Me: word 0\n- Me: word 1\n- Me: word 2\n" in text
    assert "Queued #2" in text
    assert "Queued #3" not in text


async def test_the_oldest_are_dropped(busy: Post, openai_server: OpenAIServer) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.COLLECT, cap=1, drop=DropPolicy.OLD))

    for number in range(3):
        await busy.said(f"word {number}")
    openai_server.release("gate")
    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])

    assert asked(openai_server, 1).endswith("word 2")
    assert "word 1" not in asked(openai_server, 1)
    assert await busy.rows("SELECT count(*) FROM inbox WHERE reason = 'dropped' AND state = 'done'") == [(2,)]


async def test_a_noisy_chat_pushes_nobody_else_out_and_starves_nobody(busy: Post, openai_server: OpenAIServer) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.FOLLOWUP, cap=5))
    openai_server.set_default([{"echo": True}])

    noise = [busy.said(f"noise {number}", who="9") for number in range(200)]
    quiet = [busy.said(f"quiet {number}", who="8") for number in range(3)]
    await asyncio.gather(*noise, *quiet)
    await busy.until(lambda: len(busy.pigeons.texts("8")) == 3)

    assert len(busy.pigeons.texts("9")) < 10
    await busy.until(lambda: any("noise 199" in text for text in busy.pigeons.texts("9")))


# --- changed by their sender ---


async def test_a_message_that_waits_is_edited_or_taken_back(busy: Post, openai_server: OpenAIServer) -> None:
    busy.settings = replace(busy.settings, queue=waits(QueueMode.COLLECT))
    for number in (1, 2):
        await busy.said(f"word {number}", f"m{number}")
    assert busy.pigeons.receive is not None

    await busy.pigeons.receive(MessageEdited(Address("test", "7"), "e1", "test:user:7", message_id="m1", text="better"))
    await busy.pigeons.receive(MessageDeleted(Address("test", "7"), "e2", "test:user:7", message_id="m2"))
    stored = await busy.rows("SELECT message, state FROM inbox WHERE message_id IN ('m1', 'm2') ORDER BY position")
    openai_server.release("gate")
    await busy.until(lambda: busy.pigeons.texts() == ["first", "ok"])

    assert asked(openai_server, 1).endswith("better")
    assert ("better" in stored[0][0], stored[0][1]) == (True, "queued")
    assert stored[1][1] == "done"


# --- waiting for more ---


async def test_text_waits_for_more_of_it_and_is_on_disk_meanwhile(tmp_path: Path, openai_server: OpenAIServer) -> None:
    clock = ManualClock()
    settings = MessagingSettings(queue=replace(ONE_BY_ONE, inbound_ms=1_500))
    post = Post(tmp_path / "home", openai_server.base_url, settings=settings, clock=clock)
    await post.open()

    for number in (1, 2):
        await post.said(f"part {number}", f"m{number}")
    waiting = await post.rows("SELECT message_id, state FROM inbox ORDER BY message_id")
    await as_time_passes(clock, 0.1, lambda: post.pigeons.texts() == ["ok"])

    assert waiting == [("m1", "queued"), ("m2", "queued")]
    assert asked(openai_server, 0).endswith("part 1\npart 2")
    await post.close()


async def test_a_command_does_not_wait_and_sends_the_text_before_it(post: Post, openai_server: OpenAIServer) -> None:
    post.settings = replace(post.settings, queue=replace(ONE_BY_ONE, inbound_ms=60_000))

    await post.said("hello")
    await post.said("/whoami")
    await post.until(lambda: len(post.pigeons.texts()) == 2)

    assert "ok" in post.pigeons.texts()


# --- after a stop or a crash ---


async def test_what_waits_survives_a_crash_with_rights_and_policy(tmp_path: Path, openai_server: OpenAIServer) -> None:
    settings = MessagingSettings(queue=waits(QueueMode.COLLECT, cap=2))
    before = Post(tmp_path / "home", openai_server.base_url, settings=settings, access=OPEN)
    await before.open()
    openai_server.queue([{"hold": "never"}])
    await before.said("hello", group="family", mentioned=True)
    await openai_server.until_arrived()
    for number in range(4):
        await before.said(f"word {number}", who="78"[number % 2], group="family", mentioned=True)
    await before.rows("SELECT 1")
    await before.close()
    openai_server.reset()
    openai_server.queue("one", "two")

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, settings=settings, access=OPEN)
    await after.open()
    await after.until(lambda: after.pigeons.texts("family") == ["one", "two"])

    text = asked(openai_server, 1)
    assert "[Dropped 2 earlier messages" in text
    assert "Queued #2" in text
    assert await after.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    assert await after.rows("SELECT count(*) FROM runs") == [(2,)]
    await after.close()


class Early(Pigeons):
    """Delivers two messages as soon as it is connected, while the hub starts."""

    async def start(self, receive: Receiver) -> None:
        await super().start(receive)
        messages = [InboundMessage(Address("test", "7"), f"e{number}", "test:user:7", "early") for number in range(2)]
        self.delivering = asyncio.gather(*(receive(each) for each in messages))


async def test_what_arrives_before_the_rest_is_taken_up_is_answered_after_it(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "never"}])
    before = Post(tmp_path / "home", openai_server.base_url)
    await before.open()
    await before.said("hello", "m1")
    await openai_server.until_arrived()
    await before.close()
    openai_server.reset()
    openai_server.queue("first", "second")

    after = Post(tmp_path / "home", openai_server.base_url, Early())
    await after.open()
    await after.until(lambda: len(after.pigeons.texts()) == 3)

    assert after.pigeons.texts() == ["first", "second", "ok"]
    assert len(openai_server.requests()) == 3
    await after.close()


async def test_a_turn_over_several_messages_that_was_cut_off_tells_its_sender_once(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    settings = MessagingSettings(queue=waits(QueueMode.COLLECT))
    before = Post(tmp_path / "home", openai_server.base_url, settings=settings)
    before.tool("act", lambda call: "done", CHANGING)
    await before.open()
    openai_server.queue(HELD, {"tool_call": {"name": "act", "arguments": {}}}, [{"hold": "never"}])
    for text in ("hello", "one", "two"):
        await before.said(text)
    openai_server.release("gate")
    await openai_server.until_arrived(3)
    await before.close()

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, settings=settings)
    after.tool("act", lambda call: "done", CHANGING)
    await after.open()
    await after.until(lambda: len(after.pigeons.texts()) == 2)
    await after.runs.drain(timeout_s=LIMIT_S)

    assert "restarted" in after.pigeons.texts()[1]
    assert len(after.pigeons.texts()) == 2
    assert await after.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    await after.close()


# --- typing ---


async def test_typing_shows_while_an_answer_takes_longer_and_never_for_a_stranger(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    pigeons = TypingPigeons()
    post = Post(tmp_path / "home", openai_server.base_url, pigeons, access=OPEN)
    await post.open()
    openai_server.queue(HELD)

    await post.said("hello", who="8")
    refused = await post.said("hello", group="strangers")
    await post.until(lambda: bool(pigeons.typed))

    assert pigeons.typed == ["8"]
    assert not refused.accepted
    openai_server.release("gate")
    await post.until(lambda: post.pigeons.texts("8") == ["first"])
    await post.runs.drain(timeout_s=LIMIT_S)
    assert post.runs.names() == []
    await post.close()


async def test_typing_that_fails_delays_nothing(
    tmp_path: Path, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    pigeons = TypingPigeons()
    pigeons.fails = True
    post = Post(tmp_path / "home", openai_server.base_url, pigeons, access=OPEN)
    await post.open()

    openai_server.queue(HELD, HELD)
    for who in ("8", "9"):
        await post.said("hello", who=who)
    await post.until(lambda: set(pigeons.typed) == {"8", "9"})
    openai_server.release("gate")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    assert sum("typing cannot be shown" in record.message for record in caplog.records) == 1
    await post.close()
