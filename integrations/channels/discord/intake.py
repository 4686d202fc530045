"""The intake of one bot: its gateway's events, and messages missed while disconnected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.messaging.contract import ButtonPressed, CommandUsed, Inbound, InboundMessage, Receiver
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.button_values import ButtonValues
from integrations.channels.discord.events import DiscordSelf, inbound_of, user_of
from integrations.channels.discord.rest import DiscordRest
from integrations.channels.discord.rooms import DiscordRoom, room_of
from integrations.channels.followed_rooms import FollowedRooms
from integrations.channels.http_api import PlatformError, patiently

_log = logging.getLogger(__name__)

PAGE = 100
PAGES_LIMIT = 20
"""Pages of one conversation that are read after a pause."""
INTERACTION_S = 14 * 60.0
"""A command can be answered in its place for fifteen minutes."""
CUSTOM_ID_CHARS = 100
ANSWER, DEFER_ANSWER, DEFER_UPDATE = 4, 5, 6
EPHEMERAL = 64
"""Only whoever pressed the button sees it."""
GONE = frozenset({403, 404})
ROOM_EVENTS = frozenset({"CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE"})


class _Interaction(Struct, eq=False):
    """A command that waits for its answer; `deferred` is whether Discord shows a pending answer."""

    id: str
    token: str
    until: float
    deferred: asyncio.Future[bool] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class DiscordIntake:
    """Receives what happens, in order.

    Attributes:
        me: The bot, once the gateway greeted it.
        buttons: Values of buttons that are too long for Discord.
    """

    def __init__(self, rest: DiscordRest, receive: Receiver, clock: Clock, account: str) -> None:
        self._rest = rest
        self._receive = receive
        self._clock = clock
        self._account = account
        self._interactions: dict[str, _Interaction] = {}
        self.rooms = FollowedRooms(receive, DiscordRoom)
        self.buttons = ButtonValues(receive, CUSTOM_ID_CHARS)
        self.me: DiscordSelf | None = None

    async def beat(self) -> None:
        """Note that the gateway is alive, and save the read position."""
        self._receive.progress()
        await self.rooms.save()

    async def handle(self, event: str, data: Any, event_id: str) -> None:
        """Handle an event; it is stored, or irrelevant, when this returns."""
        self._receive.progress()
        if event == "READY":
            await self._ready(data)
        elif event == "RESUMED" and self.me is not None:
            self._receive.identified(self.me.id, self.me.name)
            self._receive.connected()
        elif self.me is not None:
            await self._take(event, data, event_id, self.me)

    async def place_of_answer(self, room: str, reply_to: str | None) -> str | None:
        """Return the path of a command's pending answer; None if no command waits."""
        waiting = self._interactions.pop(room, None)
        if waiting is None or self.me is None or reply_to not in (None, waiting.id):
            return None
        if self._clock.monotonic() > waiting.until or not await waiting.deferred:
            return None
        return f"/webhooks/{self.me.application}/{waiting.token}/messages/@original"

    async def _ready(self, data: Mapping[str, Any]) -> None:
        user = data["user"]
        self.me = DiscordSelf(user["id"], user["username"], data["application"]["id"], {}, {})
        self._receive.identified(user["id"], user["username"])
        await self.rooms.load()
        await self.buttons.load()
        self._receive.connected()
        for room in self.rooms.followed():
            await self._catch_up(room, self.me)

    async def _take(self, event: str, data: Any, event_id: str, me: DiscordSelf) -> None:
        room = None
        with skip_if_malformed(f"discord: {event}"):
            if event == "GUILD_CREATE":
                me.roles[data["id"]] = frozenset(_own_roles(data, me.id))
                me.servers[data["id"]] = data.get("name", "")
                for each in (*data.get("channels", ()), *data.get("threads", ())):
                    self.rooms.keep(room_of(each, data["id"]))
            elif event == "GUILD_UPDATE":
                me.servers[data["id"]] = data.get("name", "")
            elif event in ROOM_EVENTS:
                self.rooms.keep(room_of(data))
            elif "channel_id" in data:
                room = await self._room(data, me)
        if room is not None:
            await self._offer_all(event, data, event_id, room, me)

    async def _offer_all(
        self, event: str, data: Mapping[str, Any], event_id: str, room: DiscordRoom, me: DiscordSelf
    ) -> None:
        said: list[Inbound] = []
        parent = self.rooms.get(room.parent) if room.parent is not None else None
        with skip_if_malformed(f"discord: {event}"):
            said += inbound_of(event, data, event_id, room, me, self._account, parent)
        for inbound in said:
            await self._offer(inbound, data, room)

    async def _room(self, data: Mapping[str, Any], me: DiscordSelf) -> DiscordRoom | None:
        """Return where an event happened; None when it cannot be found out."""
        id, guild, user = data["channel_id"], data.get("guild_id"), user_of(data)
        if room := self.rooms.get(id):
            return room
        if guild is None and user not in (None, me.id):
            return self.rooms.keep(DiscordRoom(id=id, person=user))
        try:
            return self.rooms.keep(room_of(await self._read(f"/channels/{id}"), guild, me.id))
        except PlatformError as error:
            if error.status in GONE:
                return None
            raise

    async def _offer(self, inbound: Inbound, data: Mapping[str, Any], room: DiscordRoom) -> None:
        waiting = None
        if isinstance(inbound, CommandUsed):
            waiting = _Interaction(data["id"], data["token"], self._clock.monotonic() + INTERACTION_S)
            self._interactions[room.id] = waiting
        if isinstance(inbound, ButtonPressed):
            inbound = replace(inbound, value=self.buttons.value_of(inbound.value))
        accepted = deferred = False
        try:
            receipt = await offer(self._receive, inbound)
            accepted = receipt is not None and receipt.accepted
            if receipt is not None and receipt.notice:
                await self._respond(data, {"type": ANSWER, "data": {"content": receipt.notice, "flags": EPHEMERAL}})
            elif accepted and isinstance(inbound, CommandUsed | ButtonPressed):
                deferred = await self._respond(data, {"type": DEFER_ANSWER if waiting else DEFER_UPDATE})
        finally:
            if waiting is not None:
                waiting.deferred.set_result(deferred)
                if not deferred and self._interactions.get(room.id) is waiting:
                    del self._interactions[room.id]
        if isinstance(inbound, InboundMessage) and self.rooms.read(room, inbound.message_id, follow=accepted):
            await self.rooms.save()

    async def _respond(self, data: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
        try:
            await self._rest.call("POST", f"/interactions/{data['id']}/{data['token']}/callback", response)
        except PlatformError as error:
            _log.info("discord: an interaction was not acknowledged: %s", error)
            return False
        return True

    async def _catch_up(self, room: DiscordRoom, me: DiscordSelf) -> None:
        """Read the messages of a conversation missed while disconnected, oldest first."""
        members: dict[str, Mapping[str, Any]] = {}
        for _ in range(PAGES_LIMIT):
            try:
                page = await self._read(f"/channels/{room.id}/messages?after={room.after}&limit={PAGE}")
            except PlatformError as error:
                if error.status not in GONE:
                    raise
                self.rooms.forget(room.id)
                return
            for data in sorted(page, key=lambda each: int(each["id"])):
                data |= {"guild_id": room.guild, "channel_id": room.id}
                if room.guild and not data["author"].get("bot"):
                    data["member"] = await self._member(room.guild, data["author"]["id"], members)
                await self._offer_all("MESSAGE_CREATE", data, data["id"], room, me)
                self.rooms.read(room, data["id"], follow=True)
            if len(page) < PAGE:
                return

    async def _member(self, guild: str, user: str, known: dict[str, Mapping[str, Any]]) -> Mapping[str, Any]:
        if user not in known:
            try:
                known[user] = await self._read(f"/guilds/{guild}/members/{user}")
            except PlatformError as error:
                if error.status not in GONE:
                    raise
                known[user] = {}  # who has left has no roles
        return known[user]

    async def _read(self, path: str) -> Any:
        return await patiently(self._clock, self._rest.call, "GET", path)


def _own_roles(guild: Mapping[str, Any], me: str) -> Iterator[str]:
    for role in guild.get("roles", ()):
        if (role.get("tags") or {}).get("bot_id") == me:
            yield role["id"]
