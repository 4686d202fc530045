"""Slash commands and messages as hooks see them."""

from __future__ import annotations

from typing import Any

from hub.hooks.registry import Hook
from tests.messaging.post import Post


async def test_each_command_and_each_message_is_observed(post: Post) -> None:
    seen: list[Any] = []
    for name in ("command:*", "message_received", "message_sent"):
        post.hooks.add(Hook(name, seen.append, "test"))

    await post.said("/model test/other")
    await post.until(lambda: {each.hook for each in seen} == {"command:*", "message_received", "message_sent"})

    told = {each.hook: each for each in seen}
    command, message, sent = told["command:*"], told["message_received"], told["message_sent"]
    assert (command.name, command.arguments, command.sender) == ("model", "test/other", "test:user:7")
    assert (command.session_key, command.from_owner) == ("agent:main:main", True)
    assert (message.text, message.channel, message.from_owner) == ("/model test/other", "test", True)
    assert (sent.channel, sent.message_kind) == ("test", "message")
