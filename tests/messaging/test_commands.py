from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/help", "/status: show agent"),
        ("/commands", "/new: start"),
        ("/status", "Session: agent:main:main"),
        ("/model", "test/model"),
        ("/model test/other", "test/other"),
        ("/model nothing/at-all", "nothing"),
        ("/whoami", "You are Me (test:user:7)"),
        ("/stop", "Nothing is running."),
        ("/new", "A new conversation."),
        ("/reset", "A new conversation."),
        ("/levitate", "There is no command /levitate"),
        ("/help@assistant_bot", "/whoami"),
        ("  /whoami  ", "You are Me"),
    ],
)
async def test_a_command_is_answered_without_a_model(
    post: Post, openai_server: OpenAIServer, text: str, told: str
) -> None:
    receipt = await post.said(text)
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert told in (receipt.reply or "")
    assert told in post.pigeons.texts()[0]
    assert receipt.run_id is None
    assert openai_server.requests() == []
    assert await post.rows("SELECT state FROM inbox") == [("command",)]


@pytest.mark.parametrize("text", ["/etc/hosts has a line", "/ hello", "//", "1/2", "/Users/me", "what does /new do?"])
async def test_what_only_looks_like_a_command_goes_to_the_model(
    post: Post, openai_server: OpenAIServer, text: str
) -> None:
    await post.said(text)

    await post.until(lambda: post.pigeons.texts() == ["ok"])


async def test_a_command_for_owners_is_refused_to_others_and_not_shown_to_them(post: Post) -> None:
    refused = await post.said("/model test/other", who="8")
    shown = await post.said("/help", who="8")

    assert "owner" in (refused.reply or "")
    assert "/model" not in (shown.reply or "")
    assert post.house.sessions.get("agent:main:test:direct:8") is None


async def test_an_unknown_person_is_told_how_to_become_known(post: Post) -> None:
    receipt = await post.said("/whoami", who="9")

    assert "test:user:9" in (receipt.reply or "")
    assert "people:" in (receipt.reply or "")


async def test_commands_speak_the_language_of_the_home(post: Post) -> None:
    post.settings = replace(post.settings, language="zh-CN")

    assert "没有命令" in ((await post.said("/levitate")).reply or "")


async def test_stop_ends_the_run_and_tells_only_that(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "on and on"}, {"hold": "never"}])
    await post.said("talk")
    await openai_server.until_arrived()

    await post.said("/stop")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    await openai_server.until_ended()
    await post.said("and now?")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    assert post.pigeons.texts() == ["Stopped.", "ok"]


async def test_new_begins_another_transcript_and_forgets_what_waits(post: Post, openai_server: OpenAIServer) -> None:
    await post.said("remember me")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    before = post.house.sessions.get("agent:main:main")

    await post.said("/new")
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 3)

    after = post.house.sessions.get("agent:main:main")
    assert before is not None
    assert after is not None
    assert before.session_id != after.session_id
    assert "remember me" not in str(openai_server.requests()[-1]["body"]["messages"])
