"""Whoever only a platform's directory lists is written to, unless somebody else could be meant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hub.automation.services.addresses import Addresses
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.messaging.access.access import AccessPolicy
from hub.messaging.capabilities import DirectoryEntry, SomeEntries
from hub.messaging.contract import Address, ChannelLimits, ChatType
from hub.messaging.directory import LOOK_UP_LIMIT
from hub.security.people import People, Person
from tests.messaging.post import Pigeons, Post
from tests.servers.openai_server import OpenAIServer

ANNA = DirectoryEntry("U1", "Clara")


@dataclass
class Listing(Pigeons):
    """A platform that lists people and rooms."""

    name: str = "slack"
    entries: Sequence[DirectoryEntry] = (ANNA,)
    fails: bool = False
    is_cut: bool = False
    limits: ChannelLimits = field(default_factory=ChannelLimits)

    async def look_up(self, query: str, limit: int) -> Sequence[DirectoryEntry]:
        if self.fails:
            raise Unavailable("it is down")
        found = [each for each in self.entries if query.casefold() in each.name.casefold()][:limit]
        return SomeEntries(found) if self.is_cut else found


BEGINNERS = ChannelLimits(people_begin=True)
MANY = [ANNA, *(DirectoryEntry(f"V{each}", f"Clara {each}") for each in range(LOOK_UP_LIMIT))]


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url)
    await post.open()
    yield post
    await post.close()


async def called(post: Post, name: str, *channels: Listing, channel: str | None = None) -> Address | None:
    for each in channels:
        await post.channels.add(each, AccessPolicy())
    found = await Addresses(post.db, lambda: post.people, post.channels).called(name, channel)
    return None if found is None else found.address


@pytest.mark.parametrize("channel", [None, "slack"])
async def test_the_only_one_of_that_name_is_meant(post: Post, channel: str | None) -> None:
    others = Listing("discord", entries=[DirectoryEntry("7", "Clarabel")])

    assert await called(post, "clara", Listing(), others, channel=channel) == Address("slack", "U1")


async def test_who_is_listed_for_two_accounts_is_one_person(post: Post) -> None:
    first, second = Listing(), Listing(account="work")

    found = await called(post, "Clara", first, second)

    assert found is not None
    assert (found.channel, found.peer, found.account) == ("slack", "U1", "default")


@pytest.mark.parametrize(
    ("channels", "channel", "error", "told"),
    [
        ([Listing(), Listing("discord")], None, InvalidRequest, r"Clara \(discord:U1\), or Clara \(slack:U1\)"),
        ([Listing(entries=[ANNA, DirectoryEntry("U2", "clara")])], None, InvalidRequest, r"clara \(slack:U2\)"),
        (
            [Listing(entries=[ANNA, DirectoryEntry("C1", "#clara", ChatType.CHANNEL)])],
            None,
            InvalidRequest,
            r"#clara \(slack:C1\)",
        ),
        ([Listing(), Listing("discord", fails=True)], None, InvalidRequest, r"\(slack:U1\), but not all .* discord"),
        ([Listing(entries=MANY)], None, InvalidRequest, "not all names of slack are known"),
        (
            [Listing(), Listing("discord", entries=(), is_cut=True)],
            None,
            InvalidRequest,
            "not all names of discord are known",
        ),
        ([Listing("irc", entries=[DirectoryEntry("clara", "clara")])], None, InvalidRequest, "can take a nick"),
        ([Listing("msteams", limits=BEGINNERS)], None, NotFound, "has not written yet, and people have to write first"),
        ([Listing("telegram", entries=(), limits=BEGINNERS)], "telegram", NotFound, "people have to write first there"),
    ],
)
async def test_where_somebody_else_could_be_meant_nothing_is_sent_and_it_is_said_why(
    post: Post, channels: list[Listing], channel: str | None, error: type[HubError], told: str
) -> None:
    with pytest.raises(error, match=told):
        await called(post, "Clara", *channels, channel=channel)


async def test_a_nick_is_an_address_on_its_channel(post: Post) -> None:
    irc = Listing("irc", entries=[DirectoryEntry("clara", "clara")])

    assert await called(post, "irc:clara", irc) == Address("irc", "clara")


@pytest.mark.parametrize(
    "name", ["Zoë", "Zoe\N{COMBINING DIAERESIS}", "ＺＯË", "Zo\N{ZERO WIDTH SPACE}ë", "Zoë\N{WORD JOINER}"]
)
async def test_a_person_of_this_home_is_stood_in_for_by_nobody_in_a_directory(post: Post, name: str) -> None:
    post.people = People([Person("mother", "Zoë Berg", owner=True)], post.channels.is_home)

    with pytest.raises(NotFound, match="Zoë Berg has not written there"):
        await called(post, name, Listing(entries=[DirectoryEntry("U6", name)]))


async def test_a_room_is_meant_although_another_platform_cannot_be_asked(post: Post) -> None:
    rooms = Listing(entries=[DirectoryEntry("C1", "#kitchen", ChatType.CHANNEL)])

    found = await called(post, "kitchen", rooms, Listing("discord", fails=True))

    assert found is not None
    assert (found.peer, found.chat_type) == ("C1", ChatType.CHANNEL)
