"""What a channel brings to be tested: a rig, which is its platform and the people on it.

To add a channel:

1. Write `tests/channels/<name>_rig.py` with a class that has everything `Rig` says: it starts the platform (a real
   server, or a double in `tests/servers`), makes channels that are logged in there, says things as people, reads what
   the chats show, and lets things go wrong. `telegram_rig.py` is an example.
2. Put it into `RIGS` in `tests/channels/registry.py`.

Then every test in `tests/channels` runs against it. `can` names what the platform has; tests of what it lacks are not
made. The people are ADA, who owns the home, and EVE, a stranger; there is one GROUP, with Ada and Eve in it.
Durations are the rig's to shorten: a channel should notice a dead connection within a second or two. Waits of the
channel's own must go through the clock it is given, which lets them pass at once.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from hub.core.clock import Clock
from hub.core.schema import Schema
from hub.messaging.access.access import AccessPolicy
from hub.messaging.capabilities import CanDelete, CanFind
from hub.messaging.contract import Address, Channel, ChannelState, Inbound, Receipt
from hub.messaging.outbox.outbound_policy import OutboundPolicy
from hub.messaging.outbox.outbox import WATCH_EVERY_S
from hub.messaging.outbox.outbox_rows import RowSource
from hub.messaging.schema import ACCESS_KEYS, access_policy
from hub.messaging.texts import say
from hub.security.people import People, Person
from tests.messaging.post import Pigeons, Post

ADA, EVE = "ada", "eve"
GROUP = "group"
ANSWER = "This is the answer."
LIMIT_S = 20.0
HOUR_S = 3_600.0
SETTLED = {"sent", "unknown", "dead"}
SOUND = b"OggS\0\2" + bytes(22) + b"OpusHead" + bytes(90) + b"OggS\0\4" + (3 * 48_000).to_bytes(8, "little") + bytes(40)
"""The beginning and the end of three seconds of Opus in an Ogg file."""


class Can(StrEnum):
    """What a platform has."""

    GROUPS = "groups"
    THREADS = "threads"
    EDITS = "edits"
    """People can change their messages, and the channel hears of it."""
    MEDIA = "media"
    OFFERS_AGAIN = "offers again"
    """What was not acknowledged comes again."""
    DEAF = "deaf"
    """Its connection can die without a sign."""
    BUTTONS = "buttons"
    VOTES = "votes"
    """It has polls."""
    REACTS = "reacts"
    """People can react to the assistant's messages, and the channel hears of it."""
    TWO_ACCOUNTS = "two accounts"
    """People can write to the second account too."""
    MALFORMED = "malformed"
    """What it sends can be no JSON."""
    VOICE = "voice"
    """People can record voice messages, and the assistant can send them."""
    MOVES = "moves"
    """A group can get another id."""
    GONE = "gone"
    """Others can delete the assistant's messages, and the channel learns that it cannot change them any more."""


class Trouble(StrEnum):
    """What can happen to a message that is sent."""

    RATE_LIMITED = "rate limited"
    REFUSED_FOR_NOW = "refused for now"
    """The platform itself says that it failed, and nothing was done."""
    PROXY_PAGE = "page of a proxy"
    """What stands before the platform says that it is not there, and nothing was done."""
    ANSWER_LOST = "answer lost"
    """It was done, and the connection broke."""
    MARKUP_REFUSED = "markup refused"
    FORBIDDEN = "forbidden"
    """It can never be sent."""
    REMOVED = "removed"
    """The assistant is not in the group any more, and the platform says so."""


class Named(StrEnum):
    """What a platform says of the names of rooms."""

    HEARD = "heard with names"
    """What is said in the group comes with the group's name."""
    RENAMED = "renamed"
    """The group can get another name, and the channel hears of it."""
    LISTED = "listed by name"
    """Rooms, or people too, can be looked up by name."""


class Forged(StrEnum):
    """A delivery to a webhook of the hub that its platform never made; what it says is no JSON."""

    UNSIGNED = "unsigned"
    WRONG = "wrong signature"
    FOREIGN = "signed by another"
    """With the key of another app or account."""
    CHANGED = "changed"
    """Signed by the platform, with another body since."""
    REPLAYED = "replayed"
    """Signed by the platform six minutes ago, where it signs the time."""
    TOO_LONG = "too long"


class Rig(Protocol):
    """A platform and its people; `who` is ADA or EVE, and speaks in GROUP when `group` says so.

    A rig that subclasses it need not say what its platform lacks.
    """

    name: str
    can: frozenset[Can]
    troubles: frozenset[Trouble]
    only_answers: bool = False
    """Whether its platform lets the assistant write only to who has just written, and a few times."""
    hears_deletions: bool = False
    """Whether it tells that a message of the assistant's was deleted, and does not refuse to change it."""
    has_login: bool = True
    """Whether there are credentials, which can be revoked."""
    is_in_process: bool = False
    """Whether its double is the client that a channel is given, which a hub in another process cannot be."""
    forges: frozenset[Forged] = frozenset()
    """The forgeries that can be tried, of a platform that delivers to a webhook of the hub."""

    polls_in_groups: bool = False
    """Whether only groups have polls."""

    passed_over: str | None = None
    """What comes in instead of a message whose reading was cut off again and again, where that is so."""

    named: frozenset[Named] = frozenset()
    room_name: str = ""
    """What the group is called, where it has a name."""

    listed_person: str = ""
    """What Ada is called in the platform's directory, where it lists people whom the assistant can write to first."""

    voice_type: str = "audio/ogg"
    """The type of sound that it plays as a voice message."""

    way: str = ""
    """How the platform reaches the hub, where there are several ways, each with a rig."""

    async def start(self) -> None:
        """Start the platform."""
        ...

    async def stop(self) -> None:
        """Stop it; connections are cut."""
        ...

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        """Return a channel to log in; each account is a login of its own, and keeps what it must in `folder`."""
        ...

    def section(self, account: str = "default") -> dict[str, Any]:
        """Return the account as `configuration.yaml` has it, for a whole hub in a process of its own."""
        ...

    async def prepare(self, home: Path) -> None:
        """Put into the home of a hub in a process of its own what it needs to reach the platform."""
        del home
        await asyncio.sleep(0)

    def hub_at(self, url: str, home: Path) -> None:
        """Let the platform deliver to a whole hub from now on, where it comes to the hub."""
        del url, home

    def writes_to(self, account: str) -> None:
        """Let people write to another account from now on, and see what it says."""
        raise AssertionError(f"{self.name} has one for them")

    async def until_back(self) -> None:
        """Wait until people see what the hub says, after it was started."""
        await asyncio.sleep(0)

    def identity(self, who: str) -> str:
        """Return the typed identity of a person."""
        ...

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        """Return where a person, the group, or a thread of the group is written to."""
        ...

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
    ) -> str:
        """Let somebody write, addressed to the assistant when `mention`; return the message's id."""
        ...

    async def says_in_disorder(self, *texts: str) -> None:
        """Let Ada write several messages that come in another order, where the platform can do that."""
        for text in reversed(texts):
            await self.says(text)

    async def says_again(self) -> None:
        """Offer the last message once more."""
        ...

    async def edits(self, id: str, text: str) -> None:
        """Let Ada change a message of hers."""
        raise AssertionError(f"{self.name} has none")

    async def speaks(self, sound: bytes) -> None:
        """Let Ada send a voice message that she recorded."""
        raise AssertionError(f"{self.name} has none")

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        """Let somebody press a button of the assistant's newest message."""
        raise AssertionError(f"{self.name} has none")

    async def votes(self, option: int) -> None:
        """Let Ada vote in the assistant's newest poll; options count from 0."""
        raise AssertionError(f"{self.name} has none")

    async def reacts(self, emoji: str) -> None:
        """Let Ada react to the assistant's newest message."""
        raise AssertionError(f"{self.name} has none")

    async def renames(self, name: str) -> None:
        """Let somebody give the group another name."""
        raise AssertionError(f"{self.name} has none")

    async def removes(self) -> None:
        """Let somebody put the assistant out of the group for good."""
        self.trouble(Trouble.REMOVED)

    async def moves(self) -> None:
        """Let the group get another id, under which it is from now on."""
        raise AssertionError(f"{self.name} has none")

    async def deletes(self, channel: CanDelete, address: Address, id: str) -> None:
        """Let somebody delete a message of the assistant's; most platforms do not tell the channel who did."""
        await channel.delete(address, id)

    def notices(self) -> list[str]:
        """Return the notices to those who pressed a button, beside the chat's messages."""
        raise AssertionError(f"{self.name} has none")

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        """Return the texts of the assistant's messages that the chat shows, as a person reads them."""
        ...

    def reactions(self, id: str) -> list[str]:
        """Return the assistant's reactions to a message of Ada's."""
        raise AssertionError(f"{self.name} has none")

    def uploads(self) -> list[bytes]:
        """Return the files that the assistant sent."""
        raise AssertionError(f"{self.name} has none")

    def voices(self) -> list[bytes]:
        """Return the sounds that the assistant sent as voice messages."""
        raise AssertionError(f"{self.name} has none")

    def attempts(self) -> int:
        """Return how many messages the platform was asked to send."""
        ...

    def fetches(self) -> int:
        """Return how many files the platform was asked for."""
        return 0

    def typing_seen(self) -> int:
        """Return how often the assistant was seen typing."""
        return 0

    def drafts(self) -> list[str]:
        """Return the drafts that Ada was shown; only asked of a channel that has some."""
        raise AssertionError(f"{self.name} has none")

    def trouble(self, *troubles: Trouble) -> None:
        """Let the next attempts to send go wrong, one after the other."""
        ...

    def goes_deaf(self) -> None:
        """Let what the channel listens to die without a sign, once; new connections are well."""
        raise AssertionError(f"{self.name} has none")

    async def delivers_forged(self, forged: Forged) -> int:
        """Post a forged delivery to the hub, as anybody can; return the status of the answer."""
        raise AssertionError(f"{self.name} has no webhook")

    def garbles(self) -> None:
        """Let what the channel hears next be no JSON, once."""
        raise AssertionError(f"{self.name} has none")

    def revokes(self, account: str = "default") -> None:
        """Let the credentials of an account be refused from now on, also where it is connected."""
        ...


class Double(Protocol):
    """A server of ours in place of a platform."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *_: object) -> None: ...


S = TypeVar("S", bound=Double)


class DoubleRig(Rig, Generic[S]):
    """A platform that is a double, one for each of two accounts."""

    def __init__(self, server: S, second: S) -> None:
        self.servers = {"default": server, "second": second}
        self.server = server
        self.last: dict[str, Any] = {}
        """What was said last."""

    def writes_to(self, account: str) -> None:
        self.server = self.servers[account]

    async def start(self) -> None:
        for server in self.servers.values():
            await server.__aenter__()

    async def stop(self) -> None:
        for server in self.servers.values():
            await server.__aexit__()


class HurriedClock(Clock):
    """A clock on which each wait is over at once, and its time has passed; upkeep, which never ends, is not hurried."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self.waits: list[float] = []

    def time(self) -> float:
        return super().time() + self._ahead

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        if seconds == WATCH_EVERY_S or seconds >= HOUR_S:
            await asyncio.sleep(seconds)
            return
        self.waits.append(seconds)
        self._ahead += max(0.0, seconds - 0.005)
        await asyncio.sleep(min(seconds, 0.005))


class Heard:
    """A receiver that keeps what it is given, for tests of a channel alone."""

    def __init__(self) -> None:
        self.inbound: list[Inbound] = []
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.account_id: str | None = None
        self._identity: str | None = None
        self._cursors: dict[str, str] = {}

    async def __call__(self, inbound: Inbound) -> Receipt:
        self.inbound.append(inbound)
        return Receipt(str(len(self.inbound)), accepted=True)

    def admits(self, inbound: Inbound) -> bool:
        return inbound.sender not in ("", *self.strangers)

    def identified(self, account_id: str | None, name: str | None = None) -> None:
        self._identity = account_id

    def connected(self) -> None:
        self.account_id = self._identity or self.account_id or "unknown"

    def progress(self) -> None: ...

    def disconnected(self, error: str, *, permanent: bool = False) -> None:
        self.errors.append(error)

    async def cursor(self, name: str = "position") -> str | None:
        return self._cursors.get(name)

    async def keep_cursor(self, value: str, name: str = "position") -> None:
        self._cursors[name] = value


class ChannelHub(Post):
    """A hub's messaging, from the inbox to the outbox, with a channel of the rig; the model is an instant script.

    Args:
        folder: The home.
        base_url: The model server.
        rig: The platform.
    """

    clock: HurriedClock

    def __init__(self, folder: Path, base_url: str, rig: Rig) -> None:
        clock = HurriedClock()
        self.folder = folder
        self.rig = rig
        channel = rig.channel(folder, clock)
        super().__init__(folder / "home", base_url, cast(Pigeons, channel), access=access_of(rig), clock=clock)
        owner = Person("me", "Me", owner=True, identities=(rig.identity(ADA),))
        self.people = People([owner], self.channels.is_home)

    async def open(self) -> None:
        await super().open()
        await self.until(lambda: self.state() is ChannelState.CONNECTED)

    async def log_out(self) -> None:
        """Stop the channel, as when the hub goes."""
        await self.channels.remove(self.rig.name)

    async def log_in(self, outbound: OutboundPolicy | None = None) -> Channel:
        """Start another channel on the same account; return it."""
        channel = self.rig.channel(self.folder, self.clock)
        await self.channels.add(channel, self._access, outbound=outbound)
        await self.until(lambda: self.state() is ChannelState.CONNECTED)
        return channel

    async def log_in_again(self) -> None:
        """Replace the channel by another on the same account."""
        await self.log_out()
        await self.log_in()

    async def add_account(self, account: str) -> Channel:
        """Log in another account."""
        channel = self.rig.channel(self.folder, self.clock, account)
        await self.channels.add(channel, self._access)
        await self.until(lambda: self.state(account) is ChannelState.CONNECTED)
        return channel

    async def close(self) -> None:
        for attached in self.channels.all():
            await self.channels.remove(attached.channel.name, attached.channel.account)
        await super().close()

    def state(self, account: str = "default") -> ChannelState:
        """How an account is doing."""
        attached = self.channels.get(self.rig.name, account)
        assert attached is not None
        return attached.status.state

    def repairs_of(self, source: str) -> list[str]:
        """Return the ids of the open repairs of a part."""
        return [repair.id for repair in self.repairs.all() if repair.source == source]

    def can_tell(self) -> bool:
        """Whether the platform shows a message with one id once, or has a history to look it up in."""
        return self.pigeons.limits.idempotent or isinstance(self.pigeons, CanFind)

    async def until_settled(self) -> str:
        """Wait until the one message of the outbox, beside a notice about it, needs no more work; return its state."""
        async with asyncio.timeout(LIMIT_S):
            while not (states := await self._states()) & SETTLED:  # noqa: ASYNC110  a worker of its own comes to it
                await asyncio.sleep(0.005)
        assert len(states) == 1, states
        return states.pop()

    async def _states(self) -> set[str]:
        return {row.state for row in await self.outbox.rows() if row.source is not RowSource.NOTICE}

    def notice(self) -> str:
        """The notice about an answer that may not have arrived."""
        return say("unsure.told" if self.pigeons.limits.buttons else "unsure.told_plain")

    async def until_shown(self, *texts: str, **where: Any) -> None:
        """Wait until a chat shows just these texts of the assistant."""
        await self.until(lambda: self.rig.shows(**where) == list(texts))

    async def turns(self) -> int:
        """Return how many messages an agent answered or will answer."""
        return len(await self.rows("SELECT id FROM inbox WHERE run_id IS NOT NULL"))


def access_of(rig: Rig) -> AccessPolicy:
    """Return the rules: the owner may, and whoever is in the group and addresses the assistant."""
    account: dict[str, Any] = {}
    if Can.GROUPS in rig.can:
        account = {"group_policy": "allowlist", "groups": [rig.address(group=True).peer]}
    return access_policy(Schema(dict(ACCESS_KEYS))(account))
