"""Beginning another conversation: by command, by a word of one's own, with a model, and when the old one is stale."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.agent.flush.said import messages_since
from hub.core.clock import Clock
from hub.messaging.commands.model_names import model_of_part
from hub.sessions.reset import ResetPolicy, ResetRules
from tests.messaging.conftest import OPEN
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer

MAIN = "agent:main:main"


class LaterClock(Clock):
    """The clock of the machine, some time later."""

    def __init__(self) -> None:
        self.later_s = 0.0

    def time(self) -> float:
        return super().time() + self.later_s


@pytest.fixture
def clock() -> LaterClock:
    return LaterClock()


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer, clock: LaterClock) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url, access=OPEN, clock=clock)
    await post.open()
    yield post
    await post.close()


def said_to_model(server: OpenAIServer) -> str:
    return str(server.requests()[-1]["body"]["messages"])


async def test_a_message_to_a_stale_conversation_begins_another(
    post: Post, openai_server: OpenAIServer, clock: LaterClock
) -> None:
    post.sessions.configure(open_transcripts=8, reset=ResetRules(ResetPolicy(idle_minutes=60)))
    await post.said("remember the boiler")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    clock.later_s = 59 * 60
    await post.said("still there?")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    kept = said_to_model(openai_server)
    clock.later_s += 61 * 60
    await post.said("good morning")
    await post.until(lambda: len(post.pigeons.sent) == 3)

    assert "boiler" in kept
    assert "good morning" in said_to_model(openai_server)
    assert "boiler" not in said_to_model(openai_server)
    assert len(await post.sessions.transcripts.agents_by_id()) == 2


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Fresh start what is new?", "what is new?"),
        ("fresh start\nwhat is new?", "what is new?"),
        ("新对话 你好", "你好"),
        ("fresh starters are nice", "fresh starters are nice"),
    ],
)
async def test_a_trigger_begins_a_conversation_with_the_rest_of_the_message(
    post: Post, openai_server: OpenAIServer, text: str, left: str
) -> None:
    post.settings = replace(post.settings, reset_triggers=("fresh start", "新对话"))
    await post.said("remember the boiler")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    await post.said(text)
    await post.until(lambda: len(post.pigeons.sent) == 2)

    assert str(openai_server.requests()[-1]["body"]["messages"][-1]["content"]).endswith(f"\n\n{left}")
    assert ("boiler" in said_to_model(openai_server)) is (left == text)


@pytest.mark.parametrize("command", ["/new", "/reset", "/new test/other"])
async def test_a_new_conversation_without_a_message_is_greeted_by_the_model(
    post: Post, openai_server: OpenAIServer, command: str
) -> None:
    openai_server.queue("Hello! What shall we do?")

    receipt = await post.said(command)
    await post.until(lambda: post.pigeons.texts() == ["Hello! What shall we do?"])

    assert receipt.run_id is not None
    assert "Greet me in one short sentence." in said_to_model(openai_server)
    assert openai_server.requests()[-1]["body"]["model"] == ("other" if "other" in command else "model")


async def test_no_model_greets_strangers(post: Post, openai_server: OpenAIServer) -> None:
    receipt = await post.said("/new", who="9")

    assert receipt.reply == "A new conversation. The old one is kept."
    assert openai_server.requests() == []


async def test_the_offline_model_greets_nobody(post: Post) -> None:
    post.models.configure({"default": "offline"})

    receipt = await post.said("/new")

    assert receipt.reply == "A new conversation. The old one is kept."


async def test_new_takes_a_part_of_a_models_name(post: Post, openai_server: OpenAIServer) -> None:
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "sk-test-not-a-secret"}
    listed = [{"id": "model", "context_window": 32_768}, {"id": "deep-thought-2"}]
    post.models.configure({"default": "test/model", "providers": {"test": {**provider, "models": listed}}})

    await post.said("/new Thought hello there")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    session = post.sessions.get(MAIN)
    assert session is not None
    assert session.model == "test/deep-thought-2"
    assert str(openai_server.requests()[-1]["body"]["messages"][-1]["content"]).endswith("\n\nhello there")


@pytest.mark.parametrize(
    ("word", "model"),
    [
        ("opus", "a/claude-opus-4-6"),
        ("gpt-5-mini", "b/gpt-5-mini"),
        ("claude", None),
        ("open", None),
        ("what's", None),
        ("o", None),
        ("4-6", None),
    ],
)
def test_only_a_whole_part_that_one_model_has_names_it(word: str, model: str | None) -> None:
    refs = ["a/claude-opus-4-6", "a/claude-sonnet-4-6", "b/gpt-5-mini", "openrouter/auto"]

    assert model_of_part(word, refs) == model


async def test_the_words_that_ask_for_a_greeting_are_kept_as_nobodys(post: Post, openai_server: OpenAIServer) -> None:
    await post.said("/new")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    session = post.sessions.get(MAIN)
    assert session is not None
    greeted = (await post.sessions.open_transcript(session)).branch()
    await post.said("remember the boiler")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    branch = (await post.sessions.open_transcript(session)).branch()

    assert "Greet me" in said_to_model(openai_server)
    assert messages_since(greeted, None, 0).lines == ()
    assert [line.text for line in messages_since(branch, None, 0).lines] == ["remember the boiler", "ok"]
