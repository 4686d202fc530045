"""Hooks around subagents: before one begins, when it began and ended, and where its result goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hub.core.errors import Forbidden, InvalidRequest
from hub.hooks.contract import SubagentSpawning
from hub.hooks.registry import Hook
from tests.agent.subagents.test_subagents import Delegating
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S


def on(post: Delegating, name: str, handler: Callable[[Any], Any]) -> None:
    post.hooks.add(Hook(name, handler, "integration test"))


async def test_a_hook_chooses_how_a_subagent_works_and_others_see_its_life(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    openai_server.rule("count", "Four.")
    openai_server.rule("Subagent results", "NO_REPLY")
    seen: list[tuple[str, str, str]] = []
    on(post, "subagent_spawning", lambda payload: {"model": "test/other", "label": "counter"})
    for name in ("subagent_spawned", "subagent_ended"):
        on(post, name, lambda payload: seen.append((payload.hook, payload.label, getattr(payload, "state", ""))))

    await post.spawn("count the cats", label="cats")
    await post.until(lambda: bool(post.heard()))
    await post.hooks.drain(LIMIT_S)

    assert openai_server.requests()[0]["body"]["model"] == "other"
    assert seen == [("subagent_spawned", "counter", ""), ("subagent_ended", "counter", "completed")]


async def test_a_hook_refuses_a_subagent(post: Delegating) -> None:
    def refuse(payload: SubagentSpawning) -> dict[str, str]:
        return {"block": f"{payload.task} is nothing for {payload.agent_id}"}

    on(post, "subagent_spawning", refuse)

    with pytest.raises(Forbidden, match="a hook refused the subagent: count is nothing for main"):
        await post.spawn("count")
    assert post.state() == {}


async def test_a_level_of_thinking_that_there_is_not_is_refused(post: Delegating) -> None:
    on(post, "subagent_spawning", lambda payload: {"thinking": "deeply"})

    with pytest.raises(InvalidRequest, match="a hook chose the thinking level 'deeply'"):
        await post.spawn("count")


@pytest.mark.parametrize(
    ("answer", "chats"),
    [
        ({"channel": "test", "peer": "8"}, {"7": [], "8": ["Four, says my helper."]}),
        ({"channel": "test", "peer": ""}, {"7": ["Four, says my helper."], "8": []}),
        ({"chat_type": "nonsense"}, {"7": ["Four, says my helper."], "8": []}),
    ],
)
async def test_a_hook_chooses_the_chat_in_which_results_are_told(
    post: Delegating, openai_server: OpenAIServer, answer: dict[str, str], chats: dict[str, list[str]]
) -> None:
    openai_server.queue("hello")
    openai_server.rule("count", "Four.")
    openai_server.rule("Subagent results", "Four, says my helper.")
    await post.said("hello")
    await post.until(lambda: post.pigeons.texts() == ["hello"])
    on(post, "subagent_delivery_target", lambda payload: answer)

    await post.spawn("count the cats", session=post.sessions.list()[0].key)
    await post.until(lambda: len(post.pigeons.texts()) + len(post.pigeons.texts("8")) == 2)

    assert {peer: post.pigeons.texts(peer)[peer == "7" :] for peer in ("7", "8")} == chats
