"""A database without room: nothing is acknowledged that is not stored, and it goes on by itself."""

from __future__ import annotations

import asyncio

import pytest

from hub.core.sql import SqlConnection
from hub.storage.errors import StorageError
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer

WORDS = "word " * 10_000
pytestmark = pytest.mark.sqlite_only


def fill(connection: SqlConnection) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")


def empty(connection: SqlConnection) -> None:
    connection.execute("PRAGMA max_page_count = 1000000")


async def test_a_message_that_cannot_be_stored_is_not_acknowledged_and_is_taken_later(post: Post) -> None:
    await post.db.write(fill)

    with pytest.raises(StorageError):
        await post.said(WORDS, "m1")
    await post.db.write(empty)
    receipt = await post.said(WORDS, "m1")
    await post.until(lambda: post.pigeons.texts() == ["ok"])

    assert (receipt.accepted, receipt.duplicate) == (True, False)


async def test_an_answer_that_cannot_be_stored_is_sent_once_there_is_room(
    post: Post, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "gate"}, {"text": WORDS}])
    await post.said("hello")
    await openai_server.until_arrived()
    await post.db.write(fill)
    openai_server.release("gate")
    await post.until(lambda: post.told("run_finished"))

    await asyncio.sleep(0)
    assert post.pigeons.texts() == []
    await post.db.write(empty)
    await post.until(lambda: sum(text.count("word") for text in post.pigeons.texts()) == 10_000)
    await post.said("again")
    await post.until(lambda: post.pigeons.texts()[-1] == "ok")

    assert len(openai_server.requests()) == 2
    assert await post.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    assert await post.rows("SELECT DISTINCT state FROM runs") == [("answered",)]
