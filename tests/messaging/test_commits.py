"""How many commits one message costs, from its receipt until its answer is sent and nothing else is going on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub.messaging.contract import ChannelLimits
from tests.messaging.post import Pigeons, Post
from tests.servers.openai_server import OpenAIServer

MESSAGES = 5
SETTLED_S = 0.1


@pytest.mark.parametrize(("idempotent", "commits"), [(True, 3), (False, 3)])
async def test_a_message_alone_costs_few_commits(
    tmp_path: Path, openai_server: OpenAIServer, idempotent: bool, commits: int
) -> None:
    pigeons = Pigeons(limits=ChannelLimits(idempotent=idempotent))
    post = Post(tmp_path / "home", openai_server.base_url, pigeons)
    await post.open()
    await post.said("first")
    await post.until(lambda: len(pigeons.sent) == 1)
    await asyncio.sleep(SETTLED_S)
    before = post.db.status()["commits"]

    for number in range(MESSAGES):
        await post.said("hello")
        await post.until(lambda: len(pigeons.sent) == number + 2)  # noqa: B023  awaited before the next
        await asyncio.sleep(SETTLED_S)

    spent = (post.db.status()["commits"] - before) / MESSAGES
    # What was heard is a row of its own where transcripts are in the database too.
    assert spent < commits + post.db.holds_files + 0.5
    await post.close()
