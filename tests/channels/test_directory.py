"""Rooms and people are found by name, and conversations are called as their rooms are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.addresses import Addresses
from hub.core.context import Context
from hub.messaging.capabilities import SomeEntries
from hub.messaging.directory import LOOK_UP_LIMIT
from tests.channels.dingtalk_rig import DingTalkRig
from tests.channels.discord_rig import DiscordRig
from tests.channels.kit import ChannelHub, Heard, HurriedClock, Named, Rig
from tests.channels.msteams_rig import TeamsRig
from tests.channels.registry import RIGS, rigs_that
from tests.channels.slack_rig import SlackRig
from tests.messaging.post import OWNER
from tests.until import until


@pytest.fixture
async def channel(rig: Rig, tmp_path: Path, clock: HurriedClock, heard: Heard) -> AsyncIterator[Any]:
    channel = rig.channel(tmp_path, clock)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    await rig.says("hello", group=True)
    await until(lambda: bool(heard.inbound))
    yield channel
    await channel.stop()


@rigs_that(Named.LISTED)
async def test_a_room_is_found_by_a_part_of_its_name_in_any_case(channel: Any, rig: Rig) -> None:
    room = rig.address(group=True)

    found = await channel.look_up(rig.room_name[1:].upper(), 50)
    nobody = await channel.look_up("called so by nobody", 50)
    first = await channel.look_up(rig.room_name, 1)

    entry = next(each for each in found if each.peer == room.peer)
    assert (entry.chat_type, entry.name.removeprefix("#")) == (room.chat_type, rig.room_name.removeprefix("#"))
    assert list(nobody) == []
    assert len(first) == 1


@rigs_that()
async def test_who_wrote_is_in_the_directory_and_is_found_by_name(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello")
    await hub.until(lambda: bool(rig.shows()))
    addresses = Addresses(hub.db, lambda: hub.people, hub.channels)

    (known,) = await addresses.known_chats()
    target = await addresses.called("Me")

    assert (known.name, known.person) == ("Me", "me")
    assert target is not None
    assert target.address.peer == rig.address().peer == known.address.peer


@rigs_that(Named.HEARD)
async def test_a_conversation_is_called_as_its_room_is(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello", group=True)
    await hub.until(lambda: bool(rig.shows(group=True)))

    assert names(hub) == [rig.room_name]


@rigs_that(Named.RENAMED)
async def test_a_room_that_was_renamed_is_called_by_its_new_name(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello", group=True)
    await hub.until(lambda: len(rig.shows(group=True)) == 1)

    await rig.renames("The kitchen")
    await rig.says("and again", group=True)
    await hub.until(lambda: len(rig.shows(group=True)) == 2)

    assert names(hub) == ["The kitchen"]


@pytest.mark.parametrize(
    "rig", [each for each in RIGS if each().listed_person], ids=lambda each: each().name, indirect=True
)
async def test_who_never_wrote_is_written_to_by_the_name_that_the_platform_lists(hub: ChannelHub, rig: Rig) -> None:
    addresses = Addresses(hub.db, lambda: hub.people, hub.channels)

    target = await addresses.called(rig.listed_person.upper())
    assert target is not None
    await hub.outbox.send(target.address, "hello", Context(OWNER))

    await hub.until(lambda: rig.shows() == ["hello"])
    assert await hub.rows("SELECT id FROM inbox") == []


def crowd(rig: Any) -> None:
    """Let a platform have more people of one name than it tells, of whom some may not be written to."""
    match rig:
        case DingTalkRig():
            rig.server.names |= {f"u{each}": "Clara" for each in range(21)}
        case DiscordRig():
            robot = {"user": {"id": "1", "username": "Clara", "bot": True}}
            rig.server.members += [robot, *({"user": {"id": f"2{each}", "username": "Clara"}} for each in range(50))]
        case SlackRig():
            rig.server.people += [{"id": f"U{each}", "name": "clara", "deleted": each > 0} for each in range(30)]
        case TeamsRig():
            rig.server.roster += [{"id": f"29:{each}", "name": "Clara"} for each in range(6)]


@pytest.mark.parametrize(
    "rig", [DingTalkRig, DiscordRig, SlackRig, TeamsRig], ids=lambda each: each().name, indirect=True
)
async def test_a_directory_that_tells_some_of_its_names_says_so(channel: Any, rig: Rig) -> None:
    few = await channel.look_up("Ada", LOOK_UP_LIMIT)
    crowd(rig)

    found = await channel.look_up("Clara", LOOK_UP_LIMIT)

    assert not isinstance(few, SomeEntries)
    assert 0 < len(found) < LOOK_UP_LIMIT
    assert isinstance(found, SomeEntries)


def names(hub: ChannelHub) -> list[str | None]:
    """Return the names of the conversations."""
    return [each.name for each in hub.sessions.list()]
