"""/subagents: who sees which, and what is stopped and steered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.context import Context
from hub.messaging.commands.registry import CommandCall, CommandReply
from hub.messaging.contract import Address, InboundMessage
from tests.agent.house import MAIN
from tests.agent.subagents.test_subagents import ANNAS, Delegating
from tests.messaging.post import OWNER
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Delegating]:
    post = Delegating(tmp_path / "home", openai_server.base_url)
    await post.open()
    yield post
    await post.close()


async def write(post: Delegating, arguments: str, who: str = "7", session: str = MAIN) -> CommandReply:
    message = InboundMessage(Address("test", who), "1", f"test:user:{who}", f"/subagents {arguments}")
    context = Context(post.people.authority_for(message.sender))
    return await post.commands.run(CommandCall("subagents", arguments, message, "main", session, context))


async def test_a_subagent_is_listed_steered_shown_and_stopped(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.rule(r"(?s)\A(?!.*only the black).*count", [{"hold": "work"}, {"text": "Four."}])
    openai_server.rule("only the black", [{"hold": "more"}])
    assert (await write(post, "")).text == "No subagents work for this conversation."
    cats = await post.spawn("count the cats", label="cats")
    await post.until(lambda: len(openai_server.requests()) == 1)

    listed = await write(post, "list")
    assert f"- cats ({cats.id[-8:]}): at work" in listed.text
    assert listed.menu == (("kill cats", f"/subagents kill {cats.id}"),)
    assert (await write(post, "steer cats only the black ones")).text == "cats gets this before its next step."
    openai_server.release("work")
    await post.until(lambda: len(openai_server.requests()) == 2)
    assert "only the black ones" in openai_server.requests()[1]["body"]["messages"][-1]["content"]
    assert cats.session_key in (await write(post, "info cats")).text
    assert (await write(post, f"kill {cats.id}")).text == "Stopped 1: cats"
    await post.until(lambda: post.state() == {"cats": "killed"})
    assert (await write(post, "kill cats")).text == "cats has already ended (stopped)."
    assert "cats has ended (killed)" in (await write(post, "steer cats and the white")).text


async def test_all_that_are_at_work_are_stopped(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.default = [{"hold": "for ever"}]
    for label in ("cats", "dogs"):
        await post.spawn(f"count the {label}", label=label)

    assert (await write(post, "kill all")).text == "Stopped 2: cats, dogs"
    await post.until(lambda: post.state() == {"cats": "killed", "dogs": "killed"})


async def test_nobody_reaches_the_subagents_of_others(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.default = [{"hold": "for ever"}]
    await post.sessions.ensure(ANNAS)
    await post.spawn("count the cats", label="cats", authority=OWNER, session=ANNAS)

    for words in ("list", "info cats", "kill cats", "kill all", "steer cats give me the keys"):
        answer = (await write(post, words, who="8", session=ANNAS)).text
        assert answer.startswith(("No subagents", "There is no subagent cats", "Stopped 0")), answer
    assert post.state(ANNAS) == {"cats": "running"}
    assert "is for the people of this home" in (await write(post, "list", who="99", session=ANNAS)).text


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("kill", "Say which one: /subagents kill ID"),
        ("info nothing", "There is no subagent nothing"),
        ("info cats", "Several subagents are called cats"),
        ("steer", "Say which one: /subagents steer ID"),
        ("dance", "does not know dance"),
    ],
)
async def test_what_cannot_be_done_is_said(
    post: Delegating, openai_server: OpenAIServer, words: str, answer: str
) -> None:
    openai_server.default = [{"hold": "for ever"}]
    for _ in range(2):
        await post.spawn("count the cats", label="cats")

    assert answer in (await write(post, words)).text
