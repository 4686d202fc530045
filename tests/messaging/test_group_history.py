from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hub.agent.conversation.window import Item, last_turns
from hub.messaging.contract import Address, ChatType, InboundMessage, Media, MediaKind, MessageDeleted, MessageEdited
from hub.messaging.queue import group_history
from hub.messaging.queue.group_history import HISTORY_LIMIT, LINE_CHARS, OverheardLine
from hub.models.contract import Message, Role, TextBlock
from tests.messaging.conftest import OPEN
from tests.messaging.post import Post
from tests.messaging.test_queue import asked
from tests.servers.openai_server import OpenAIServer

FAMILY = "agent:main:test:group:family"


async def overhear(post: Post, text: str, *, who: str = "9", person: str | None = None, limit: int = 50) -> None:
    address = Address("test", "family", chat_type=ChatType.GROUP)
    message = InboundMessage(address, f"id of {text}"[:40], f"test:user:{who}", text, sender_name=f"U{who}")
    keep = partial(
        group_history.keep,
        session_key=FAMILY,
        message=message,
        person=person,
        limit=limit,
        received_ms=int(post.clock.time() * 1000),
    )
    await post.db.write(keep)


async def test_what_was_said_before_is_given_once_as_words_from_outside(
    post: Post, openai_server: OpenAIServer
) -> None:
    await overhear(post, "the boiler leaks")
    await overhear(post, "since Monday", who="8", person="anna")

    await post.said("what do you think?", group="family", mentioned=True)
    await post.until(lambda: post.pigeons.texts("family") == ["ok"])
    await post.said("and now?", group="family", mentioned=True)
    await post.until(lambda: post.pigeons.texts("family") == ["ok", "ok"])

    text = asked(openai_server, 0)
    before, current = text.split("[Current message - respond to this]\n")
    assert "[Chat messages since your last reply - for context]\n<<<outside" in before
    assert "U9: the boiler leaks\nU8: since Monday\n>>>outside" in before
    assert current == "what do you think?"
    assert asked(openai_server, 1).endswith("] and now?") or "Chat messages" not in asked(openai_server, 1)
    assert await post.rows("SELECT count(*) FROM group_history WHERE text = 'last'") == [(0,)]
    session = post.sessions.get(FAMILY)
    assert session is not None
    assert session.tainted


async def test_what_the_same_person_said_before_is_their_own(post: Post, openai_server: OpenAIServer) -> None:
    await overhear(post, "the boiler leaks", who="8", person="anna")

    await post.said("help me", who="8", group="family", mentioned=True)
    await post.until(lambda: post.pigeons.texts("family") == ["ok"])

    assert "U8: the boiler leaks\n[Current message" in asked(openai_server, 0)
    assert "<<<outside" not in asked(openai_server, 0)


async def test_only_the_newest_are_kept_and_none_when_it_is_off(post: Post) -> None:
    for number in range(HISTORY_LIMIT + 5):
        await overhear(post, f"word {number}")
    kept = await post.rows("SELECT text FROM group_history ORDER BY position")
    await overhear(post, "last", limit=0)

    assert [text for (text,) in kept] == [f"word {number}" for number in range(5, HISTORY_LIMIT + 5)]
    assert await post.rows("SELECT text FROM group_history WHERE text = 'last'") == []


async def test_what_is_kept_of_a_message_is_bounded(post: Post) -> None:
    await overhear(post, "x" * 5_000)

    assert await post.rows("SELECT length(text) FROM group_history") == [(LINE_CHARS,)]


async def test_what_was_overheard_is_edited_and_taken_back_by_its_sender(post: Post) -> None:
    for text in ("one", "two"):
        await overhear(post, text, who="8")
    address = Address("test", "family", chat_type=ChatType.GROUP)
    assert post.pigeons.receive is not None

    await post.pigeons.receive(MessageEdited(address, "e1", "test:user:8", message_id="id of one", text="better"))
    await post.pigeons.receive(MessageDeleted(address, "e2", "test:user:8", message_id="id of two"))
    await post.pigeons.receive(MessageDeleted(address, "e3", "test:user:9", message_id="id of one"))

    assert await post.rows("SELECT text FROM group_history") == [("better",)]


async def test_a_turn_that_was_cut_off_is_given_the_same_again(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "never"}])
    before = Post(tmp_path / "home", openai_server.base_url, access=OPEN)
    await before.open()
    await overhear(before, "the boiler leaks")
    await before.said("help", group="family", mentioned=True)
    await openai_server.until_arrived()
    await overhear(before, "said later")
    await before.close()
    openai_server.reset()

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, access=OPEN)
    await after.open()
    await after.until(lambda: after.pigeons.texts("family") == ["ok"])

    assert "the boiler leaks" in asked(openai_server, 0)
    assert "said later" not in asked(openai_server, 0)
    assert await after.rows("SELECT text FROM group_history") == [("said later",)]
    await after.close()


async def test_a_picture_is_named(post: Post) -> None:
    address = Address("test", "family", chat_type=ChatType.GROUP)
    picture = InboundMessage(address, "1", "test:user:9", "", media=(Media(MediaKind.IMAGE, "x"),))

    await post.db.write(
        partial(group_history.keep, session_key=FAMILY, message=picture, person=None, limit=5, received_ms=1)
    )
    given = await post.db.write(partial(group_history.give, session_key=FAMILY, run_id="r"))

    assert given == (OverheardLine("test:user:9", None, "[image]"),)


@pytest.mark.parametrize(("count", "kept"), [(99, 99), (100, 100), (101, 76), (125, 100), (126, 76)])
def test_a_group_has_at_most_a_hundred_turns_and_the_cut_moves_seldom(count: int, kept: int) -> None:
    items = [
        Item(Message(role, (TextBlock(str(number)),)), 1)
        for number in range(count)
        for role in (Role.USER, Role.ASSISTANT)
    ]

    assert len(last_turns(items, 100)) == 2 * kept
