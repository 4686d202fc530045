"""What tests of messaging share: a house with a channel, and who may talk through it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupPolicy, GroupSettings
from tests.messaging.outbox_bench import Bench, outbox_bench
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer

OPEN = AccessPolicy(dm=DmPolicy.OPEN, group=GroupPolicy.ALLOWLIST, groups={"family": GroupSettings()})


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url, access=OPEN)
    await post.open()
    yield post
    await post.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with outbox_bench(tmp_path) as bench:
        yield bench
