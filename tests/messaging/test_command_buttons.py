"""Menus of commands: buttons where the chat has them, which nobody but the hub can make."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hub.core.context import Context
from hub.core.ids import new_id
from hub.messaging.contract import Address, ButtonPressed, ChannelLimits, Receipt
from hub.tools.approval import Ask
from tests.messaging.conftest import OPEN
from tests.messaging.post import OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer


@dataclass
class ButtonChat:
    """A chat app with buttons."""

    post: Post

    async def pressed(self, value: str, who: str = "7", chat: str | None = None) -> Receipt:
        """Press a button."""
        assert self.post.pigeons.receive is not None
        address = Address("test", chat or who)
        return await self.post.pigeons.receive(
            ButtonPressed(address, new_id(), f"test:user:{who}", message_id="1", value=value)
        )

    def values(self) -> dict[str, str]:
        """The buttons of the last message, by label."""
        return {button.label: button.value for row in self.post.pigeons.sent[-1].buttons for button in row}


@pytest.fixture
async def chat(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[ButtonChat]:
    pigeons = Pigeons(limits=ChannelLimits(text=2_000, buttons=12))
    post = Post(tmp_path / "home", openai_server.base_url, pigeons, access=OPEN)
    await post.open()
    yield ButtonChat(post)
    await post.close()


async def test_a_command_offers_its_choices_as_buttons_and_a_pressed_one_is_the_command(chat: ButtonChat) -> None:
    asked = await chat.post.said("/think")
    await chat.post.until(lambda: len(chat.post.pigeons.sent) == 1)
    offered = chat.values()

    pressed = await chat.pressed(offered["high"])

    session = chat.post.sessions.get("agent:main:main")
    assert "high" in offered
    assert "1. /think off" in (asked.reply or "")
    assert "1. /think" not in chat.post.pigeons.sent[0].text
    assert session is not None
    assert session.thinking == "high"
    assert "high" in (pressed.reply or "")


async def test_the_same_choices_are_a_list_where_there_are_no_buttons(post: Post) -> None:
    await post.said("/think")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert "1. /think off\n2. /think minimal" in post.pigeons.sent[0].text
    assert post.pigeons.sent[0].buttons == ()


@pytest.mark.parametrize(
    "forged", ["/think high", "!/think high", "!AAAAAAAAAAAA/think high", "!", "", "yes", "!ä/new"]
)
async def test_a_button_that_the_hub_did_not_make_is_an_event_and_no_command(chat: ButtonChat, forged: str) -> None:
    receipt = await chat.pressed(forged)
    await chat.post.rows("SELECT 1")

    assert receipt.reply is None
    assert chat.post.sessions.get("agent:main:main") is None
    assert [told["value"] for told in chat.post.told("button_pressed")] == [forged]


async def test_a_button_holds_in_its_own_chat_and_for_those_who_may(chat: ButtonChat) -> None:
    await chat.post.said("/model")
    await chat.post.until(lambda: len(chat.post.pigeons.sent) == 1)
    value = chat.values()["test/other"]

    elsewhere = await chat.pressed(value, who="8")
    stranger = await chat.pressed(value, who="8", chat="7")

    assert elsewhere.reply is None
    assert "for an owner" in (stranger.reply or "")
    assert [told["value"] for told in chat.post.told("button_pressed")] == [value]


@pytest.mark.parametrize(("label", "approved"), [("Approve", True), ("Deny", False)])
async def test_what_needs_approval_is_answered_with_a_button(chat: ButtonChat, label: str, approved: bool) -> None:
    post = chat.post
    await post.said("/whoami")
    asking = post.tasks.spawn(
        post.approvals.ask(Ask("tool", "send", "why", {"to": "x"}, Context(OWNER).child(), "agent:main:main")),
        name="ask",
    )
    await post.until(lambda: len(post.pigeons.sent) == 2 and bool(post.pigeons.sent[-1].buttons))

    await chat.pressed(chat.values()[label])

    assert (await asking).approved is approved
