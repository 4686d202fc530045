"""The intake of one bot: its events, and what was missed while disconnected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.messaging.contract import DeliveryState, Inbound, InboundMessage, Receiver
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.http_api import PlatformError, patiently
from integrations.channels.mattermost.api import MattermostApi
from integrations.channels.mattermost.events import (
    Json,
    MattermostEvent,
    MattermostRoom,
    MattermostScene,
    MattermostSelf,
    event_of,
    of_deletion,
    of_edit,
    of_past,
    of_post,
    of_reaction,
    room_of,
)

OVERLAP_MS = 5_000
"""Read again after a pause: the nodes of a cluster may send events in another order; the hub takes each once."""
POSTS_LIMIT = 1_000
"""Posts that the server gives at most of what changed since a moment."""
PAGES_LIMIT = 10
KEPT = 1_000
"""Rooms, names and threads that are remembered."""


class MattermostIntake:
    """Receives what happens, in order.

    Attributes:
        me: The bot, once the server said who it is.
    """

    def __init__(self, api: MattermostApi, receive: Receiver, clock: Clock, account: str) -> None:
        self._api = api
        self._receive = receive
        self._clock = clock
        self._account = account
        self._rooms: dict[str, MattermostRoom] = {}
        self._names: dict[str, str | None] = {}
        self._joined: dict[str, bool] = {}
        self._read_ms = -1
        self._saved_ms: int | None = None
        self.me: MattermostSelf | None = None

    async def log_in(self) -> MattermostSelf:
        """Ask who the bot is.

        Raises:
            PlatformError: The server refused it, or did not answer.
        """
        said = await self._api.call("GET", "users/me")
        self.me = MattermostSelf(said["id"], said["username"], bool(said.get("is_bot")))
        if self._read_ms < 0:  # what is written from here on is for the bot, also if it was never here before
            self._read_ms = _newest(await self._asked("users/me/channels"))
        self._receive.identified(self.me.id, f"@{self.me.name}")
        self._receive.connected()
        return self.me

    async def catch_up(self) -> None:
        """Read what was written while disconnected, in all conversations of the bot.

        Raises:
            HubError: It could not be read or stored; nothing of it is lost.
        """
        channels = await self._asked("users/me/channels")
        read = self._read_ms
        if self._saved_ms is None:
            kept = await self._receive.cursor()
            read = read + OVERLAP_MS if kept is None else int(kept)
        for channel in channels:
            if (channel.get("last_post_at") or 0) > read - OVERLAP_MS and (room := self._known(channel)) is not None:
                await self._catch_up(room, read)
        self._read_ms = max(self._read_ms, _newest(channels))
        await self.save()

    async def _catch_up(self, room: MattermostRoom, read_ms: int) -> None:
        after = max(0, read_ms - OVERLAP_MS)

        def read(post: Json) -> Callable[[MattermostScene], Iterable[Inbound | None]]:
            return lambda scene: of_past(post, scene, read_ms, after)

        since = after
        for _ in range(PAGES_LIMIT):
            page = await self._found(f"channels/{room.id}/posts", since=str(since))
            # The first posts of threads come too, however old.
            posts = [each for each in ((page or {}).get("posts") or {}).values() if each["update_at"] > since]
            for post in sorted(posts, key=lambda each: (each["create_at"], each["id"])):
                await self._read("mattermost: a post", room, read(post))
            newest = max((each["update_at"] for each in posts), default=since)
            if len(posts) < POSTS_LIMIT or newest <= since:
                return
            since = newest

    async def save(self) -> None:
        """Keep on disk how far everything was read, when that has changed."""
        if self._read_ms != self._saved_ms:
            await self._receive.keep_cursor(str(self._read_ms))
            self._saved_ms = self._read_ms

    async def leave(self) -> None:
        """Keep how far everything was read, if it was read at all."""
        if self._saved_ms is not None:
            await self.save()

    async def beat(self) -> None:
        """Note that the connection lives, and keep how far it was read."""
        self._receive.progress()
        await self.save()

    async def handle(self, frame: Json) -> None:
        """Take an event; when this returns it is stored, or of no interest.

        Raises:
            HubError: It is not stored; it is read again after the next connection.
        """
        self._receive.progress()
        event: MattermostEvent | None = None
        with skip_if_malformed("mattermost: an event"):
            if frame.get("event") in ("channel_updated", "channel_converted"):
                self._rooms.pop((frame.get("broadcast") or {}).get("channel_id") or "", None)
            event = event_of(frame)
        if event is None or self.me is None:
            return
        room = self._known(event.channel) if event.channel["type"] else await self.room(event.channel["id"])
        if room is not None:
            await self._read(f"mattermost: {event.kind}", room, lambda scene: (self._said(event, scene),))
        if event.kind == "posted" and isinstance(at := event.content.get("create_at"), int):
            self._read_ms = max(self._read_ms, at)

    def _said(self, event: MattermostEvent, scene: MattermostScene) -> Inbound | None:
        match event.kind:
            case "posted":
                said = of_post(event.content, scene, event.sender_name)
                if isinstance(said, InboundMessage) and scene.me.id in event.mentions:
                    return replace(said, mentioned=True)
                return said
            case "post_edited":
                return of_edit(event.content, scene)
            case "post_deleted":
                return of_deletion(event.content, scene)
        return of_reaction(event.content, scene, added=event.kind == "reaction_added")

    async def _read(
        self, what: str, room: MattermostRoom, read: Callable[[MattermostScene], Iterable[Inbound | None]]
    ) -> None:
        """Offer what `read` makes of something in a room to the hub."""
        me, said = self._known_self(), list[Inbound | None]()
        with skip_if_malformed(what):
            said += read(MattermostScene(room, me, self._account))
        for inbound in said:
            if isinstance(inbound, InboundMessage) and self._receive.admits(inbound):
                await offer(self._receive, await self._completed(inbound))
            elif inbound is not None:
                await offer(self._receive, inbound)

    async def _completed(self, message: InboundMessage) -> InboundMessage:
        """Add what a message does not say itself: names, and whether it goes on in a thread of the bot's."""
        thread = message.address.thread
        mentioned = message.mentioned or (thread is not None and await self._is_joined(thread))
        media = list(message.media)
        for place, each in enumerate(media):
            if each.name is None:
                file = await self._found(f"files/{each.reference}/info") or {}
                media[place] = replace(each, name=file.get("name"), mime_type=file.get("mime_type"))
        name = message.sender_name or await self._name_of(message.sender.rpartition(":")[2])
        return replace(message, mentioned=mentioned, media=tuple(media), sender_name=name)

    async def _name_of(self, user: str) -> str | None:
        if user not in self._names:
            _keep(self._names, user, (await self._found(f"users/{user}") or {}).get("username"))
        return self._names[user]

    def join(self, thread: str) -> None:
        """Note that the bot wrote in a thread."""
        _keep(self._joined, thread, True)

    async def _is_joined(self, thread: str) -> bool:
        """Whether the bot wrote in a thread, or began it."""
        if thread not in self._joined:
            posts = (await self._found(f"posts/{thread}/thread") or {}).get("posts") or {}
            me = self._known_self().id
            _keep(self._joined, thread, any(each["user_id"] == me for each in posts.values()))
        return self._joined[thread]

    async def room(self, id: str) -> MattermostRoom | None:
        """Return a conversation by its id; None when the bot does not see it."""
        if id in self._rooms:
            return self._rooms[id]
        channel = await self._found(f"channels/{id}")
        return self._known(channel) if channel is not None else None

    async def room_with(self, person: str) -> MattermostRoom:
        """Return the direct messages with somebody, which are opened where needed."""
        for room in self._rooms.values():
            if room.person == person:
                return room
        me = self.me or await self.log_in()
        opened = await self._api.call("POST", "channels/direct", json=[me.id, person])
        return MattermostRoom(opened["id"], "D", "", None, person)

    def _known_self(self) -> MattermostSelf:
        if self.me is None:
            raise Unavailable("Mattermost is not connected yet")
        return self.me

    def _known(self, channel: Json) -> MattermostRoom | None:
        me, room = self._known_self(), None
        with skip_if_malformed("mattermost: a channel"):
            room = room_of(channel, me)
            _keep(self._rooms, room.id, room)
        return room

    async def _asked(self, path: str, **params: str) -> Any:
        return await patiently(self._clock, self._api.call, "GET", path, params=params)

    async def _found(self, path: str, **params: str) -> Any:
        """Return the answer to a question; None when the server will never give it: waiting would block all else."""
        try:
            return await self._asked(path, **params)
        except PlatformError as error:
            if error.state is not DeliveryState.PERMANENT or error.status == 401:
                raise
            return None


def _newest(channels: Sequence[Json]) -> int:
    return max((each.get("last_post_at") or 0 for each in channels), default=0)


def _keep(table: dict[str, Any], key: str, value: Any) -> None:
    table.pop(key, None)
    table[key] = value
    if len(table) > KEPT:
        del table[next(iter(table))]
