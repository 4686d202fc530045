from __future__ import annotations

import pytest
from msgspec.structs import replace

from hub.core.errors import Unavailable
from hub.messaging.contract import Address, ChannelLimits, MediaKind
from hub.messaging.outbox.outbox_rows import RowSource
from hub.tools.contract import ToolCall, ToolResult
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer

ACT = {"tool_call": {"name": "act", "arguments": {"text": "x"}}}


async def test_a_silent_answer_reaches_nobody(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue("NO_REPLY", "heard")

    await post.said("one")
    await post.said("two")
    await post.until(lambda: post.pigeons.texts() == ["heard"])

    assert await post.rows("SELECT count(*) FROM outbox") == [(1,)]


async def test_directives_are_followed_and_not_shown(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue("[[reply_to_current]][[silent]]<think>hm</think>Here.")

    await post.said("hello", "m1")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    message = post.pigeons.sent[0]
    assert (message.text, message.reply_to, message.silent) == ("Here.", "m1", True)


async def test_thinking_of_which_only_the_end_is_marked_is_not_sent(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "They greet me.\n</th"}, {"text": "ink>\n\nHello!"}])

    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) >= 1)

    assert post.pigeons.texts() == ["Hello!"]
    assert post.transcript()[-1] == ("assistant", "Hello!")


async def test_in_a_group_an_answer_replies_to_its_message(post: Post) -> None:
    await post.said("hello", "m1", group="family", mentioned=True)
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert post.pigeons.sent[0].reply_to == "m1"


async def test_a_file_of_the_workspace_is_attached_and_no_other(post: Post, openai_server: OpenAIServer) -> None:
    post.pigeons.limits = ChannelLimits(text=400, caption=300, media=frozenset({MediaKind.IMAGE}))
    workspace = post.agents.default().workspace
    workspace.mkdir(exist_ok=True)
    (workspace / "chart.png").write_bytes(b"png")
    openai_server.queue(f"Look [[media:{workspace}/chart.png]] [[media:../../etc/passwd]] [[media:/etc/passwd]]")

    await post.said("draw")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    message = post.pigeons.sent[0]
    assert [media.path for media in message.media] == [str(workspace / "chart.png")]
    assert message.text.count("passwd is not attached") == 2


@pytest.mark.parametrize(
    ("name", "word", "voice"),
    [("note.ogg", "[[voice]]", True), ("note.ogg", "", False), ("chart.png", "[[voice]]", False)],
)
async def test_a_voice_message_is_audio_that_is_said_to_be_one(
    post: Post, openai_server: OpenAIServer, name: str, word: str, voice: bool
) -> None:
    post.pigeons.limits = ChannelLimits(text=400, caption=300, media=frozenset(MediaKind))
    workspace = post.agents.default().workspace
    workspace.mkdir(exist_ok=True)
    (workspace / name).write_bytes(b"content")
    openai_server.queue(f"{word} [[media:{name}]]")

    await post.said("let me have it")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    (media,) = post.pigeons.sent[0].media
    assert media.voice is voice


async def test_the_text_of_a_voice_message_goes_before_it(post: Post, openai_server: OpenAIServer) -> None:
    post.pigeons.limits = ChannelLimits(text=400, caption=300, media=frozenset(MediaKind))
    workspace = post.agents.default().workspace
    workspace.mkdir(exist_ok=True)
    (workspace / "note.ogg").write_bytes(b"content")
    openai_server.queue("Listen. [[voice]] [[media:note.ogg]]")

    await post.said("let me have it")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    assert [(each.text, len(each.media)) for each in post.pigeons.sent] == [("Listen.", 0), ("", 1)]


async def test_what_a_tool_sent_is_not_said_again(post: Post, openai_server: OpenAIServer) -> None:
    async def send(call: ToolCall) -> ToolResult:
        await post.outbox.send(
            Address("test", "7"), "The cake is done.", call.context, run_id=call.run_id, source=RowSource.TOOL
        )
        return ToolResult("sent")

    post.tool("act", send)
    openai_server.queue(ACT, "the cake  is done.", "other")

    await post.said("tell me")
    await post.said("and now")
    await post.until(lambda: "other" in post.pigeons.texts())

    assert post.pigeons.texts() == ["The cake is done.", "other"]


async def test_a_tool_that_failed_without_a_word_gets_one_line(post: Post, openai_server: OpenAIServer) -> None:
    async def fail(call: ToolCall) -> ToolResult:
        raise Unavailable("no oven")

    post.tool("act", fail)
    openai_server.queue(ACT, "<think>It failed.</think>")

    await post.said("bake")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert post.pigeons.texts() == ["I could not do that: the tool act failed."]


async def test_an_answer_carries_the_configured_prefix(post: Post, openai_server: OpenAIServer) -> None:
    post.outbox.configure(replace(post.outbox.settings, response_prefix="[{agent} {name}]"))

    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert post.pigeons.texts() == ["[main Homarus] ok"]
