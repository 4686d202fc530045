"""A household's day in one conversation: a quiz, a voice note, a picture, an approval and a reminder, in this order."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.context import Context
from hub.messaging.contract import MediaKind
from hub.messaging.texts import say
from hub.tools.approval import Ask
from tests.channels.kit import SOUND, Can, Rig
from tests.channels.registry import rigs_that
from tests.channels.test_initiative import DUE_S, OWNER, Household
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S, LOOK_S, until

CAPITAL, CHOICES = "What is the capital of Germany?", ("Paris", "Berlin")
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
)


class Day(Household):
    """The household, and what its models say on that day."""

    def script(self, models: OpenAIServer) -> None:
        models.set_default("I did not expect that.")
        question = {"question": CAPITAL, "choices": CHOICES}
        models.rule("quiz me", {"tool_call": {"name": "ask_user", "arguments": {"questions": [question]}}})
        models.rule("quiz me", "Berlin is right.", tool_result='"answer": ?"Berlin"')
        self.sound = {"audio/ogg": SOUND, "audio/mpeg": b"\xff\xf3"}[self.rig.voice_type] + b"answer"
        models.speech.append({"audio": self.sound})
        models.rule("OggS", {"tool_call": {"name": "tts", "arguments": {"text": "I heard you."}}})
        models.rule("OggS", "NO_REPLY", tool_result="sent")
        models.rule(r"\[attached", "A dot. [[media:dot.png]]")
        models.rule("what is this", "NO_REPLY")  # where what is said beside a picture is a message of its own
        remind = {"action": "add", "at": "1s", "text": "Take the cake out."}
        models.rule("remind me", {"tool_call": {"name": "schedule", "arguments": remind}})
        models.rule("remind me", "I shall.", tool_result="added")
        self.hub.workspaces.ensure("main")
        (self.hub.workspaces.root("main").path / "dot.png").write_bytes(PICTURE)

    async def says(self, text: str, *shown: str, media: bytes | None = None) -> None:
        await self.rig.says(text, media=media)
        await self.until_shown(*shown)

    async def plays(self) -> None:
        """Answer a question, by a button where there are some."""
        await self.says("quiz me", CAPITAL)
        if Can.BUTTONS in self.rig.can:
            await self.rig.presses("Berlin")
        else:
            await self.rig.says("2")
        await self.until_shown("Berlin is right.")

    async def speaks(self) -> None:
        await self.rig.speaks(SOUND)
        await until(lambda: self.rig.voices() == [self.sound])

    async def shows(self, models: OpenAIServer) -> None:
        """Show a picture, and be shown one; nothing else is said before all of it is answered."""
        await self.says("what is this?", "A dot.", media=PICTURE)
        if MediaKind.IMAGE in self.limits.media:
            await until(lambda: PICTURE in self.rig.uploads())
        told = str([each["body"]["messages"] for each in models.requests()[-2:]])
        assert base64.b64encode(PICTURE).decode() in told
        async with asyncio.timeout(LIMIT_S):
            while await self.rows("SELECT 1 FROM inbox WHERE state IN ('received', 'queued')"):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)

    async def approves(self) -> None:
        ask = Ask("tool", "open the garage", "it rains", {}, Context(OWNER))
        asked = self.hub.tasks.spawn(self.hub.approvals.ask(ask), name="asks")
        await until(lambda: any("open the garage" in each for each in self.rig.shows()))
        await self.rig.presses(say("approval.approve"))
        async with asyncio.timeout(LIMIT_S):
            assert (await asked).approved

    async def is_reminded(self) -> None:
        await self.says("remind me of the cake", "I shall.")
        self.clock.put_forward(DUE_S)
        await self.until_shown("Take the cake out.")


@pytest.fixture
async def day(rig: Rig, tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Day]:
    day = Day(tmp_path, rig, openai_server.base_url)
    await day.start()
    yield day
    await day.stop()


@rigs_that()
async def test_a_day_goes_by_in_one_conversation(day: Day, rig: Rig, openai_server: OpenAIServer) -> None:
    day.script(openai_server)

    await day.plays()
    if Can.VOICE in rig.can:
        await day.speaks()
    if Can.MEDIA in rig.can:
        await day.shows(openai_server)
    if Can.BUTTONS in rig.can and not day.is_weak:
        await day.approves()
    if not (day.is_weak or rig.only_answers):
        await day.is_reminded()

    ((conversations,),) = await day.rows("SELECT count(DISTINCT session_key) FROM inbox WHERE session_key IS NOT NULL")
    assert conversations == 1
