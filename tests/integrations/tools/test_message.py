"""The tool `message`, over a real inbox and outbox."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_messages import AgentMessages
from hub.core.context import Authority
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.contract import Address, ButtonPressed, ChannelLimits, Delivery, DeliveryState, MediaKind
from integrations.tools.message.tool import message_tool, why_ask
from tests.messaging.post import OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer


@dataclass
class Parrots(Pigeons):
    """A channel with edits, reactions and buttons."""

    limits: ChannelLimits = field(
        default_factory=lambda: ChannelLimits(caption=100, media=frozenset({MediaKind.IMAGE}), buttons=2)
    )
    done: list[tuple[str, ...]] = field(default_factory=list)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        self.done.append(("edit", platform_id, text))
        return Delivery(DeliveryState.DELIVERED)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        self.done.append(("react", platform_id, emoji or ""))
        return Delivery(DeliveryState.DELIVERED)


@pytest.fixture
async def parrots(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url, Parrots(), access=AccessPolicy(dm=DmPolicy.OPEN))
    addresses = Addresses(post.db, lambda: post.people, post.channels)
    post.tools.register(message_tool(AgentMessages(post.db, post.outbox, addresses, post.workspaces)))
    await post.open()
    yield post
    await post.close()


async def results(post: Post, server: OpenAIServer, *calls: dict[str, Any]) -> list[str]:
    """Have the agent make these calls for one message, and return the results."""
    server.queue(*({"tool_call": {"name": "message", "arguments": each}} for each in calls), "NO_REPLY")
    await post.said("do it", "m1")
    await post.until(lambda: len(server.requests()) == len(calls) + 1)
    messages = server.requests()[-1]["body"]["messages"]
    return [each["content"] for each in messages if each["role"] == "tool"]


async def test_it_sends_to_the_conversation_and_tells_the_ids(parrots: Post, openai_server: OpenAIServer) -> None:
    workspace = parrots.agents.default().workspace
    workspace.mkdir(exist_ok=True)
    (workspace / "a.png").write_bytes(b"png")

    sent, reacted, edited = await results(
        parrots,
        openai_server,
        {"action": "reply", "text": "Look", "media": ["a.png"], "buttons": ["Yes", "No"]},
        {"action": "react", "emoji": "👍"},
        {"action": "edit", "message_id": "1", "text": "Look here"},
    )

    assert json.loads(sent) == {"state": "sent", "message_ids": ["1"]}
    assert json.loads(reacted)["state"] == json.loads(edited)["state"] == "sent"
    (message,) = parrots.pigeons.sent
    assert (message.text, message.reply_to, len(message.media)) == ("Look", "m1", 1)
    assert [button.label for row in message.buttons for button in row] == ["Yes", "No"]
    assert parrots.pigeons.done == [("react", "m1", "👍"), ("edit", "1", "Look here")]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            {"action": "poll", "question": "Tea?", "options": ["a", "b"]},
            "cannot do this: poll. test can: send, reply",
        ),
        ({"action": "send", "text": "x", "buttons": ["a", "b", "c"]}, "3 buttons"),
        ({"action": "send", "text": "x", "media": ["../secrets.yaml"]}, "there is no file"),
        ({"action": "send"}, "expected the text to send"),
        ({"action": "edit", "message_id": "99", "text": "x"}, "was not sent to this chat"),
        ({"action": "send", "text": "x", "to": "8"}, "to: the channel is missing"),
        ({"action": "send", "text": "x", "channel": "nowhere", "to": "8"}, "there is no channel"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_the_reason(
    parrots: Post, openai_server: OpenAIServer, call: dict[str, Any], told: str
) -> None:
    (result,) = await results(parrots, openai_server, call)

    assert told in result
    assert parrots.pigeons.sent == []


async def test_what_answers_a_pressed_button_or_the_rest_of_a_command_is_about_the_message_itself(
    parrots: Post, openai_server: OpenAIServer
) -> None:
    assert isinstance(parrots.pigeons, Parrots)
    about = [{"action": "react", "emoji": "👍"}, {"action": "reply", "text": "Yes."}]
    await results(parrots, openai_server, {"action": "send", "text": "Tea?", "buttons": ["Tea"]})
    sent = parrots.pigeons.sent[0]
    value = sent.buttons[0][0].value

    def asked(times: int) -> bool:
        return len(openai_server.requests()) == times

    for number, word in enumerate(("press", "/new"), 1):
        openai_server.queue(*({"tool_call": {"name": "message", "arguments": each}} for each in about), "NO_REPLY")
        assert parrots.pigeons.receive is not None
        if word == "press":
            await parrots.pigeons.receive(ButtonPressed(sent.address, "e1", "test:user:7", message_id="1", value=value))
        else:
            await parrots.said("/new hello", "m2")
        await parrots.until(partial(asked, 2 + 3 * number))
        await parrots.all_answered()

    assert parrots.pigeons.done == [("react", "1", "👍"), ("react", "m2", "👍")]
    assert [each.reply_to for each in parrots.pigeons.sent if each.text == "Yes."] == ["1", "m2"]


async def test_an_owner_may_send_to_another_chat(parrots: Post, openai_server: OpenAIServer) -> None:
    await results(parrots, openai_server, {"action": "send", "text": "Dinner", "channel": "test", "to": "8"})

    assert parrots.pigeons.texts("8") == ["Dinner"]


@pytest.mark.parametrize(
    ("authority", "arguments", "asks"),
    [
        (OWNER, {"action": "send", "channel": "test", "to": "8"}, False),
        (OWNER.narrow(tainted=True), {"action": "send", "channel": "test", "to": "8"}, True),
        (OWNER.narrow(tainted=True), {"action": "send", "thread": "8"}, True),
        (OWNER.narrow(tainted=True), {"action": "send"}, False),
        (OWNER.narrow(tainted=True), {"action": "delete"}, True),
        (Authority("peer:test:user:8"), {"action": "send", "channel": "test", "to": "9"}, True),
        (Authority("peer:test:user:8"), {"action": "send"}, False),
    ],
)
def test_leaving_the_conversation_on_anothers_word_asks_the_owner(
    authority: Authority, arguments: dict[str, Any], asks: bool
) -> None:
    assert (why_ask(arguments, authority) is not None) is asks


async def test_a_name_is_resolved_and_asked_about_when_two_fit(parrots: Post, openai_server: OpenAIServer) -> None:
    await parrots.said("NO_REPLY please", who="8")
    await parrots.said("NO_REPLY please", who="9", sender_name="Carl")
    await parrots.said("NO_REPLY please", who="10", sender_name="Carl")
    await parrots.said("NO_REPLY please", who="11", sender_name="Anna")
    await parrots.all_answered()
    parrots.pigeons.sent.clear()
    before = len(openai_server.requests())
    calls = [{"action": "send", "text": "Dinner", "to": who} for who in ("Anna", "test:anna", "Carl", "Dora")]
    openai_server.queue(*({"tool_call": {"name": "message", "arguments": each}} for each in calls), "NO_REPLY")
    await parrots.said("tell them")
    await parrots.until(lambda: len(openai_server.requests()) == before + len(calls) + 1)
    messages = openai_server.requests()[-1]["body"]["messages"]
    *_, anna, anna_there, carl, dora = [each["content"] for each in messages if each["role"] == "tool"]

    assert [each.address.peer for each in parrots.pigeons.sent] == ["8", "8"]  # and not who only calls themselves so
    assert '"sent"' in anna
    assert '"sent"' in anna_there
    assert "could be Carl (test:10), or Carl (test:9)" in carl
    assert "no chat is called 'Dora'" in dora
