"""What a channel says that it can do, it does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.ids import new_id
from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.contract import (
    Button,
    ButtonPressed,
    Channel,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
)
from tests.channels.kit import SOUND, Can, Heard, HurriedClock, Rig
from tests.channels.registry import rigs_that
from tests.until import until


@pytest.fixture
async def channel(rig: Rig, tmp_path: Path, clock: HurriedClock, heard: Heard) -> AsyncIterator[Any]:
    channel = rig.channel(tmp_path, clock)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    await rig.says("hello")
    await until(lambda: bool(heard.inbound))
    yield channel
    await channel.stop()


def skip_unless(channel: Channel, capability: Capability) -> None:
    if capability not in capabilities_of(channel):
        pytest.skip(f"{channel.name} does not claim it")


async def sent(channel: Channel, rig: Rig, text: str, **more: Any) -> str:
    """Send something to Ada; return the platform's id."""
    delivery = await channel.send(OutboundMessage(new_id(), rig.address(), text, **more))
    assert delivery.state is DeliveryState.DELIVERED, delivery
    return delivery.platform_ids[0]


@rigs_that()
async def test_a_probe_says_who_it_is(channel: Any, heard: Heard) -> None:
    found = await channel.probe()

    assert found["ok"] is True
    assert heard.account_id


@rigs_that()
async def test_text_is_sent(channel: Any, rig: Rig) -> None:
    await sent(channel, rig, "hello")

    await until(lambda: rig.shows() == ["hello"])


@rigs_that()
async def test_a_message_that_answers_one_is_sent(channel: Any, rig: Rig, heard: Heard) -> None:
    first = heard.inbound[0]
    assert isinstance(first, InboundMessage)

    await sent(channel, rig, "an answer", reply_to=first.message_id)
    await sent(channel, rig, "to what is gone", reply_to="999999")

    await until(lambda: rig.shows() == ["an answer", "to what is gone"])


@rigs_that()
async def test_a_message_is_edited(channel: Any, rig: Rig) -> None:
    skip_unless(channel, Capability.EDIT)
    id = await sent(channel, rig, "before")

    for _ in range(2):  # a text that is there already is no error
        delivery = await channel.edit(rig.address(), id, "after")
        assert delivery.state is DeliveryState.DELIVERED, delivery

    await until(lambda: rig.shows() == ["after"])


@rigs_that()
async def test_a_message_is_deleted(channel: Any, rig: Rig) -> None:
    skip_unless(channel, Capability.DELETE)
    id = await sent(channel, rig, "oops")

    delivery = await channel.delete(rig.address(), id)

    assert delivery.state is DeliveryState.DELIVERED, delivery
    await until(lambda: rig.shows() == [])


@rigs_that()
async def test_a_reaction_is_given_and_taken_back(channel: Any, rig: Rig, heard: Heard) -> None:
    skip_unless(channel, Capability.REACT)
    first = heard.inbound[0]
    assert isinstance(first, InboundMessage)

    await channel.react(rig.address(), first.message_id, "👍")
    await until(lambda: rig.reactions(first.message_id) == ["👍"])
    await channel.react(rig.address(), first.message_id, None)

    await until(lambda: rig.reactions(first.message_id) == [])


@rigs_that()
async def test_a_poll_is_opened(channel: Any, rig: Rig) -> None:
    skip_unless(channel, Capability.POLL)

    group = rig.polls_in_groups

    delivery = await channel.poll(OutboundPoll("poll-1", rig.address(group=group), "Tea or coffee?", ("tea", "coffee")))

    assert delivery.state is DeliveryState.DELIVERED, delivery
    await until(lambda: rig.shows(group=group) == ["Tea or coffee?"])


@rigs_that()
async def test_typing_is_seen(channel: Any, rig: Rig) -> None:
    skip_unless(channel, Capability.TYPING)

    await channel.typing(rig.address())

    await until(lambda: rig.typing_seen() > 0)


@rigs_that()
async def test_a_draft_leaves_one_message(channel: Any, rig: Rig) -> None:
    skip_unless(channel, Capability.DRAFT)

    await channel.draft(rig.address(), "draft-1", "An ans")
    await channel.draft(rig.address(), "draft-1", "An answer")
    await sent(channel, rig, "An answer.")

    await until(lambda: rig.shows() == ["An answer."])


@rigs_that()
async def test_each_kind_of_media_is_sent(channel: Any, rig: Rig, tmp_path: Path) -> None:
    skip_unless(channel, Capability.MEDIA)

    for kind in MediaKind:
        if kind in channel.limits.media:
            path = tmp_path / f"{kind}.bin"
            path.write_bytes(f"a {kind}".encode())
            await sent(channel, rig, "", media=(OutboundMedia(kind, str(path), "application/octet-stream", path.name),))

    await until(lambda: set(rig.uploads()) >= {f"a {kind}".encode() for kind in channel.limits.media})


@rigs_that(Can.VOICE)
async def test_a_voice_message_is_heard_and_sent_as_one(channel: Any, rig: Rig, heard: Heard, tmp_path: Path) -> None:
    await rig.speaks(SOUND)
    await until(lambda: len(heard.inbound) > 1)
    message = heard.inbound[-1]
    assert isinstance(message, InboundMessage)
    (media,) = message.media
    fetched = b"".join([piece async for piece in channel.fetch(message.address, media)])

    path = tmp_path / "answer.ogg"
    path.write_bytes(SOUND + b"answer")
    await sent(channel, rig, "", media=(OutboundMedia(MediaKind.AUDIO, str(path), rig.voice_type, voice=True),))

    assert (media.kind, media.voice, fetched) == (MediaKind.AUDIO, True, SOUND)
    await until(lambda: rig.voices() == [SOUND + b"answer"])


@rigs_that()
async def test_a_button_that_is_pressed_tells_its_value_however_long(channel: Any, rig: Rig, heard: Heard) -> None:
    skip_unless(channel, Capability.BUTTONS)
    value = "approve:" + "0123456789" * 9
    await sent(channel, rig, "May I?", buttons=((Button("Yes", value), Button("No", "no")),))

    await rig.presses("Yes")
    await until(lambda: isinstance(heard.inbound[-1], ButtonPressed))

    pressed = heard.inbound[-1]
    assert isinstance(pressed, ButtonPressed)
    assert pressed.value == value
