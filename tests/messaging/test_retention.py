from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.messaging.retention import prune
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer

FUTURE_MS = 10**14


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url)
    await post.open()
    yield post
    await post.close()


async def test_old_words_go_and_a_message_is_still_handled_once(post: Post, openai_server: OpenAIServer) -> None:
    first = await post.said("a secret wish", "m1")
    await post.said("/whoami", "m2")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    await post.until_counts(sent=2)

    await post.db.write(lambda connection: prune(connection, FUTURE_MS))

    assert "secret wish" not in str(await post.rows("SELECT * FROM inbox"))
    assert await post.rows("SELECT count(*) FROM outbox") == [(0,)]
    assert await post.rows("SELECT state, reply FROM runs") == [("answered", None)]
    again = await post.said("a secret wish", "m1")
    assert (again.duplicate, again.run_id) == (True, first.run_id)
    assert len(openai_server.requests()) == 1


async def test_refused_messages_go_altogether(post: Post) -> None:
    await post.said("", "m1")

    await post.db.write(lambda connection: prune(connection, FUTURE_MS))

    assert await post.rows("SELECT count(*) FROM inbox") == [(0,)]


async def test_what_is_still_to_be_answered_or_sent_stays(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "gate"}, {"text": "late"}])
    await post.said("hello", "m1")
    await openai_server.until_arrived()

    await post.db.write(lambda connection: prune(connection, FUTURE_MS))
    openai_server.release("gate")
    await post.until(lambda: post.pigeons.texts() == ["late"])

    assert await post.rows("SELECT state FROM inbox") == [("done",)]


async def test_what_is_young_stays(post: Post) -> None:
    await post.said("hello", "m1")
    await post.until_counts(sent=1)

    await post.db.write(lambda connection: prune(connection, 1))

    assert "hello" in str(await post.rows("SELECT message FROM inbox"))
    assert await post.rows("SELECT count(*) FROM outbox") == [(1,)]
