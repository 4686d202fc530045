"""The loop that reads an account: every event is stored before the position after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    InboundMessage,
    MembershipChanged,
    ReactionChanged,
    Receiver,
)
from integrations.channels.matrix.answers import await_answer, await_success, is_signed_out, refusal_error
from integrations.channels.matrix.choices import Choices
from integrations.channels.matrix.keys import exchange
from integrations.channels.matrix.reading import RecentEvents, RoomFacts, read
from integrations.channels.moved_rooms import MovedRooms
from integrations.channels.reconnecting import AccountRefused, Reconnector

if TYPE_CHECKING:
    from nio import AsyncClient, MatrixRoom, SyncResponse

TIMELINE_EVENTS = 50
GAP_EVENTS = 2_000
"""Events of one room that are fetched when the homeserver left out so many since the last time."""
LATE_EVENTS = 200
"""Events that wait for the keys they were encrypted with."""
INVITES = 100
DIRECT_MEMBERS = 2
"""A room of so many who joined is a direct chat, whatever its clients have noted about it (`m.direct`)."""
TOMBSTONE = "m.room.tombstone"
"""Says which room a room was replaced by."""
FILTER = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {
        "timeline": {"limit": TIMELINE_EVENTS},
        "state": {"lazy_load_members": True},
        "ephemeral": {"types": []},
        "account_data": {"types": []},
    },
}

logger = logging.getLogger(__name__)


class Waits(Struct, frozen=True):
    """How long the homeserver may hold a request back, and how long it may be silent beyond that, in seconds."""

    poll_s: float = 30.0
    grace_s: float = 20.0
    first_s: float = 180.0


USUAL_WAITS = Waits()


class Listening(Reconnector):
    """Keeps an account logged in and reads it.

    Args:
        log_in: Returns a client that is logged in.
        address: The address of its channel and account; the peer is filled in.
        receive: The way into the hub.
        choices: Tells a press from a reaction.
        notify: Tells somebody why what they pressed does nothing.
        moved: Rooms that were replaced by others.

    Attributes:
        client: The account, while it is logged in.
        commands: The names of commands.
    """

    def __init__(
        self,
        log_in: Callable[[], Awaitable[AsyncClient]],
        address: Address,
        receive: Receiver,
        clock: Clock,
        waits: Waits,
        choices: Choices,
        notify: Callable[[ButtonPressed, str], None],
        moved: MovedRooms,
    ) -> None:
        super().__init__(receive, clock)
        self._log_in = log_in
        self._address = address
        self._waits = waits
        self._choices = choices
        self._notify = notify
        self._moved = moved
        self._recent = RecentEvents()
        self._late: dict[str, tuple[str, Any]] = {}
        self._entering: dict[str, asyncio.Future[None]] = {}
        self.client: AsyncClient | None = None
        self.commands: frozenset[str] = frozenset()

    async def connect(self) -> str | None:
        """Log in and read until the login ends or the homeserver does not answer; see `Reconnector`."""
        self.client = self._client = await self._log_in()
        try:
            self._receive.identified(self._client.user_id, self._client.user_id)
            return await self._read()
        except (AccountRefused, HubError):
            raise
        except Exception as error:  # whatever the library trips over, the account is read on
            logger.exception("matrix: reading %s failed", self._client.user_id)
            return f"reading failed: {error}"
        finally:
            self.client = None
            for each in self._entering.values():
                each.cancel()
            await self._client.close()

    async def enter(self, room_id: str) -> None:
        """Accept an invitation that was left, for what is said to who invited; return when the room is known.

        Raises:
            HubError: It cannot be joined, or it is not theirs alone: then it is left again.
        """
        known = self._entering.setdefault(room_id, asyncio.get_running_loop().create_future())
        try:
            await await_success(self._client.join(room_id))
            members = await await_success(self._client.joined_members(room_id))
            if len(members.members) > DIRECT_MEMBERS:
                await await_answer(self._client.room_leave(room_id))
                raise refusal_error(f"others are in the room {room_id}; only who is asked for may invite to it")
            await asyncio.shield(known)
        except asyncio.CancelledError:
            if known.cancelled():
                raise Unavailable("the connection ended") from None
            raise
        finally:
            self._entering.pop(room_id, None)
            known.cancel()  # what else waits for it tries again, if it is not known

    async def _read(self) -> str:
        """Return why reading ended.

        Raises:
            HubError: The homeserver does not answer.
        """
        cursor = await self.retry_until_stored(self._receive.cursor)
        await self.retry_until_stored(self._moved.load)
        await self.retry_until_stored(self._choices.load)  # before rooms are known, and something is sent to them
        self._receive.connected()
        while True:
            response = await self._sync(cursor)
            if is_signed_out(response):
                return "the homeserver ended the login (M_UNKNOWN_TOKEN)"
            if response is None:
                logger.warning("matrix: %s forgot where %s was; it is read from now on", *self._names)
                cursor = None
                continue
            for room_id, known in self._entering.items():
                if room_id in self._client.rooms and not known.done():
                    known.set_result(None)
            # The first time says where the account is; what was said before it came is not answered.
            if cursor is not None:
                for room_id, info in response.rooms.join.items():
                    await self._room(room_id, info.timeline, cursor)
                await self._late_events()
            await self._invites(response)
            if response.next_batch != cursor:
                cursor = str(response.next_batch)
                keep = cursor
                await self.retry_until_stored(lambda: self._receive.keep_cursor(keep))  # noqa: B023  awaited at once
            await exchange(self._client)
            self.is_up = True
            self._receive.progress()

    @property
    def _names(self) -> tuple[str, str]:
        return self._client.homeserver, self._client.user_id

    async def _sync(self, cursor: str | None) -> SyncResponse | None:
        """Return the new events; None if the homeserver does not know the position."""
        from nio import SyncError

        waits = self._waits
        patience = waits.poll_s + waits.grace_s if self.is_up else waits.first_s
        # Synapse keeps an answer for minutes; a type of its own makes a first request one that it has not seen.
        first = {**FILTER, "presence": {"types": [new_id()]}}
        request = self._client.sync(
            timeout=int(waits.poll_s * 1000) if self.is_up else 0,
            sync_filter=FILTER if self.is_up else first,
            since=cursor,
            full_state=not self.is_up,
        )
        response = await await_answer(request, patience)
        if is_signed_out(response) or not isinstance(response, SyncError):
            return response
        if cursor is not None and "token" in response.message.lower():
            self._client.next_batch = ""
            return None
        raise Unavailable(f"the homeserver refuses to sync: {response.message}")

    async def _room(self, room_id: str, timeline: Any, cursor: str) -> None:
        events = list(timeline.events)
        if timeline.limited and timeline.prev_batch:
            events = await self._gap(room_id, timeline.prev_batch, cursor) + events
        for event in events[self._arrival(events) :]:
            await self._event(room_id, event)

    def _arrival(self, events: list[Any]) -> int:
        """Return where the account was invited or joined, if it was; what was said before was not said to it."""
        for index in range(len(events) - 1, -1, -1):
            source = getattr(events[index], "source", None) or {}
            content = source.get("content") or {}
            before = (source.get("unsigned") or {}).get("prev_content") or {}
            if (source.get("type"), source.get("state_key")) != ("m.room.member", self._client.user_id):
                continue
            was, now = before.get("membership"), content.get("membership")
            if now == "invite" or (now == "join" and was not in ("join", "invite")):
                return index + 1
        return 0

    async def _gap(self, room_id: str, start: str, end: str) -> list[Any]:
        """Return the events between two positions, oldest first."""
        found: list[Any] = []
        while len(found) < GAP_EVENTS:
            page = await await_answer(self._client.room_messages(room_id, start, end, limit=100))
            chunk = getattr(page, "chunk", None)
            if chunk is None:
                logger.warning("matrix: the messages that %s left out in %s cannot be had: %s", *self._names, page)
                break
            found += chunk
            if not chunk or not page.end or page.end == start:
                break
            start = page.end
        else:
            logger.warning("matrix: of %s, events before the latest %d are skipped", room_id, GAP_EVENTS)
        return found[::-1]

    async def _event(self, room_id: str, event: Any) -> None:
        from nio import MegolmEvent

        if isinstance(event, MegolmEvent):
            self._unreadable(room_id, event)
            return
        source = getattr(event, "source", None)
        room = self._client.rooms.get(room_id)
        if not isinstance(source, dict) or room is None:
            return
        if source.get("type") == TOMBSTONE and (new := (source.get("content") or {}).get("replacement_room")):
            await self.retry_until_stored(lambda: self._moved.move(room_id, str(new)))
            await self._join(str(new))  # where nobody may without an invitation, it comes
            return
        await self._know_members(room)
        inbound = read(source, self._facts(room, str(source.get("sender"))), self._recent)
        said = self._choices.pressed(inbound) if isinstance(inbound, ReactionChanged) else inbound
        if said is None:
            return
        receipt = await self.retry_until_stored(lambda: self._receive(said))
        if receipt is not None and receipt.notice and isinstance(said, ButtonPressed):
            self._notify(said, receipt.notice)

    async def _know_members(self, room: MatrixRoom) -> None:
        """Make sure that a group is not taken for a direct chat: after a restart only who speaks is known."""
        counted = room.summary is not None and room.summary.joined_member_count is not None
        if not counted and not room.members_synced and room.joined_count <= DIRECT_MEMBERS:
            await await_answer(self._client.joined_members(room.room_id))

    def _facts(self, room: MatrixRoom, sender: str) -> RoomFacts:
        direct = room.joined_count <= DIRECT_MEMBERS
        kind = ChatType.DIRECT if direct else ChatType.GROUP
        address = Address(self._address.channel, self._moved.first_id(room.room_id), self._address.account, kind)
        name = None if direct else room.named_room_name()
        return RoomFacts(address, self._client.user_id, name, room.user_name(sender), self.commands)

    def _unreadable(self, room_id: str, event: Any) -> None:
        first = not any(each.session_id == event.session_id for _, each in self._late.values())
        self._late[event.event_id] = (room_id, event)
        if len(self._late) > LATE_EVENTS:
            self._late.pop(next(iter(self._late)))
        if first:
            how = "its key has not come" if self._client.olm else "set encryption: true for the account"
            logger.warning("matrix: %s in %s cannot be read: %s", event.event_id, room_id, how)

    async def _late_events(self) -> None:
        """Take what can be decrypted now; a key may come after the message."""
        from nio import EncryptionError

        for event_id, (room_id, event) in list(self._late.items()) if self._client.olm else ():
            key = (room_id, event.sender_key, event.session_id)
            if self._client.olm.inbound_group_store.get(*key) is None:
                continue
            del self._late[event_id]
            try:
                await self._event(room_id, self._client.decrypt_event(event))
            except EncryptionError as error:
                logger.warning("matrix: %s in %s cannot be decrypted: %s", event_id, room_id, error)

    async def _invites(self, response: SyncResponse) -> None:
        """Join a room when somebody who may talk invites to it, or the room is one that is answered."""
        for room_id, info in response.rooms.invite.items():
            inviter = next(
                (
                    each.sender
                    for each in info.invite_state
                    if getattr(each, "state_key", None) == self._client.user_id
                    and getattr(each, "membership", None) == "invite"
                ),
                None,
            )
            if inviter is None:
                continue
            if await self._is_welcome(room_id, inviter):
                await self._join(room_id)
                continue
            logger.info("matrix: the invitation of %s to %s is left", inviter, room_id)
            await self._tell_stranger(room_id, inviter)
            while len(self._client.invited_rooms) > INVITES:
                self._client.invited_rooms.pop(next(iter(self._client.invited_rooms)))

    async def _is_welcome(self, room_id: str, inviter: str) -> bool:
        """Ask the hub, by whose rules an invitation is an event like any other."""
        names = [f"{self._address.channel}:user:{each}" for each in (inviter, self._client.user_id)]
        for kind in (ChatType.DIRECT, ChatType.GROUP):
            address = Address(self._address.channel, self._moved.first_id(room_id), self._address.account, kind)
            event = MembershipChanged(address, f"invite:{new_id()}", names[0], member=names[1], joined=True)
            receipt = await self.retry_until_stored(lambda: self._receive(event))  # noqa: B023  awaited at once
            if receipt is not None and receipt.accepted:
                return True
        return False

    async def _tell_stranger(self, room_id: str, inviter: str) -> None:
        """Let the hub take an invitation for a first word, which may be answered: with a pairing code (`enter`)."""
        room = self._client.invited_rooms.get(room_id)
        address = Address(self._address.channel, room_id, self._address.account)
        name = room.user_name(inviter) if room is not None else None
        sender = f"{self._address.channel}:user:{inviter}"
        word = InboundMessage(address, f"invite:{new_id()}", sender, "", sender_name=name)
        await self.retry_until_stored(lambda: self._receive(word))

    async def _join(self, room_id: str) -> None:
        response = await await_answer(self._client.join(room_id))
        if not hasattr(response, "room_id") or response.room_id != room_id:
            logger.warning("matrix: %s cannot be joined: %s", room_id, response.message)
