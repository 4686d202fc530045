"""The conversations of one app, how far each was read, and the threads it takes part in."""

from __future__ import annotations

import msgspec

from hub.messaging.contract import Address, ChatType

ROOMS_LIMIT = 200
"""Conversations that are read again after a pause; those that said something last."""
THREADS_LIMIT = 200


class SlackRoom(msgspec.Struct, omit_defaults=True):
    """A conversation.

    Attributes:
        kind: im, mpim, channel or group, as Slack calls them.
        person: The other side of direct messages.
        after: The last message read; empty when the hub does not take part in it.
    """

    id: str
    kind: str = "channel"
    person: str | None = None
    after: str = ""

    def address(self, account: str, team: str, thread: str | None = None) -> Address:
        """Return the address of the conversation; direct messages go by the person."""
        if self.person is not None:
            return Address("slack", self.person, account, thread=thread, space=team)
        kind = ChatType.GROUP if self.kind == "mpim" else ChatType.CHANNEL
        return Address("slack", self.id, account, chat_type=kind, thread=thread, space=team)


class _Kept(msgspec.Struct):
    rooms: list[SlackRoom] = []
    threads: dict[str, list[str]] = {}


class SlackRooms:
    """Remembers conversations by their ids; the longest unused is forgotten first."""

    def __init__(self) -> None:
        self._rooms: dict[str, SlackRoom] = {}
        self.threads: dict[str, list[str]] = {}
        """Room and last message read of each thread that the app takes part in."""
        self.changed = False

    def get(self, id: str) -> SlackRoom | None:
        """Return a conversation, when it is known."""
        return self._rooms.get(id)

    def keep(self, room: SlackRoom) -> SlackRoom:
        """Keep a conversation."""
        self._rooms.pop(room.id, None)
        while len(self._rooms) >= ROOMS_LIMIT:
            del self._rooms[next(iter(self._rooms))]
        self._rooms[room.id] = room
        return room

    def dm_of(self, person: str) -> str | None:
        """Return the conversation with a person, when it is known."""
        return next((room.id for room in self._rooms.values() if room.person == person), None)

    def read(self, room: SlackRoom, ts: str, thread: str | None, *, follow: bool) -> bool:
        """Note that a message was received; return whether something is followed only from now on."""
        if not room.after and not follow:
            return False
        is_new = not room.after
        if thread is not None and (follow or thread in self.threads):
            is_new = is_new or thread not in self.threads
            self.join(room.id, thread, ts)
        if thread is None or not room.after:
            room.after = max(room.after, ts)
        self.keep(room)
        self.changed = True
        return is_new

    def join(self, room: str, thread: str, ts: str) -> None:
        """Follow a thread from a message on."""
        before = self.threads.pop(thread, None)
        while len(self.threads) >= THREADS_LIMIT:
            del self.threads[next(iter(self.threads))]
        self.threads[thread] = [room, max(ts, before[1] if before else "")]
        self.changed = True

    def forget(self, id: str) -> None:
        """Forget a conversation that can no longer be read."""
        self._rooms.pop(id, None)
        self.threads = {thread: at for thread, at in self.threads.items() if at[0] != id}
        self.changed = True

    def followed(self) -> list[SlackRoom]:
        """Return the conversations to read again after a pause."""
        return [room for room in self._rooms.values() if room.after]

    def stored(self) -> str:
        """Return what is followed as text, to be kept."""
        self.changed = False
        return msgspec.json.encode(_Kept(self.followed(), self.threads)).decode()

    def load(self, text: str) -> None:
        """Take over what `stored` returned, beside what is known already."""
        kept = msgspec.json.decode(text, type=_Kept)
        for room in kept.rooms:
            known = self._rooms.get(room.id)
            if known is None or not known.after:
                self.keep(room)
        self.threads = kept.threads | self.threads
