"""Answers that are spoken too: which, in what words, and what happens when nothing speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_messages import AgentMessages
from hub.core.context import Context
from hub.core.errors import Unavailable
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.contract import ChannelLimits, Media, MediaKind, OutboundMedia
from hub.messaging.outbox.markup import spoken_words
from integrations.tools.speech.answers import SpokenAnswers
from integrations.tools.speech.schema import CONFIG_SCHEMA
from tests.hosting import host_on
from tests.messaging.post import Pigeons, Post
from tests.servers.openai_server import OpenAIServer

VOICE_NOTE = {"media": (Media(MediaKind.AUDIO, "f1", voice=True),)}


def recorded(media: OutboundMedia) -> str:
    return Path(media.path).read_bytes()[5:].decode()


def language_of(context: Context) -> str | None:
    return "nl" if context.authority.principal else None


class Talking(Post):
    """A post whose answers are spoken; a text of 'fail' has nothing that speaks."""

    def __init__(self, folder: Path, base_url: str, config: dict[str, Any], *media: MediaKind) -> None:
        pigeons = Pigeons(limits=ChannelLimits(caption=100, media=frozenset(media)))
        super().__init__(folder / "home", base_url, pigeons, access=AccessPolicy(dm=DmPolicy.OPEN))
        self.commands = self.messaging.commands
        self.agent_messages = AgentMessages(
            self.db, self.outbox, Addresses(self.db, lambda: self.people, self.channels), self.workspaces
        )
        self.spoken: list[str] = []
        self.answers = SpokenAnswers(host_on(self, "speech")[0], CONFIG_SCHEMA(config), self._speak, language_of)

    async def _speak(self, text: str, voice: str | None, language: str | None) -> bytes:
        self.spoken.append(text)
        assert language == "nl"
        if text == "fail":
            raise Unavailable("nothing speaks")
        return b"OggS " + text.encode()

    async def heard(self, number: int) -> list[str]:
        """Wait until so many messages were sent, and return what each says: aloud in brackets."""
        await self.until(lambda: len(self.pigeons.sent) >= number)
        await self.all_answered()
        return [f"({recorded(each.media[0])})" if each.media else each.text for each in self.pigeons.sent]


@pytest.fixture
def config() -> dict[str, Any]:
    return {}


@pytest.fixture
def media() -> tuple[MediaKind, ...]:
    return (MediaKind.AUDIO,)


@pytest.fixture
async def post(
    tmp_path: Path, openai_server: OpenAIServer, config: dict[str, Any], media: tuple[MediaKind, ...]
) -> AsyncIterator[Talking]:
    post = Talking(tmp_path, openai_server.base_url, config, *media)
    await post.open()
    await post.answers.open()
    yield post
    await post.close()


@pytest.mark.parametrize(
    ("config", "answer", "said", "heard"),
    [
        ({}, "Good evening.", {}, ["Good evening."]),
        ({}, "[[voice]]Good evening.", {}, ["Good evening.", "(Good evening.)"]),
        ({}, "Good evening.", VOICE_NOTE, ["Good evening."]),
        ({"answers": "inbound"}, "Good evening.", VOICE_NOTE, ["Good evening.", "(Good evening.)"]),
        ({"answers": "inbound"}, "Good evening.", {}, ["Good evening."]),
        ({"answers": "always"}, "Good *evening*.", {}, ["Good *evening*.", "(Good evening.)"]),
        ({"answers": "off"}, "[[voice]]Good evening.", {}, ["Good evening."]),
    ],
)
async def test_an_answer_is_spoken_where_the_home_wants_it(
    post: Talking, openai_server: OpenAIServer, answer: str, said: dict[str, Any], heard: list[str]
) -> None:
    openai_server.queue(answer)

    await post.said("hello", **said)

    assert await post.heard(len(heard)) == heard
    assert len(post.pigeons.sent) == len(heard)
    assert all(each.media[0].voice for each in post.pigeons.sent if each.media)


async def test_a_person_chooses_for_their_conversation_and_it_holds_after_a_restart(
    post: Talking, openai_server: OpenAIServer
) -> None:
    openai_server.queue("One.", "Two.")

    await post.said("/tts always")
    assert await post.heard(1) == ["Every answer here is spoken, beside the text."]
    post.answers._chosen = {}
    post.answers._chosen = await post.answers._storage.load({})
    await post.said("hello")
    assert await post.heard(3) == ["Every answer here is spoken, beside the text.", "One.", "(One.)"]
    await post.said("/tts default")
    await post.said("hello")

    assert (await post.heard(5))[3:] == [
        "Answers here are spoken when the assistant finds it fitting, or you ask for it.",
        "Two.",
    ]


@pytest.mark.parametrize("config", [{"answers": "always", "long_answers": 100}])
async def test_a_long_answer_is_said_in_short(post: Talking, openai_server: OpenAIServer) -> None:
    openai_server.queue("A long story. " * 20, "In short: **all** is well.")

    await post.said("hello")

    assert (await post.heard(2))[1] == "(In short: all is well.)"


@pytest.mark.parametrize("config", [{"answers": "always", "long_answers": 100}])
async def test_a_long_answer_is_cut_at_a_sentence_where_no_model_shortens_it(
    post: Talking, openai_server: OpenAIServer
) -> None:
    openai_server.queue("A long story. " * 20, {"status": 400, "error": {"message": "no"}})

    await post.said("hello")

    assert (await post.heard(2))[1] == f"({('A long story. ' * 7).strip()})"


@pytest.mark.parametrize("config", [{"answers": "always"}])
@pytest.mark.parametrize("answer", ["fail", "```\ncode\n```", "NO_REPLY"])
async def test_where_nothing_can_be_said_the_text_arrives_alone(
    post: Talking, openai_server: OpenAIServer, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.queue(answer, "And this.")

    await post.said("hello")
    await post.until(lambda: len(openai_server.requests()) == 1)
    await post.said("again")
    await post.until(lambda: bool(post.pigeons.sent) and bool(post.pigeons.sent[-1].media))

    assert [each.text for each in post.pigeons.sent if not each.media] == [
        *([answer] if answer != "NO_REPLY" else []),
        "And this.",
    ]
    assert ("nothing speaks" in caplog.text) is (answer == "fail")


@pytest.mark.parametrize("config", [{"answers": "always"}])
@pytest.mark.parametrize("media", [(MediaKind.IMAGE,)])
async def test_a_chat_app_without_recordings_gets_the_text_alone(post: Talking, openai_server: OpenAIServer) -> None:
    openai_server.queue("Good evening.")

    await post.said("hello")

    assert await post.heard(1) == ["Good evening."]
    assert post.spoken == []


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("# Title\n\n- **one**\n- `two`\n\n1. three", "Title\none\ntwo\n1. three"),
        (
            "Before.\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\nAfter.",
            "Before.\nAfter.",
        ),
        (
            "See [the page](https://example.org/a?b=c) or https://www.example.org/x/y?z=1 .",
            "See the page or example.org .",
        ),
        ("> quoted\n\nDone ✅ 🎉!", "quoted\nDone !"),
        ("它是 21 °C，50 %。", "它是 21 °C，50 %。"),
    ],
)
def test_words_for_the_ear_have_no_code_no_tables_and_no_addresses(written: str, spoken: str) -> None:
    assert spoken_words(written) == spoken
