from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.agent.compaction.test_compaction import SUMMARY
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
        ("/compact", "Nothing was summarised"),
        ("/context", "- AGENTS.md: "),
        ("/context detail", "prompt (full)"),
        ("/levitate", "There is no command /levitate"),
        ("/statis", "Did you mean /status?"),
        ("/help@assistant_bot", "/whoami"),
        ("  /whoami  ", "You are Me"),
    ],
)
async def test_a_command_is_answered_without_a_model(
    post: Post, openai_server: OpenAIServer, text: str, told: str
) -> None:
    receipt = await post.said(text)
    await post.until(lambda: told in "".join(post.pigeons.texts()))

    assert told in (receipt.reply or "")
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
    assert "/model:" not in (shown.reply or "")
    assert post.sessions.get("agent:main:test:direct:8") is None


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
    before = post.sessions.get("agent:main:main")

    await post.said("/new hello")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    after = post.sessions.get("agent:main:main")
    assert before is not None
    assert after is not None
    assert before.session_id != after.session_id
    assert "remember me" not in str(openai_server.requests()[-1]["body"]["messages"])


async def test_compact_summarises_with_what_was_asked_of_the_summary(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.rule("Summarise this part", SUMMARY)
    for at in range(3):
        await post.said(f"({at}) " + "word " * 300)
        await post.until(lambda at=at: len(post.pigeons.texts()) == at + 1)  # type: ignore[misc]

    receipt = await post.said("/compact keep the prices")

    # A slow summary goes on behind its answer.
    assert (receipt.reply or "").startswith(("Summarised ", "I am summarising"))
    await post.until(lambda: "keep the prices" in str(openai_server.requests()[-1]["body"]["messages"]))


async def test_compact_says_when_a_summary_failed_and_not_that_there_is_too_little(
    post: Post, openai_server: OpenAIServer
) -> None:
    openai_server.rule("Summarise this part", {"status": 400, "body": "no"})
    for at in range(3):
        await post.said(f"({at}) " + "word " * 300)
        await post.until(lambda at=at: len(post.pigeons.texts()) == at + 1)  # type: ignore[misc]

    receipt = await post.said("/compact")

    assert "no model gave a usable summary" in (receipt.reply or "")


async def test_compact_blames_no_model_for_what_is_no_fault_of_one(post: Post) -> None:
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    await post.sessions.patch("agent:main:main", model="gone/model")

    receipt = await post.said("/compact")

    assert "There is no model gone/model" in (receipt.reply or "")
    assert "summary" not in (receipt.reply or "")


async def test_what_follows_new_is_the_first_message_of_the_conversation(
    post: Post, openai_server: OpenAIServer
) -> None:
    await post.said("remember me")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    receipt = await post.said("/new test/other hello there", "n1")
    again = await post.said("/new test/other hello there", "n1")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    body = openai_server.requests()[-1]["body"]
    assert receipt.run_id is not None
    assert again.duplicate
    assert body["model"] == "other"
    assert "hello there" in str(body["messages"][-1])
    assert "/new" not in str(body["messages"])
    assert "remember me" not in str(body["messages"])
    assert post.pigeons.texts() == ["ok", "ok"]


async def test_a_directive_holds_for_its_message_and_the_model_never_sees_it(
    post: Post, openai_server: OpenAIServer
) -> None:
    await post.said("/think high /model test/other what is 6 times 7?")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    await post.said("and 6 times 8?")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    first, second = (request["body"] for request in openai_server.requests())
    assert (first["model"], first["reasoning_effort"]) == ("other", "high")
    assert second["model"] == "model"
    assert "reasoning_effort" not in second
    assert "/think" not in str(second["messages"])
    assert "what is 6 times 7?" in str(first["messages"][-1])


async def test_directives_alone_are_kept_and_acknowledged(post: Post, openai_server: OpenAIServer) -> None:
    receipt = await post.said("/think low /verbose on")
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    session = post.sessions.get("agent:main:main")
    assert session is not None
    assert (session.thinking, session.verbose) == ("low", "on")
    assert "/think of this conversation: low" in (receipt.reply or "")
    assert "/verbose of this conversation: on" in (receipt.reply or "")
    assert openai_server.requests()[-1]["body"]["reasoning_effort"] == "low"


async def test_a_shortcut_inside_a_message_is_answered_at_once_and_the_rest_goes_on(
    post: Post, openai_server: OpenAIServer
) -> None:
    receipt = await post.said("hey /whoami how are you?")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    assert receipt.run_id is not None
    assert "You are Me (test:user:7)." in post.pigeons.texts()
    assert "hey how are you?" in str(openai_server.requests()[-1]["body"]["messages"][-1])


async def test_a_directive_of_somebody_without_the_right_is_text(post: Post, openai_server: OpenAIServer) -> None:
    await post.said("/model test/other", who="9")
    await post.said("hi /think high /model test/other", who="9")
    await post.until(lambda: len(post.pigeons.texts("9")) == 2)

    body = openai_server.requests()[-1]["body"]
    assert body["model"] == "model"
    assert "reasoning_effort" not in body
    assert "hi /think high /model test/other" in str(body["messages"][-1])


async def test_an_owner_chooses_for_a_group_and_others_do_not(post: Post, openai_server: OpenAIServer) -> None:
    mine = await post.said("/send off", group="family", mentioned=True)
    annas = await post.said("/send on", who="8", group="family", mentioned=True)
    private = await post.said("/export", group="family", mentioned=True)

    session = post.sessions.get("agent:main:test:group:family")
    assert session is not None
    assert session.send == "off"
    assert "off" in (mine.reply or "")
    assert "owner" in (annas.reply or "")
    assert "direct chat" in (private.reply or "")


async def test_a_model_is_found_by_a_part_of_its_name(post: Post) -> None:
    one = await post.said("/model othe")
    several = await post.said("/model test")
    none = await post.said("/model zzzz")

    assert "test/other" in (one.reply or "")
    assert "This conversation now uses test/model." in (several.reply or "")
    assert "no model zzzz" in (none.reply or "")


async def test_stop_says_how_many_messages_it_dropped(post: Post, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "on and on"}, {"hold": "never"}])
    await post.said("talk")
    await openai_server.until_arrived()
    await post.said("one")
    await post.said("two")

    stopped = await post.said("/stop")

    assert stopped.reply == "Stopped. Messages that waited and are dropped: 2"


@pytest.mark.parametrize(("language", "word"), [("en", "refused"), ("zh-CN", "密钥被拒绝")])
@pytest.mark.parametrize("chosen", ["", "/model test/model", "/model test/model@default"])
async def test_each_answer_of_another_model_says_so_in_chat_and_the_commands_agree(
    post: Post, openai_server: OpenAIServer, language: str, word: str, chosen: str
) -> None:
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "sk-test-not-it", "models": ["model"]}
    providers = {"test": provider, "spare": provider}
    post.models.configure(
        {"default": "test/model", "fallbacks": ["spare/model"], "providers": providers, "retry": {"attempts": 1}}
    )
    post.settings = replace(post.settings, language=language)
    refused = {"status": 401, "body": {"error": {"message": "Invalid API key"}}}
    openai_server.queue(refused, "one", *([refused, "two"] if chosen else ["two"]))
    if chosen:
        await post.said(chosen)

    def answers() -> list[str]:
        return [text for text in post.pigeons.texts() if text.startswith(("one", "two"))]

    await post.said("hello")
    await post.until(lambda: len(answers()) == 1)
    await post.said("again")
    await post.until(lambda: len(answers()) == 2)
    model, status = [(await post.said(each)).reply or "" for each in ("/model", "/status")]

    for answer, begins in zip(answers(), ("one", "two"), strict=True):
        assert answer.startswith(f"{begins}\n\n⚠️ {chosen.removeprefix('/model ') or 'test/model'} ")
        assert "spare/model" in answer
    warnings = [line for told in (model, status) for line in told.splitlines() if line.startswith("⚠️")]
    assert len(warnings) == 2
    assert len(set(warnings)) == 1
    assert word in warnings[0]
    assert "spare/model" in warnings[0]


async def test_a_model_that_its_provider_does_not_list_is_refused_with_the_nearest(
    post: Post, openai_server: OpenAIServer
) -> None:
    openai_server.models = [{"id": "qwen3:8b"}, {"id": "llama4:latest"}, {"id": "claude-opus-5-20260901"}]
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "sk-test-not-it"}
    post.models.configure({"default": "test/qwen3:8b", "providers": {"test": provider}})

    refused = [(await post.said(f"/model test/{each}")).reply or "" for each in ("qwen3:9b", "nonsense")]
    session = post.sessions.get("agent:main:main")
    taken = [(await post.said(f"/model test/{each}")).reply or "" for each in ("llama4", "claude-opus-5", "qwen3:8b")]

    assert "Did you mean test/qwen3:8b?" in refused[0]
    assert all(f"test/{each['id']}" in refused[1] for each in openai_server.models)
    assert session is None or session.model is None
    assert [each.rpartition("test/")[2] for each in taken] == ["llama4.", "claude-opus-5.", "qwen3:8b."]
