"""Native lists of commands: published to what can show them, again when they change, and never in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from hub.core.errors import Unavailable
from hub.messaging.capabilities import ListedCommand
from hub.messaging.commands.registry import ChatCommand, CommandCall
from hub.messaging.contract import Receiver
from tests.messaging.post import Pigeons, Post


@dataclass
class Listing(Pigeons):
    """A platform that lists commands."""

    name: str = "listing"
    published: list[Sequence[ListedCommand]] = field(default_factory=list)
    refuses: bool = False

    async def publish_commands(self, commands: Sequence[ListedCommand]) -> None:
        self.published.append(commands)
        if self.refuses:
            raise Unavailable("not now")

    async def start(self, receive: Receiver) -> None:
        self.receive = receive

    def connect(self) -> None:
        assert self.receive is not None
        self.receive.disconnected("gone")
        self.receive.identified("1", "bot")
        self.receive.connected()


async def _wave(call: CommandCall) -> str:
    return "hello"


@pytest.fixture
async def listing(post: Post) -> Listing:
    listing = Listing()
    await post.channels.add(listing)
    return listing


async def test_commands_are_published_once_the_channel_is_connected(post: Post, listing: Listing) -> None:
    assert listing.published == []

    listing.connect()
    await post.until(lambda: len(listing.published) == 1)

    about = "show agent, model, settings and use of this conversation"
    assert ListedCommand("status", about) in listing.published[0]


async def test_a_command_that_comes_or_goes_is_published(post: Post, listing: Listing) -> None:
    listing.connect()
    await post.until(lambda: len(listing.published) == 1)

    remove = post.commands.add(
        ChatCommand("wave", _wave, help="wave"),
        ChatCommand("Not-valid", _wave, help="not for a list"),
        ChatCommand("hidden", _wave, help="hidden", listed=False),
    )
    await post.until(lambda: len(listing.published) == 2)
    remove()
    await post.until(lambda: len(listing.published) == 3)

    names = [{each.name for each in commands} for commands in listing.published]
    assert names[1] - names[0] == {"wave"}
    assert names[2] == names[0]


async def test_a_failure_is_tried_again_at_the_next_connection(
    post: Post, listing: Listing, caplog: pytest.LogCaptureFixture
) -> None:
    listing.refuses = True
    listing.connect()
    await post.until(lambda: "did not take the list" in caplog.text)

    listing.refuses = False
    listing.connect()
    await post.until(lambda: len(listing.published) == 2)

    assert "not now" in caplog.text
