"""The command /voice: with what the home speaks, and another voice for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.context import Authority, Context
from hub.messaging.commands.registry import CommandCall
from hub.messaging.contract import Address, InboundMessage
from integrations.models.voice.installed import LOCK, VoiceFolder
from tests.hub_fixture import HubFixture
from tests.integrations.models.voice.conftest import put
from tests.servers.openai_server import OpenAIServer

WRITTEN = "voice:\n  tts: en_US-joe-medium  # the calm one\n"


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    hub = HubFixture(
        tmp_path / "home",
        openai_server.base_url,
        files={"configuration.yaml": WRITTEN},
        integrations=("openai_compatible", "voice"),
    )
    folder = VoiceFolder(hub.home.path)
    for name in ("en_US-joe-medium", "de_DE-thorsten-medium"):
        put(folder, name)
    (folder.engines_path / "bin").mkdir(parents=True)
    for file in ("bin/python", LOCK):
        (folder.engines_path / file).touch()
    async with hub:
        yield hub


async def said(home: HubFixture, text: str, *, owner: bool = True) -> str:
    context = Context(Authority("me", "me", owner=owner))
    message = InboundMessage(Address("webchat", "chat"), "1", "webchat:user:me", f"/voice {text}")
    call = CommandCall("voice", text, message, "main", "agent:main:main", context, by_owner=owner)
    return (await home.commands.run(call)).text


async def test_it_says_what_speaks_and_lists_the_voices(home: HubFixture) -> None:
    assert await said(home, "") == "voice/auto speaks, with its usual voice. Others: /voice list"
    listed = await said(home, "list")
    assert "en_US-joe-medium" in listed
    assert "de_DE-thorsten-medium" in listed


async def test_an_owner_chooses_a_voice_which_is_written_and_counts_at_once(home: HubFixture) -> None:
    assert await said(home, "set de_DE-thorsten-medium") == (
        "From now on de_DE-thorsten-medium speaks, wherever nothing else is chosen."
    )

    assert "with de_DE-thorsten-medium" in await said(home, "status")
    text = (home.home.path / "configuration.yaml").read_text()
    assert text.startswith(f"{WRITTEN}  voice: de_DE-thorsten-medium\n")


@pytest.mark.parametrize(
    ("text", "owner", "told"),
    [
        ("set", True, "Name a voice"),
        ("set en_US-jo-medium!", True, "there is no voice en_US-jo-medium! (did you mean en_US-joe-medium?)"),
        ("set de_DE-thorsten-medium", False, "Only an owner"),
    ],
)
async def test_another_voice_is_not_chosen(home: HubFixture, text: str, owner: bool, told: str) -> None:
    assert told in await said(home, text, owner=owner)
    assert (home.home.path / "configuration.yaml").read_text().startswith(f"{WRITTEN}models:")
