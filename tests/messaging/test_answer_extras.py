"""What /verbose, /reasoning and /usage send beside an answer: for one message, or for a conversation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hub.core.context import Context
from hub.messaging.contract import Address, ChannelLimits
from hub.messaging.outbox.live_answers import LiveAnswers
from hub.messaging.outbox.replies import Replies, ReplyTarget
from tests.agent.house import TEXT
from tests.messaging.conftest import OPEN
from tests.messaging.post import OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S

LOOK = [{"tool_call": {"name": "look", "arguments": {"text": "into the attic"}}}]
THOUGHT = [{"thinking": "first this\nthen that"}, {"text": "the answer"}]
TARGET = ReplyTarget(Address("test", "7"), "main", "agent:main:main", Context(OWNER))


def _live(post: Post) -> LiveAnswers:
    replies = Replies(post.outbox, post.workspaces)
    return LiveAnswers(post.runner.parts, post.outbox, replies, lambda address, session_key: True)


@dataclass
class Sketching(Pigeons):
    """A platform that shows what is being written."""

    drafts: list[str] = field(default_factory=list)

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        self.drafts.append(text)


@pytest.fixture
async def sketching(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url, Sketching(), access=OPEN)
    await post.open()
    yield post
    await post.close()


async def test_a_line_is_sent_for_each_tool_call_where_that_is_wanted(post: Post, openai_server: OpenAIServer) -> None:
    post.tool("look", lambda call: "nothing", parameters=TEXT)
    openai_server.queue(LOOK, "done", LOOK, "done")

    await post.said("/verbose on look around")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    await post.said("look again")
    await post.until(lambda: len(post.pigeons.sent) == 3)

    assert post.pigeons.texts() == ['[look] text="into the attic"', "done", "done"]


@pytest.mark.parametrize(("waited_ms", "verbose", "lines"), [(5_000, "on", 1), (500, "on", 0), (5_000, "off", 0)])
async def test_a_message_that_waited_is_said_to_have(post: Post, waited_ms: int, verbose: str, lines: int) -> None:
    live = _live(post)
    due_ms = post.runner.parts.now_ms() - waited_ms
    live.watch("waited", TARGET, {"verbose": verbose}, due_ms)

    post.bus.fire("run_started", {"run_id": "waited"})
    await post.runs.drain(timeout_s=LIMIT_S)
    await post.all_answered()

    assert [re.sub(r"\d+", "N", text) for text in post.pigeons.texts()] == ["[queued for N ms]"] * lines


async def test_secrets_are_kept_out_of_those_lines(post: Post, openai_server: OpenAIServer) -> None:
    post.redactor.register("into the attic")
    post.tool("look", lambda call: "nothing", parameters=TEXT)
    openai_server.queue(LOOK, "done")

    await post.said("/verbose on")
    await post.said("look around")
    await post.until(lambda: "done" in post.pigeons.texts())

    assert "attic" not in str(post.pigeons.texts())
    assert any(text.startswith("[look]") for text in post.pigeons.texts())


async def test_thinking_is_sent_before_the_answer_where_that_is_wanted(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue(THOUGHT, THOUGHT)

    await post.said("/reasoning on why?")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    await post.said("why not?")
    await post.until(lambda: len(post.pigeons.sent) == 3)

    assert post.pigeons.texts() == ["Thinking:\n> first this\n> then that", "the answer", "the answer"]


async def test_thinking_is_shown_while_it_goes_on_where_the_chat_can(
    sketching: Post, openai_server: OpenAIServer
) -> None:
    openai_server.queue(THOUGHT)

    await sketching.said("/reasoning stream why?")
    await sketching.until(lambda: len(sketching.pigeons.sent) == 1)

    assert isinstance(sketching.pigeons, Sketching)
    assert sketching.pigeons.drafts == ["first this\nthen that"]
    assert sketching.pigeons.texts() == ["the answer"]


@pytest.mark.parametrize(("level", "shown"), [("tokens", "Tokens: "), ("full", "test/model, tokens: ")])
async def test_what_an_answer_used_stands_below_it(
    post: Post, openai_server: OpenAIServer, level: str, shown: str
) -> None:
    await post.said(f"/usage {level}")
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    await post.said("/usage off")
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 4)

    assert post.pigeons.texts()[1].startswith(f"ok\n\n{shown}")
    assert post.pigeons.texts()[3] == "ok"


async def test_where_nothing_is_to_be_sent_the_extras_are_not_either(post: Post, openai_server: OpenAIServer) -> None:
    post.tool("look", lambda call: "nothing", parameters=TEXT)
    openai_server.queue(LOOK, THOUGHT)
    await post.said("/verbose on")
    await post.said("/send off")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    await post.said("/reasoning on look around")
    await post.until(lambda: bool(post.told("run_finished")))
    await post.rows("SELECT 1")

    assert len(post.pigeons.sent) == 2


async def test_results_are_sent_too_where_all_is_wanted(post: Post, openai_server: OpenAIServer) -> None:
    post.pigeons.limits = ChannelLimits(text=4_000)
    post.tool("look", lambda call: "a ```box``` " + "x" * 2_000, parameters=TEXT)
    openai_server.queue(LOOK, "done")

    await post.said("/verbose full look around")
    await post.until(lambda: len(post.pigeons.sent) >= 3)

    called, result, answer = post.pigeons.texts()
    assert (called, answer) == ('[look] text="into the attic"', "done")
    assert result.startswith("[look] done\n````\na ```box``` xxx")
    assert result.endswith("x…\n````")
    assert len(result) < 1_600


async def test_thinking_between_tags_is_thinking(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "<thi"}, {"text": "nk>first this</th"}, {"text": "ink>\n\nthe answer"}])

    await post.said("/reasoning on why?")
    await post.until(lambda: len(post.pigeons.sent) >= 2)

    assert post.pigeons.texts() == ["Thinking:\n> first this", "the answer"]


async def test_a_line_says_that_a_conversation_was_summarised(post: Post) -> None:
    live = _live(post)
    live.watch("long", TARGET, {"verbose": "on"})
    done = {"messages": 40, "tokens_after": 900, "tokens_before": 9_000}

    post.bus.fire("compaction_finished", {"run_id": "long", "error": "no summary"})
    post.bus.fire("compaction_finished", {"run_id": None, **done})
    post.bus.fire("compaction_finished", {"run_id": "long", **done})
    await post.until(lambda: len(post.pigeons.sent) >= 1)

    assert post.pigeons.texts() == ["🧹 Summarised 40 earlier messages; about 900 tokens are left of 9000."]
