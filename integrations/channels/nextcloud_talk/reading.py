"""Reads the conversations of one account: the list of them every few seconds, and the latest one as it is written."""

from __future__ import annotations

from typing import Any

from hub.core.clock import Clock
from hub.messaging.contract import Inbound, Receiver
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.http_api import PlatformError
from integrations.channels.nextcloud_talk.api import TALK, NextcloudApi, is_lost
from integrations.channels.nextcloud_talk.events import (
    ONE_TO_ONE,
    TALKED_IN,
    Json,
    TalkRoom,
    TalkSelf,
    closed_poll,
    home_of,
    of_message,
    of_votes,
    path_of,
    room_of,
)
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused

PAGE = 100
ROOMS_KEPT = 1_000
WAIT_S = 5
"""How long one request waits for what is written in the latest conversation; then the list is read again."""
GRACE_S = 15.0
"""After that, an answer is overdue."""
OVERLAP_S = 2
"""Talk's times are whole seconds."""
WHOLE_LIST_S = 300.0
"""So often, as Talk's documentation has it, the whole list is read: of conversations that were left nothing is told."""
REFUSED = "Nextcloud refused the app password. Make another one, and see docs/channels/nextcloud_talk.md."
NO_TALK = "This Nextcloud has no Talk, or its user may not use it."


class TalkReading:
    """Receives what is written, in order, through one request at a time: a small server has few processes.

    Args:
        wait_s: See `WAIT_S`.
        grace_s: See `GRACE_S`.

    Attributes:
        me: The account, once Nextcloud said who it is.
        features: What the server's Talk can do.
        text_limit: The longest message that it takes.
    """

    def __init__(
        self, api: NextcloudApi, receive: Receiver, clock: Clock, account: str, wait_s: int, grace_s: float
    ) -> None:
        self._api = api
        self._receive = receive
        self._clock = clock
        self._account = account
        self._wait_s = wait_s
        self._grace_s = grace_s
        self._read = PersistentMap(receive, "read", ROOMS_KEPT, int)
        self._modified: str | None = None
        self._listed_at = float("-inf")
        self.rooms: dict[str, TalkRoom] = {}
        self.me: TalkSelf | None = None
        self.features: frozenset[str] = frozenset()
        self.text_limit: int | None = None

    async def connect(self) -> str | None:
        """Read until something breaks.

        Raises:
            AccountRefused: The account is not let in until a person changes something.
            HubError: The connection broke, or what came could not be stored: it is read again.
        """
        try:
            me = await self.log_in()
            self._modified = None
            changed = await self._list()
            self._receive.identified(me.account_id, me.name)
            await self._read.load()
            if await self._receive.cursor() is None:  # what was written before the account was added is not for it
                for room in changed:
                    await self._read.put(room.token, room.last)
                await self._receive.keep_cursor("begun")
            self._receive.connected()
            while True:
                for room in changed:
                    if room.last > self._after(room):
                        await self._read_new(room, me, 0)
                self._receive.progress()
                await self._wait(me)
                changed = await self._list()
        except PlatformError as error:
            if error.status == 401:
                raise AccountRefused(REFUSED) from error
            raise

    async def log_in(self) -> TalkSelf:
        """Ask who the account is, and what Talk can do.

        Raises:
            PlatformError, AccountRefused: It is not let in.
        """
        user = await self._api.call("GET", "ocs/v2.php/cloud/user")
        spreed = (await self._api.call("GET", "ocs/v2.php/cloud/capabilities"))["capabilities"].get("spreed")
        if not spreed:
            raise AccountRefused(NO_TALK)
        self.features = frozenset(spreed["features"])
        self.text_limit = int(((spreed.get("config") or {}).get("chat") or {}).get("max-length") or 0) or None
        name = user.get("display-name") or user.get("displayname") or user["id"]
        self.me = TalkSelf(user["id"], name, home_of(self._api.root))
        return self.me

    async def _list(self) -> list[TalkRoom]:
        """Return the conversations that changed, the latest last."""
        if self._clock.monotonic() - self._listed_at > WHOLE_LIST_S:
            self._modified = None
        since = {} if self._modified is None else {"modifiedSince": self._modified}
        data, answer = await self._api.ask("GET", f"{TALK}/v4/room", params={"noStatusUpdate": "1", **since})
        found = []
        for each in data:
            with skip_if_malformed("nextcloud_talk: a conversation"):
                if each["type"] in TALKED_IN:
                    found.append(room_of(each))
        if self._modified is None:
            self.rooms, self._listed_at = {}, self._clock.monotonic()
        self.rooms |= {room.token: room for room in found}
        before = answer.headers.get("X-Nextcloud-Talk-Modified-Before", "")
        self._modified = str(int(before) - OVERLAP_S) if before.isdigit() else None
        return sorted(found, key=lambda room: room.last)

    def _after(self, room: TalkRoom) -> int:
        """Return until where a conversation was read; one that began since the account was added, until Talk's mark."""
        kept = self._read.get(room.token)
        return room.seen if kept is None else kept

    async def _wait(self, me: TalkSelf) -> None:
        """Wait for what is written in the latest conversation, so that its next words are heard at once."""
        began, new = self._clock.monotonic(), False
        if self.rooms:
            latest = max(self.rooms.values(), key=lambda room: room.last)
            new = await self._read_new(latest, me, self._wait_s)
        if not new:  # a server that does not wait, or has nowhere to wait, is not asked without a pause
            await self._clock.sleep(max(0.0, self._wait_s - (self._clock.monotonic() - began)))

    async def _read_new(self, room: TalkRoom, me: TalkSelf, wait_s: int) -> bool:
        """Read what is new in a conversation, and return whether there was something.

        What was read is stored before it counts as read.
        """
        while True:
            after = self._after(room)
            asked = {"lookIntoFuture": 1, "limit": PAGE, "lastKnownMessageId": after, "timeout": wait_s}
            params = {key: str(value) for key, value in asked.items()} | {"noStatusUpdate": "1"}
            path, limit_s = f"{TALK}/v1/chat/{path_of(room.token)}", wait_s + self._grace_s
            try:
                messages, answer = await self._api.ask("GET", path, params=params, limit_s=limit_s)
            except PlatformError as error:
                if is_lost(error.state, error.status):
                    self.rooms.pop(room.token, None)
                    return False
                raise
            for message in messages or ():
                await self._offer(message, room, me)
            if not messages:
                return False
            await self._read.put(room.token, int(answer.headers["X-Chat-Last-Given"]))
            if wait_s or len(messages) < PAGE:
                return True

    async def _offer(self, message: Json, room: TalkRoom, me: TalkSelf) -> None:
        found: list[Inbound] = []
        with skip_if_malformed("nextcloud_talk: a message"):
            if (poll := closed_poll(message)) is not None:
                found += of_votes(message, await self._poll(room.token, poll), room, me, self._account)
            elif (inbound := of_message(message, room, me, self._account)) is not None:
                found.append(inbound)
        for each in found:
            await offer(self._receive, each)

    async def _poll(self, token: str, id: str) -> Json:
        """Return a poll; nothing of one that is gone."""
        try:
            return dict(await self._api.call("GET", f"{TALK}/v1/poll/{path_of(token)}/{path_of(id)}"))
        except PlatformError as error:
            if is_lost(error.state, error.status):
                return {"id": id}
            raise

    async def token_of(self, person: str) -> str:
        """Return the conversation with a person, which is opened where needed.

        Raises:
            PlatformError: There is no such person, or the account may not write to them.
        """
        for room in self.rooms.values():
            if room.person == person:
                return room.token
        opened = await self._api.call("POST", f"{TALK}/v4/room", json={"roomType": ONE_TO_ONE, "invite": person})
        return str(opened["token"])


def found_in(messages: list[Any], reference: str) -> str | None:
    """Return the id of the message with a reference of ours, if it is among some."""
    return next((str(each["id"]) for each in messages if each.get("referenceId") == reference), None)
