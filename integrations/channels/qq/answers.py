"""The messages that can still be answered: QQ lets a bot do nothing else, for a while, and a few times each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.messaging.contract import Address, ChatType, DeliveryState, OutboundMessage, Receiver
from integrations.channels.http_api import PlatformError
from integrations.channels.persistent_map import PersistentMap

CHATS, MESSAGES = 200, 3
"""Conversations that are remembered, and the latest messages of each; as many of strangers."""
PLACES = 300
"""Messages whose place is remembered: one that is sent again goes there, also when its question was forgotten."""
CLOSED = (
    "QQ lets a bot only answer: a message in a direct chat {direct} times within an hour, one in a group {group} times "
    "within five minutes. That is used up or over here, or nobody has written. It can be sent when somebody has"
)


class _Window(Struct, frozen=True):
    """How often, and for how long, a message is answered; with a margin for the way there."""

    answers: int
    seconds: float


WINDOWS: Mapping[ChatType, _Window] = MappingProxyType(
    # The documentation says five for both; Tencent's own client keeps to four in direct chats.
    {ChatType.DIRECT: _Window(4, 59 * 60.0), ChatType.GROUP: _Window(5, 4 * 60 + 50.0)}
)


class Place(Struct, frozen=True):
    """The message that is answered, and the how-manieth answer it is: together QQ's key of an answer.

    Attributes:
        is_new: Whether nothing was sent with it yet, as far as is known here.
    """

    msg_id: str
    msg_seq: int
    is_new: bool = False


class _Answerable(Struct, frozen=True):
    """A message, until when it can be answered, and the ids of what was sent for it."""

    id: str
    until: float
    answers: tuple[str, ...] = ()


class Answers:
    """Remembers what can be answered: over restarts, but for what strangers wrote."""

    def __init__(self, receive: Receiver, clock: Clock) -> None:
        self._kept = PersistentMap(receive, "answerable", CHATS, tuple[_Answerable, ...])
        self._places = PersistentMap(receive, "places", PLACES, Place)
        self._strangers: dict[str, tuple[_Answerable, ...]] = {}
        self._clock = clock
        self._is_loaded = False

    async def load(self) -> None:
        """Read what earlier runs kept; call it once the account is known."""
        await self._kept.load()
        await self._places.load()
        self._is_loaded = True

    async def heard(self, address: Address, message_id: str, *, keep: bool) -> None:
        """Note a message that can be answered; `keep` is for those who may talk."""
        known = self._known(address.peer)
        if any(each.id == message_id for each in known):
            return
        until = self._clock.time() + WINDOWS[address.chat_type].seconds
        noted = (*known, _Answerable(message_id, until))[-MESSAGES:]
        if keep:
            await self._kept.put(address.peer, noted)
        else:
            self._strangers = dict([*self._strangers.items(), (address.peer, noted)][-CHATS:])

    async def place_of(self, message: OutboundMessage) -> Place:
        """Return where a message goes, the same whenever it is sent again.

        Raises:
            PlatformError: There is none.
        """
        if not self._is_loaded:  # the account counts as connected a moment earlier
            raise PlatformError(DeliveryState.TRANSIENT, "QQ: what can be answered is not read yet")
        kept = self._places.get(message.id)
        if kept is not None and kept.msg_id:
            return kept
        peer = message.address.peer
        known = self._known(peer)
        window = WINDOWS.get(message.address.chat_type, WINDOWS[ChatType.GROUP])
        free = [each for each in known if each.until > self._clock.time() and len(each.answers) < window.answers]
        if not free:
            raise closed()
        meant = next((each for each in free if each.id == message.reply_to), free[-1])
        taken = replace(meant, answers=(*meant.answers, message.id))
        await self._note(peer, tuple(taken if each is meant else each for each in known))
        place = Place(taken.id, len(taken.answers))
        await self._places.put(message.id, place)
        return replace(place, is_new=True)

    async def release(self, message: OutboundMessage) -> None:
        """Let a message go to another place when it is sent again; the numbers of others stay."""
        await self._places.put(message.id, Place("", 0))
        peer = message.address.peer
        known = self._known(peer)
        freed = tuple(
            replace(each, answers=tuple("" if id == message.id else id for id in each.answers)) for each in known
        )
        await self._note(peer, freed)

    def latest(self, peer: str) -> str | None:
        """Return the latest message of a conversation, while it can be answered."""
        known = self._known(peer)
        return known[-1].id if known and known[-1].until > self._clock.time() else None

    async def _note(self, peer: str, noted: tuple[_Answerable, ...]) -> None:
        if self._kept.get(peer) is None:
            self._strangers[peer] = noted
        else:
            await self._kept.put(peer, noted)

    def _known(self, peer: str) -> tuple[_Answerable, ...]:
        return self._kept.get(peer) or self._strangers.get(peer, ())


def closed() -> PlatformError:
    """Return the error for what cannot be sent as an answer."""
    counts = {kind.value: window.answers for kind, window in WINDOWS.items()}
    return PlatformError(DeliveryState.PERMANENT, CLOSED.format(**counts))
