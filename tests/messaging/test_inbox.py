from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from hub.agent.run_request import RunRequest
from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.events import Event
from hub.messaging.access.access import AccessPolicy
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.access.routing import Binding, Bindings
from hub.messaging.commands.registry import ChatCommand, CommandCall
from hub.messaging.contract import Address, ChannelLimits, ClientMessage
from hub.messaging.queue.queue_policy import DropPolicy
from hub.models.contract import user_message
from hub.tools.contract import ToolCall, ToolResult
from tests.agent.house import CHANGING, READ_ONLY
from tests.lengths import examples
from tests.messaging.conftest import OPEN
from tests.messaging.post import ONE_BY_ONE, OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S

FULL_AT_ONE = replace(ONE_BY_ONE, policy=replace(ONE_BY_ONE.policy, cap=1, drop=DropPolicy.NEW))


@pytest.fixture(scope="module")
def one_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


async def test_a_message_is_answered_through_its_channel(post: Post) -> None:
    receipt = await post.said("hello")
    await post.until(lambda: post.pigeons.texts() == ["ok"])

    assert (receipt.accepted, receipt.duplicate) == (True, False)
    assert receipt.session_key == "agent:main:main"
    assert await post.rows("SELECT state, run_id FROM inbox") == [("done", receipt.run_id)]
    assert await post.rows("SELECT state FROM runs") == [("answered",)]


async def test_it_is_on_disk_when_the_channel_is_told(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.set_default([{"hold": "never"}])

    receipt = await post.said("hello", "m1")

    assert await post.rows("SELECT message_id, state, run_id FROM inbox") == [("m1", "queued", receipt.run_id)]
    assert (await post.rows("SELECT id, inbox_id FROM runs"))[0] == (receipt.run_id, receipt.inbox_id)


async def test_one_chain_runs_from_the_message_to_the_answer_that_was_sent(post: Post) -> None:
    events: list[Event] = []
    for name in ("message_received", "run_started", "message_sent"):
        post.bus.listen(name, events.append)

    await post.said("hello", "m1")
    await post.until(lambda: len(events) == 3)

    received, started, sent = (event.context for event in events)
    assert started.parent_id == received.id
    assert sent.parent_id == received.id


async def test_what_automations_are_told_of_a_message_and_of_a_refused_one(post: Post) -> None:
    events: list[Event] = []
    for name in ("message_received", "message_rejected"):
        post.bus.listen(name, events.append)

    await post.said("hello", "m1")
    await post.said("   ", "m2")

    received, rejected = (event.data for event in events)
    assert received["text"] == "hello"
    assert received["chat_type"] == "direct"
    assert received["from_owner"] is events[0].context.authority.owner
    assert "sender_name" in received
    assert "text" not in rejected


async def test_a_message_that_comes_again_is_answered_once(post: Post, openai_server: OpenAIServer) -> None:
    first = await post.said("hello", "m1")
    during = await post.said("hello", "m1")
    await post.until(lambda: post.pigeons.texts() == ["ok"])
    after = await post.said("other words", "m1")

    assert during == replace(first, duplicate=True)
    assert after == replace(first, duplicate=True)
    assert len(openai_server.requests()) == 1


async def test_many_copies_at_once_are_one_message(post: Post, openai_server: OpenAIServer) -> None:
    receipts = await asyncio.gather(*(post.said("hello", "m1") for _ in range(20)))
    await post.until(lambda: post.pigeons.texts() == ["ok"])

    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert {receipt.run_id for receipt in receipts} == {receipts[0].run_id}
    assert len(openai_server.requests()) == 1


async def test_the_same_id_of_another_chat_is_another_message(post: Post, openai_server: OpenAIServer) -> None:
    await post.said("hello", "m1")
    other = await post.said("hello", "m1", who="8")
    await post.until(lambda: len(openai_server.requests()) == 2)

    assert not other.duplicate


async def test_a_stranger_is_refused_nothing_is_kept_of_the_words_and_nothing_is_answered(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    post = Post(tmp_path / "home", openai_server.base_url, access=AccessPolicy())
    await post.open()

    receipt = await post.said("let me in", "m1", who="666", sender_name="Mal\u202elory\n" + "x" * 100)
    again = await post.said("let me in", "m1", who="666")

    (kept,) = await post.rows("SELECT message FROM inbox")
    assert json.loads(kept[0])["sender_name"] == ("Mal lory " + "x" * 100)[:64]
    assert (receipt.accepted, receipt.run_id) == (False, None)
    assert "test:user:666" in (receipt.reason or "")
    assert again == replace(receipt, duplicate=True)
    assert "let me in" not in str(await post.rows("SELECT * FROM inbox"))
    assert post.pigeons.sent == []
    await post.close()


async def test_a_stranger_gets_no_commands_either(tmp_path: Path, openai_server: OpenAIServer) -> None:
    post = Post(tmp_path / "home", openai_server.base_url, access=AccessPolicy())
    await post.open()

    receipts = [await post.said(text, who="666") for text in ("/help", "/status", "/new", "/model test/other")]

    assert not any(receipt.accepted or receipt.reply for receipt in receipts)
    await post.close()


async def test_each_sender_has_a_session_and_an_authority_of_their_own(post: Post) -> None:
    me, anna, stranger = [await post.said("hello", who=who) for who in ("7", "8", "9")]
    group = await post.said("hello", who="7", group="family", mentioned=True)

    keys = [receipt.session_key for receipt in (me, anna, stranger, group)]
    principals = await post.rows("SELECT owner FROM inbox ORDER BY position")
    assert keys == [
        "agent:main:main",
        "agent:main:test:direct:8",
        "agent:main:test:direct:9",
        "agent:main:test:group:family",
    ]
    assert principals == [(1,), (0,), (0,), (0,)]


async def test_bindings_choose_the_agent_and_a_binding_to_nobody_means_the_default(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    bindings = (Binding("cook", channel="test", peer="8"), Binding("gone", channel="test", peer="9"))
    agents: tuple[dict[str, Any], ...] = ({"id": "main", "default": True}, {"id": "cook"})
    post = Post(
        tmp_path / "home",
        openai_server.base_url,
        access=OPEN,
        settings=MessagingSettings(bindings=Bindings(bindings), queue=ONE_BY_ONE),
        agents=agents,
    )
    await post.open()

    keys = [(await post.said("hello", who=who)).session_key for who in ("7", "8", "9")]

    assert keys == ["agent:main:main", "agent:cook:test:direct:8", "agent:main:test:direct:9"]
    await post.close()


async def test_messages_of_a_session_are_answered_one_after_the_other_in_order(
    post: Post, openai_server: OpenAIServer
) -> None:
    openai_server.set_default([{"echo": True}])

    await asyncio.gather(*(post.said(f"number {number}") for number in range(8)))
    await post.until(lambda: len(post.pigeons.sent) == 8)

    order = [next(number for number in range(8) if f"number {number}" in text) for text in post.pigeons.texts()]
    assert order == list(range(8))


async def test_sessions_are_answered_beside_each_other(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "gate"}, {"text": "slow"}])
    await post.said("hello", who="7")
    await openai_server.until_arrived()

    await post.said("hello", who="8")
    await post.until(lambda: post.pigeons.texts("8") == ["ok"])

    assert post.pigeons.texts("7") == []
    openai_server.release("gate")
    await post.until(lambda: post.pigeons.texts("7") == ["slow"])


async def test_a_full_queue_is_told_and_takes_messages_again_later(post: Post, openai_server: OpenAIServer) -> None:
    post.settings = replace(post.settings, queue=FULL_AT_ONE)
    openai_server.queue([{"hold": "gate"}, {"text": "first"}])

    receipts = [await post.said("hello"), *await asyncio.gather(*(post.said("hello") for _ in range(4)))]
    openai_server.release("gate")
    await post.until(lambda: len(post.pigeons.sent) == 5)
    later = await post.said("hello")

    assert [receipt.accepted for receipt in receipts] == [True, True, False, False, False]
    assert sum("Too many messages" in text for text in post.pigeons.texts()) == 3
    assert later.accepted


async def test_a_copy_is_known_also_while_the_queue_is_full(post: Post, openai_server: OpenAIServer) -> None:
    post.settings = replace(post.settings, queue=FULL_AT_ONE)
    openai_server.queue([{"hold": "gate"}, {"text": "first"}])
    first = await post.said("hello", "m1")

    copy = await post.said("hello", "m1")
    openai_server.release("gate")
    await post.until(lambda: post.pigeons.texts() == ["first"])

    assert copy == replace(first, duplicate=True)


async def test_a_text_that_is_too_long_is_refused_with_the_reason(post: Post, openai_server: OpenAIServer) -> None:
    post.settings = replace(post.settings, text_limit=1_000)

    receipt = await post.said("x" * 1_001)
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert not receipt.accepted
    assert "1000 characters" in post.pigeons.texts()[0]
    assert openai_server.requests() == []


async def test_an_empty_message_is_not_answered(post: Post, openai_server: OpenAIServer) -> None:
    receipt = await post.said(" \n")

    assert (receipt.accepted, receipt.reason) == (False, "the message is empty")
    assert (openai_server.requests(), post.pigeons.sent) == ([], [])


async def test_a_failure_is_told_in_its_place_among_the_answers(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue("one", {"status": 401, "body": {"error": {"message": "bad key"}}}, "three")

    for text in ("first", "second", "third"):
        await post.said(text)
    await post.until(lambda: len(post.pigeons.sent) == 3)

    first, second, third = post.pigeons.texts()
    assert (first, third) == ("one", "three")
    assert second.startswith("I could not answer:")


async def test_a_long_answer_is_cut_for_the_channel_and_keeps_its_order(
    post: Post, openai_server: OpenAIServer
) -> None:
    openai_server.queue("\n\n".join(f"Paragraph {number}. " + "word " * 40 for number in range(6)), "short")

    await post.said("tell me")
    await post.said("more")
    await post.until(lambda: post.pigeons.texts()[-1:] == ["short"])

    pieces = post.pigeons.texts()[:-1]
    assert all(len(piece) <= 400 for piece in pieces)
    assert [piece.split(".")[0] for piece in pieces] == [f"Paragraph {number}" for number in range(6)]


async def test_an_answer_in_a_group_quotes_the_question(post: Post) -> None:
    await post.said("hello", "m1", group="family", mentioned=True)
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert post.pigeons.sent[0].reply_to == "m1"
    assert post.pigeons.sent[0].address.peer == "family"


async def test_a_client_of_the_gateway_chooses_session_and_run(post: Post) -> None:
    message = ClientMessage(
        Address("webchat", "x"), "owner/k1", "webchat:user:owner", "hello", session_key="direct-talk", run_id="k1"
    )

    receipt = await post.inbox.receive(message, Context(OWNER))

    assert (receipt.session_key, receipt.run_id) == ("agent:main:direct:direct-talk", "k1")


async def test_a_client_that_names_what_cannot_be_is_refused_before_anything_is_written(post: Post) -> None:
    message = ClientMessage(Address("webchat", "x"), "1", "webchat:user:owner", "hello")

    with pytest.raises(InvalidRequest):
        await post.inbox.receive(replace(message, session_key="agent:main:nonsense:group"), Context(OWNER))
    with pytest.raises(NotFound):
        await post.inbox.receive(replace(message, session_key="agent:nobody:main"), Context(OWNER))

    assert await post.rows("SELECT count(*) FROM inbox") == [(0,)]


async def test_a_credential_that_may_only_read_writes_nothing(post: Post) -> None:
    reader = Authority("token:1", scopes=SCOPES & {"operator.read"})
    message = ClientMessage(Address("webchat", "x"), "1", "webchat:user:token:1", "hello", session_key="main")

    receipt = await post.inbox.receive(message, Context(reader))

    assert not receipt.accepted


async def test_a_run_id_of_somebody_else_is_a_conflict_and_no_mishap(post: Post) -> None:
    message = ClientMessage(Address("webchat", "x"), "owner/1", "webchat:user:owner", "hi", session_key="main")
    other = Authority("token:9", scopes=SCOPES - {"operator.admin"})
    await post.inbox.receive(replace(message, run_id="1"), Context(OWNER))

    with pytest.raises(Conflict, match="another key"):
        await post.inbox.receive(replace(message, message_id="token:9/1", run_id="1"), Context(other))

    assert await post.rows("SELECT message_id FROM inbox") == [("owner/1",)]
    assert (await post.inbox.receive(replace(message, message_id="owner/2", run_id="2"), Context(OWNER))).accepted


async def test_a_channel_that_takes_hardly_any_text_is_refused(post: Post) -> None:
    with pytest.raises(InvalidRequest, match="text limit"):
        await post.channels.add(Pigeons(name="telegraph", limits=ChannelLimits(text=10)))


# --- after a stop or a crash ---


async def test_what_was_not_answered_before_the_stop_is_answered_after_it_in_order(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.set_default([{"text": "half"}, {"hold": "never"}])
    before = Post(tmp_path / "home", openai_server.base_url)
    await before.open()
    for number in range(3):
        await before.said(f"number {number}", f"m{number}")
    await openai_server.until_arrived()
    await before.close()
    openai_server.set_default([{"echo": True}])

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons)
    await after.open()
    await after.until(lambda: len(after.pigeons.sent) == 3)

    assert [f"number {number}" in text for number, text in enumerate(after.pigeons.texts())] == [True] * 3
    assert (await after.said("number 0", "m0")).duplicate
    assert await after.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    await after.close()


@pytest.mark.parametrize(("changes", "told"), [(False, "again"), (True, "restarted")])
async def test_a_turn_that_may_have_changed_something_is_not_repeated_and_the_person_is_told(
    tmp_path: Path, openai_server: OpenAIServer, changes: bool, told: str
) -> None:
    openai_server.queue({"tool_call": {"name": "act", "arguments": {"text": "x"}}}, [{"hold": "never"}])
    before = Post(tmp_path / "home", openai_server.base_url)
    annotations = CHANGING if changes else READ_ONLY
    before.tool("act", done, annotations)
    await before.open()
    await before.said("do it")
    await openai_server.until_arrived(2)
    await before.close()
    openai_server.set_default("again")

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons)
    after.tool("act", done, annotations)
    await after.open()
    await after.until(lambda: len(after.pigeons.sent) == 1)

    assert told in after.pigeons.texts()[0]
    assert await after.rows("SELECT state FROM inbox") == [("done",)]
    await after.close()


async def test_a_command_that_was_cut_off_is_not_repeated_and_the_person_is_told(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    begun = asyncio.Event()

    async def forever(call: CommandCall) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    before = Post(tmp_path / "home", openai_server.base_url)
    before.commands.add(ChatCommand("forever", forever, help="never ends"))
    await before.open()
    waiting = asyncio.ensure_future(before.said("/forever", "m1"))
    await begun.wait()
    waiting.cancel()
    await before.close()

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons)
    await after.open()
    await after.until(lambda: len(after.pigeons.sent) == 1)

    assert "restarted" in after.pigeons.texts()[0]
    assert (await after.said("/forever", "m1")).duplicate
    await after.close()
    third = Post(tmp_path / "home", openai_server.base_url, before.pigeons)
    await third.open()
    assert len(third.pigeons.sent) == 1
    await third.close()


async def done(call: ToolCall) -> ToolResult:
    return ToolResult("done")


# --- whatever the order ---


@given(
    deliveries=st.lists(
        st.tuples(st.sampled_from(["7", "8", "9"]), st.integers(0, 4), st.sampled_from(["", "/status", "x"])),
        min_size=1,
        max_size=14,
    ),
    at_once=st.booleans(),
)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_messages_and_copies_answers_each_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    one_server: OpenAIServer,
    deliveries: list[tuple[str, int, str]],
    at_once: bool,
) -> None:
    asyncio.run(_each_once(tmp_path_factory.mktemp("post"), one_server, deliveries, at_once=at_once))


async def _each_once(
    folder: Path, server: OpenAIServer, deliveries: list[tuple[str, int, str]], *, at_once: bool
) -> None:
    server.reset()
    server.set_default([{"echo": True}])
    post = Post(folder, server.base_url)
    await post.open()
    try:
        told = [post.said(text or f"words {id}", f"m{id}", who=who) for who, id, text in deliveries]
        receipts = await asyncio.gather(*told) if at_once else [await each for each in told]
        firsts = [receipt for receipt in receipts if not receipt.duplicate]
        await post.until(lambda: len(post.pigeons.sent) >= len(firsts))
        await post.runs.drain(timeout_s=LIMIT_S)

        expected = {(who, f"m{id}") for who, id, _ in deliveries}
        assert len(firsts) == len(expected) == len(post.pigeons.sent)
        assert len({receipt.inbox_id for receipt in receipts}) == len(expected)
        runs = [receipt.run_id for receipt in firsts if receipt.run_id]
        assert len(server.requests()) == len(runs)
        assert set(await post.rows("SELECT peer, message_id FROM inbox")) == expected
        for key in {receipt.session_key for receipt in firsts}:
            asked = [receipt.run_id for receipt in firsts if receipt.session_key == key and receipt.run_id]
            answered = [message.run_id for message in post.pigeons.sent if message.session_key == key]
            assert [run_id for run_id in answered if run_id] == asked
    finally:
        await post.close()


async def test_a_run_that_another_part_began_is_not_mistaken_for_a_message(post: Post) -> None:
    await post.runner.run(RunRequest("r1", "main", "agent:main:main", user_message("hi"), Context(OWNER)))

    receipt = await post.said("hello")
    await post.until(lambda: post.pigeons.texts() == ["ok"])

    assert receipt.run_id != "r1"
